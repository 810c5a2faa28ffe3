/** One document: its text or its file with the place marked, what is known of it, and what can be done with it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { asJson, Fault, get, send } from "../api/client";
import type { components } from "../api/schema";
import { href, placeHref } from "../app/route";
import { named } from "../model/text";
import { SourceView } from "../source/SourceView";
import { t } from "../texts";
import { Doc, Original } from "../ui/Doc";
import { SaidFault } from "../ui/Said";
import { Trouble } from "../ui/Trouble";
import { Dated, Tags, titleOf, type Row } from "./DocumentList";
import { EditDocument } from "./EditDocument";
import { upload } from "./uploading";

export type Opened = components["schemas"]["OpenedDocument"];
type Change = components["schemas"]["ChangeRow"];
type Conflicts = components["schemas"]["ConflictsShape"];

interface Props {
  id: string;
  query: URLSearchParams;
  writing: boolean;
  rows: readonly Row[];
  onRemoved: (change: Change) => void;
}

export function OpenDocument({ id, query, writing, rows, onRemoved }: Props) {
  const client = useQueryClient();
  const [editing, setEditing] = useState(false);
  const [said, setSaid] = useState("");
  const [fault, setFault] = useState<Fault | null>(null);
  const start = Math.max(0, Number(query.get("start")) || 0);
  const opened = useQuery({
    queryKey: ["document", id, start],
    queryFn: ({ signal }) => get<Opened>(`/documents/${encodeURIComponent(id)}?at=${start}`, signal), retry: false,
  });
  const data = opened.data;

  async function act(what: () => Promise<void>): Promise<void> {
    setFault(null);
    try {
      await what();
      await client.invalidateQueries();
    } catch (error) {
      if (error instanceof Fault) setFault(error);
    }
  }
  const state = (fields: Record<string, unknown>) => send(`/documents/${encodeURIComponent(id)}`, asJson("PATCH", fields));

  async function remove(): Promise<void> {
    setFault(null);
    try {
      onRemoved((await (await send(`/documents/${encodeURIComponent(id)}`, { method: "DELETE" })).json()) as Change);
    } catch (error) {
      if (error instanceof Fault) setFault(error);
    }
  }

  /** Read a newer file, and state of each document in it that it replaces this one. */
  async function replace(file: File): Promise<void> {
    await act(async () => {
      await upload([{ path: file.name, file }], () => undefined);
      const after = (await get<{ documents: Row[] }>("/documents?limit=1000")).documents;
      const fresh = after.filter((row) => row.file === file.name && row.id !== id);
      if (after.some((row) => row.id === id))
        for (const row of fresh.slice(0, 20)) await send(`/documents/${encodeURIComponent(row.id)}`, asJson("PATCH", { replaces: id }));
      if (fresh.length) setSaid(t.documents.replaced);
    });
  }

  if (opened.error instanceof Fault) {
    return (
      <>
        <p><a href={href("documents")}>{t.documents.back}</a></p>
        {opened.error.status === 404 ? <p className="section">{t.documents.gone}</p> : <Trouble fault={opened.error} onRetry={() => void opened.refetch()} />}
      </>
    );
  }
  if (!data) return <p className="quiet" role="status">{t.loading}</p>;
  const row = data.document;
  const muted = row.by_people["mute"] === "yes";
  const newer = rows.find((each) => each.id === row.superseded_by);
  return (
    <>
      <p className="crumb"><a href={href("documents")}>{t.documents.back}</a></p>
      <div className="screen-head">
        <h1 className="screen-title document-title"><Doc text={titleOf(row)} most={200} /> <Tags row={row} /></h1>
      </div>
      <div className="document-grid">
        <SourceView opened={data} query={query} />
        <aside className="document-facts" aria-label={t.documents.facts}>
          {writing && (
            <div className="document-acts">
              <button type="button" className="button" aria-expanded={editing} onClick={() => setEditing(!editing)}>{t.documents.edit}</button>
              <button type="button" className="button" title={t.documents.muteHint} onClick={() => void act(async () => { await state({ mute: !muted }); })}>
                {muted ? t.documents.unmute : t.documents.mute}</button>
              <label className="button" title={t.documents.replaceHint}>{t.documents.replace}
                <input type="file" className="visually-hidden" onChange={(event) => { const [file] = event.target.files ?? []; if (file) void replace(file); }} /></label>
              <button type="button" className="button" title={t.documents.removeHint} onClick={() => void remove()}>{t.documents.remove}</button>
            </div>
          )}
          <div role="status">{said && <p className="notice">{said}</p>}</div>
          {fault && <Trouble fault={fault} onRetry={null} />}
          {editing && (
            <EditDocument row={row} rows={rows} onSave={(fields) => act(async () => { await state(fields); setSaid(t.documents.saved); setEditing(false); })} />
          )}
          <dl className="about">
            <Fact name={t.documents.columns.source}><Doc text={row.source} most={120} /></Fact>
            {row.owner && row.owner !== row.source && <Fact name={t.documents.columns.owner}><Doc text={row.owner} most={120} /></Fact>}
            {row.date && <Fact name={t.documents.columns.date}><Dated row={row} /></Fact>}
            {row.version && <Fact name={t.documents.columns.version}><Doc text={row.version} most={60} /></Fact>}
            {row.superseded_by && (
              <Fact name={t.documents.supersededBy}><a href={href("documents", row.superseded_by)}><Doc text={newer ? titleOf(newer) : row.superseded_by} most={120} /></a></Fact>
            )}
            {row.authority && <Fact name={t.documents.columns.authority}>{t.documents.authorities[row.authority as keyof typeof t.documents.authorities] ?? row.authority}</Fact>}
            <Fact name={t.documents.file}>{[row.file, row.row ? t.documents.row(row.row) : "", row.size ? t.documents.size(row.size) : ""].filter(Boolean).map((part, i) => <span key={i}>{i > 0 && ", "}<Doc text={part} most={120} /></span>)}
              {data.original === "unrecorded" && <p className="hint">{t.documents.unrecorded}</p>}</Fact>
            {row.read && <Fact name={t.documents.columns.read}><time dateTime={row.read}>{row.read.slice(0, 16).replace("T", " ")}</time></Fact>}
            <Fact name={t.documents.columns.passages}>{t.n(row.passages)}</Fact>
            {row.hidden > 0 && <Fact name={t.documents.columns.hidden}>{t.n(row.hidden)}</Fact>}
            {row.url && <Fact name="URL"><Original url={row.url} /></Fact>}
          </dl>
          <section>
            <h2 className="section-title">{t.documents.answers}</h2>
            {data.answers.length === 0 && <p className="quiet">{t.documents.noAnswers}</p>}
            <ul className="plain-list">
              {data.answers.map((each) => <li key={each.id}><a href={href("answer", each.id)}><Doc text={each.question} most={160} /></a> <time className="quiet" dateTime={each.at}>{each.at.slice(0, 10)}</time></li>)}
            </ul>
          </section>
          <Against id={id} />
          <section>
            <h2 className="section-title">{t.documents.history}</h2>
            {data.stated.length === 0 && <p className="quiet">{t.documents.noHistory}</p>}
            <ul className="plain-list">
              {data.stated.map((each) => (
                <li key={each.key} className={each.undone ? "undone" : undefined}>
                  <Doc text={Object.entries(each.fields).map(([name, value]) => t.documents.says(name, value)).join("; ")} most={300} />{" "}
                  <span className="quiet">{each.at.slice(0, 10)} {t.documents.by[each.by] ?? ""}</span>{" "}
                  {each.undone ? <span className="quiet">{t.documents.takenBack}</span> : writing && !each.by.startsWith("sidecar:") && (
                    <button type="button" className="act" onClick={() => void act(async () => { await state({ undo: each.key }); })}>{t.documents.takeBack}</button>
                  )}
                </li>
              ))}
            </ul>
          </section>
        </aside>
      </div>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return <div><dt className="label">{name}</dt><dd>{children}</dd></div>;
}

/** What stands against the document: the other side of each contradiction, as a link to its words. */
function Against({ id }: { id: string }) {
  const found = useQuery({
    queryKey: ["conflicts", "document", id],
    queryFn: ({ signal }) => get<Conflicts>(`/conflicts?severity=low&limit=50&document=${encodeURIComponent(id)}`, signal), retry: false,
  });
  return (
    <section>
      <h2 className="section-title">{t.documents.against}</h2>
      {found.isLoading && <p className="quiet" role="status">{t.documents.checking}</p>}
      {found.error instanceof Fault && <p className="quiet"><SaidFault fault={found.error} /></p>}
      {found.data?.total === 0 && <p className="quiet">{t.documents.noAgainst}</p>}
      <ul className="plain-list">
        {found.data?.contradictions.map((each) => {
          const [own, other] = [each.first.document, ...each.first.copies].includes(id) ? [each.first, each.second] : [each.second, each.first];
          return (
            <li key={each.id} className={each.new ? undefined : "undone"}>
              {own.document === id ? <a href={placeHref(id, own.start, own.end)}><Doc text={own.value} most={80} /></a> : <Doc text={own.value} most={80} />}
              {" ≠ "}
              <a href={placeHref(other.document, other.start, other.end)} title={named(other.quote).slice(0, 300)}><Doc text={other.value} most={80} /></a>
              {" "}<span className="quiet"><Doc text={[each.about, other.title || other.source].filter(Boolean).join(" · ")} most={140} /></span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
