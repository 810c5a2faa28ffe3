/** Where files and folders are dropped, and how far each one is. */
import { useQueryClient } from "@tanstack/react-query";
import { Button, DropZone, FileTrigger, type DirectoryDropItem, type DropItem, type DropZoneProps } from "react-aria-components";

import { Fault } from "../api/client";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { SaidFault } from "../ui/Said";
import { Refusal } from "./Refusal";
import { clearUpload, stopUpload, upload, useUpload, type Item } from "./uploading";

type Found = { path: string; file: File };
const MOST_SHOWN = 200;

/** The files of what was dropped, folders walked through. */
async function filesOf(items: Iterable<DropItem> | AsyncIterable<DropItem>, folder = ""): Promise<Found[]> {
  const found: Found[] = [];
  for await (const item of items) {
    if (item.kind === "file") found.push({ path: folder + item.name, file: await item.getFile() });
    else if (item.kind === "directory") found.push(...(await filesOf((item as DirectoryDropItem).getEntries(), `${folder}${item.name}/`)));
  }
  return found;
}

export function UploadZone() {
  const client = useQueryClient();
  const under = useUpload();
  const refresh = () => void client.invalidateQueries();
  const chosen = (files: FileList | null) =>
    void upload([...(files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file })), refresh);
  const dropped: DropZoneProps["onDrop"] = (event) => {
    void filesOf(event.items).then((files) => upload(files, refresh));
  };
  const done = under.items.filter((item) => item.state === "read" || item.state === "refused" || item.state === "failed");
  const refused = under.items.filter((item) => item.state === "refused" || item.state === "failed");
  return (
    <>
      <DropZone className="drop" aria-label={t.documents.drop} onDrop={dropped} getDropOperation={() => "copy"}>
        <p>{t.documents.drop}</p>
        <div className="drop-acts">
          <FileTrigger allowsMultiple onSelect={chosen}><Button className="button">{t.documents.choose}</Button></FileTrigger>
          <FileTrigger acceptDirectory onSelect={chosen}><Button className="button">{t.documents.chooseFolder}</Button></FileTrigger>
        </div>
      </DropZone>
      <div role="status">
        {under.running && <p className="visually-hidden">{t.documents.upload.title(Math.floor(done.length / 25) * 25, under.items.length)}</p>}
        {!under.running && under.items.length > 0 && (
          <p className="section">{t.documents.upload.done(done.length - refused.length, refused.length)}{" "}
            {t.documents.upload.result(under.counts.added, under.counts.replaced, under.counts.unchanged)}</p>
        )}
      </div>
      {under.items.length > 0 && (
        <section className="section upload" aria-label={t.documents.upload.files}>
          <p className="tools"><span>{t.documents.upload.title(done.length, under.items.length)}</span>
            <progress max={under.items.length} value={done.length} aria-label={t.documents.upload.title(done.length, under.items.length)} />
            {under.running
              ? <button type="button" className="button quiet-button" onClick={stopUpload}>{t.documents.upload.stop}</button>
              : <button type="button" className="button quiet-button" onClick={clearUpload}>{t.documents.upload.clear}</button>}
          </p>
          {under.fault && <p className="notice"><SaidFault fault={under.fault} /></p>}
          <Files items={under.items} />
        </section>
      )}
    </>
  );
}

/** What is under way and what was refused first, then what waits and what is done. */
function Files({ items }: { items: readonly Item[] }) {
  const rank = { sending: 0, reading: 0, refused: 1, failed: 1, waiting: 2, read: 3 };
  const shown = [...items].sort((a, b) => rank[a.state] - rank[b.state]).slice(0, MOST_SHOWN);
  return (
    <ul className="upload-files" tabIndex={0} aria-label={t.documents.upload.files}>
      {shown.map((item) => (
        <li key={item.path} data-state={item.state}>
          <Doc text={item.path} most={120} /> <span className="upload-state">{t.documents.upload.states[item.state]}</span>
          {item.why && <span className="quiet">{item.why instanceof Fault ? <SaidFault fault={item.why} /> : <Refusal {...item.why} />}</span>}
        </li>
      ))}
      {items.length > shown.length && <li className="quiet">{t.documents.upload.more(items.length - shown.length)}</li>}
    </ul>
  );
}
