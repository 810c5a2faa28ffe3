/** What is in the index; files dropped here are read into it, where writing is allowed. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { DropZone, FileTrigger, Button, type DropZoneProps } from "react-aria-components";

import { Fault, get, send } from "../api/client";
import { useJob } from "../api/jobs";
import type { Documents, Job } from "../api/types";
import { useServer } from "../app/server";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Table, type Column } from "../ui/Table";
import { Trouble } from "../ui/Trouble";

type Row = Documents["documents"][number];
const STEP = 100;
const MOST_FILES = 100;

const COLUMNS: readonly Column<Row>[] = [
  { id: "title", name: t.documents.columns.title, by: (row) => row.title || row.file, cell: (row) => <Doc text={row.title || row.file || row.id} most={120} /> },
  { id: "source", name: t.documents.columns.source, by: (row) => row.source, cell: (row) => <Doc text={row.source} most={80} /> },
  { id: "owner", name: t.sources.columns.owner, by: (row) => row.owner, cell: (row) => <Doc text={row.owner} most={60} /> },
  {
    id: "date", name: t.documents.columns.date, by: (row) => row.date || null,
    cell: (row) => row.date && <><Doc text={row.date} most={40} /> <span className="quiet">{row.date_origin === "file" ? t.answer.dateOrigin.file : ""}</span></>,
  },
  { id: "hidden", name: t.documents.hidden, number: true, by: (row) => row.hidden, cell: (row) => (row.hidden ? t.n(row.hidden) : "") },
];

export default function DocumentsScreen() {
  const server = useServer();
  const client = useQueryClient();
  const [limit, setLimit] = useState(STEP);
  const [job, setJob] = useState("");
  const [count, setCount] = useState(0);
  const [fault, setFault] = useState<Fault | null>(null);
  const documents = useQuery({
    queryKey: ["documents", limit], queryFn: ({ signal }) => get<Documents>(`/documents?limit=${limit}`, signal),
    placeholderData: keepPreviousData,
  });
  const { job: running } = useJob(job, () => void client.invalidateQueries());

  async function upload(files: File[]): Promise<void> {
    if (!files.length) return;
    const form = new FormData();
    for (const file of files.slice(0, MOST_FILES)) form.append("files", file, file.name);
    setCount(files.length);
    setFault(null);
    try {
      setJob(((await (await send("/ingest", { method: "POST", body: form })).json()) as Job).id);
    } catch (error) {
      if (error instanceof Fault) setFault(error);
    }
  }

  async function dropped(event: Parameters<NonNullable<DropZoneProps["onDrop"]>>[0]): Promise<void> {
    const files = await Promise.all(event.items.flatMap((item) => (item.kind === "file" ? [item.getFile()] : [])));
    await upload(files);
  }

  const refused = documents.data?.refused ?? [];
  const result = running?.state === "done" ? running.result : null;
  return (
    <>
      <div className="screen-head">
        <h1 className="screen-title">{t.documents.title}</h1>
        {documents.data && <span className="quiet">{t.documents.count(documents.data.total)}</span>}
      </div>
      {server.writing ? (
        <DropZone className="drop" aria-label={t.documents.drop} onDrop={(event) => void dropped(event)} getDropOperation={() => "copy"}>
          <p>{t.documents.drop}</p>
          <FileTrigger allowsMultiple onSelect={(files) => void upload([...(files ?? [])])}>
            <Button className="button">{t.documents.choose}</Button>
          </FileTrigger>
        </DropZone>
      ) : server.state === "ready" && <p className="hint">{t.documents.notAllowed}</p>}
      <div role="status">
        {running?.state === "running" && <p className="tools section"><span>{t.documents.uploading(count)}</span>
          <progress max={Math.max(1, running.total)} value={running.done} aria-label={t.documents.uploading(count)} /></p>}
        {result && <p className="section">{t.documents.result(Number(result["added"] ?? 0), Number(result["replaced"] ?? 0), Number(result["unchanged"] ?? 0))}</p>}
        {running?.state === "failed" && <p className="section"><Doc text={String(running.error?.["message"] ?? "")} most={400} /></p>}
      </div>
      {fault && <Trouble fault={fault} onRetry={null} />}
      {refused.length > 0 && (
        <section className="section">
          <h2 className="section-title">{t.documents.refused}</h2>
          <ul className="refused">
            {refused.slice(0, 200).map((each, i) => <li key={i}><b><Doc text={each.path} most={120} /></b><span><Doc text={each.reason} most={300} /></span></li>)}
          </ul>
        </section>
      )}
      {documents.error instanceof Fault && <Trouble fault={documents.error} onRetry={() => void documents.refetch()} />}
      {documents.data?.total === 0 && <p className="quiet section">{t.documents.none}</p>}
      {documents.data && documents.data.total > 0 && (
        <section className="section">
          <Table label={t.documents.title} columns={COLUMNS} rows={documents.data.documents} idOf={(row) => row.id} />
          {documents.data.total > documents.data.documents.length && (
            <p><button type="button" className="button" onClick={() => setLimit((now) => Math.min(1000, now + STEP))}>{t.documents.more}</button></p>
          )}
        </section>
      )}
    </>
  );
}
