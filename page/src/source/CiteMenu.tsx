/** Copy a citation, in one of four forms; where the clipboard is closed, the text to copy by hand. */
import { useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";

import { CITE_FORMS, cite, type CiteForm } from "../model/cite";
import { t } from "../texts";

interface Row { title: string; file?: string; source: string; date: string; url: string; id: string }

export function CiteMenu({ row, page, quote, here }: { row: Row; page: string; quote: string; here?: string }) {
  const [said, setSaid] = useState("");
  const [byHand, setByHand] = useState("");
  async function act(form: CiteForm): Promise<void> {
    const text = cite({
      title: row.title || row.file || row.source, source: row.source, date: row.date, url: row.url, page, quote,
      here: here ? new URL(here, window.location.href).href : window.location.href,
    }, form);
    setByHand("");
    try {
      await navigator.clipboard.writeText(text);
      setSaid(t.source.copied);
    } catch {
      setByHand(text);
    }
  }
  return (
    <>
      <MenuTrigger>
        <Button className="act">{t.source.cite}
          <svg width="8" height="6" viewBox="0 0 10 6" aria-hidden="true"><path d="M1 1l4 4 4-4" className="stroke" /></svg></Button>
        <Popover className="popover">
          <Menu className="options" onAction={(key) => void act(String(key) as CiteForm)}>
            {CITE_FORMS.map((form) => <MenuItem key={form} id={form} className="option">{t.source.forms[form]}</MenuItem>)}
          </Menu>
        </Popover>
      </MenuTrigger>
      <span role="status" className="quiet">{said}</span>
      {byHand && <textarea className="by-hand" readOnly rows={4} aria-label={t.source.byHand} value={byHand} onFocus={(event) => event.target.select()} />}
    </>
  );
}
