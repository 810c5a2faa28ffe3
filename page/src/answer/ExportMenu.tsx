/** Keep an answer: as a file, on paper, or by its link. */
import { useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";

import type { Answer } from "../api/types";
import { fileOf, type Format } from "../model/exports";
import { t } from "../texts";

const FORMATS: Format[] = ["html", "markdown", "json", "bibtex"];

export function ExportMenu({ answer }: { answer: Answer }) {
  const [copied, setCopied] = useState(false);
  async function act(key: string): Promise<void> {
    if (key === "print") window.print();
    else if (key === "link") {
      try {
        await navigator.clipboard.writeText(window.location.href);
        setCopied(true);
      } catch {
        // Not allowed here; the address bar has the same link.
      }
    } else save(answer, key as Format);
  }
  return (
    <div className="export">
      <span role="status" className="quiet">{copied ? t.exports.copied : ""}</span>
      <MenuTrigger>
        <Button className="button quiet-button">{t.exports.title}
          <svg width="10" height="6" viewBox="0 0 10 6" aria-hidden="true"><path d="M1 1l4 4 4-4" className="stroke" /></svg></Button>
        <Popover className="popover">
          <Menu className="options" onAction={(key) => void act(String(key))}>
            {FORMATS.map((format) => <MenuItem key={format} id={format} className="option">{t.exports[format]}</MenuItem>)}
            <MenuItem id="link" className="option">{t.exports.link}</MenuItem>
            <MenuItem id="print" className="option">{t.exports.print}</MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
    </div>
  );
}

function save(answer: Answer, format: Format): void {
  const { name, type, text } = fileOf(answer, format);
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
