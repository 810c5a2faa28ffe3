/** The list of documents: searched, filtered and sorted here, a page at a time; on a phone a card each. */
import { useMemo } from "react";

import type { Documents } from "../api/types";
import { go, href } from "../app/route";
import { t } from "../texts";
import { Choice } from "../ui/Choice";
import { Doc } from "../ui/Doc";
import type { Column } from "../ui/Table";

export type Row = Documents["documents"][number];
const STEP = 100;

export const titleOf = (row: Row): string => row.title || row.file || row.id;

/** What a row of a table is called besides its title, and a file besides its own. */
function placeOf(row: Row): string {
  return [row.file !== titleOf(row) ? row.file : "", row.row ? t.documents.row(row.row) : ""].filter(Boolean).join(", ");
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "title", name: t.documents.columns.title, by: (row) => titleOf(row).toLowerCase(),
    cell: (row) => (
      <span className="document-name">
        <a href={href("documents", row.id)}><Doc text={titleOf(row)} most={120} /></a>
        {placeOf(row) && <span className="quiet"><Doc text={placeOf(row)} most={80} /></span>}
        <Tags row={row} />
      </span>
    ),
  },
  { id: "type", name: t.documents.columns.type, by: (row) => row.type || null, cell: (row) => row.type && <Doc text={row.type.toUpperCase()} most={12} /> },
  { id: "date", name: t.documents.columns.date, by: (row) => row.date || null, cell: (row) => <Dated row={row} /> },
  { id: "version", name: t.documents.columns.version, by: (row) => row.version || null, cell: (row) => row.version && <Doc text={row.version} most={40} /> },
  { id: "source", name: t.documents.columns.source, by: (row) => row.source || null, cell: (row) => <Doc text={row.source} most={60} /> },
  { id: "owner", name: t.documents.columns.owner, by: (row) => row.owner || null, cell: (row) => row.owner && <Doc text={row.owner} most={60} /> },
  {
    id: "authority", name: t.documents.columns.authority, by: (row) => row.authority || null,
    cell: (row) => t.documents.authorities[row.authority as keyof typeof t.documents.authorities] ?? row.authority,
  },
  { id: "size", name: t.documents.columns.size, number: true, by: (row) => row.size || null, cell: (row) => (row.size ? t.documents.size(row.size) : "") },
  { id: "passages", name: t.documents.columns.passages, number: true, by: (row) => row.passages || null, cell: (row) => t.n(row.passages) },
  { id: "read", name: t.documents.columns.read, by: (row) => row.read || null, cell: (row) => row.read && <time dateTime={row.read} title={row.read}>{row.read.slice(0, 10)}</time> },
  { id: "hidden", name: t.documents.columns.hidden, number: true, by: (row) => row.hidden || null, cell: (row) => (row.hidden ? t.n(row.hidden) : "") },
];

export function Dated({ row }: { row: Row }) {
  if (!row.date) return null;
  return <span className="dated"><Doc text={row.date} most={40} /> <span className="quiet">{t.answer.dateOrigin[row.date_origin as keyof typeof t.answer.dateOrigin]}</span></span>;
}

/** Whether another document took its place; a draft never had one. */
const isSuperseded = (row: Row): boolean => Boolean(row.superseded_by) && !row.draft;

export function Tags({ row }: { row: Row }) {
  return (
    <>
      {row.by_people["mute"] === "yes" && <span className="tag">{t.documents.muted}</span>}
      {row.draft && <span className="tag">{t.documents.draft}</span>}
      {isSuperseded(row) && <span className="tag">{t.documents.superseded}</span>}
      {row.by_people["status"] === "retracted" && <span className="tag">{t.documents.retracted}</span>}
    </>
  );
}

const STATES: Record<string, (row: Row) => boolean> = {
  all: () => true,
  muted: (row) => row.by_people["mute"] === "yes",
  draft: (row) => row.draft,
  superseded: isSuperseded,
  undated: (row) => !row.date,
  hidden: (row) => row.hidden > 0,
};

export function DocumentList({ rows, query }: { rows: readonly Row[]; query: URLSearchParams }) {
  const wanted = query.get("q") ?? "";
  const kind = query.get("type") ?? "";
  const state = query.get("state") ?? "all";
  const sort = query.get("sort") ?? "title";
  const down = query.get("down") === "1";
  const page = Math.max(1, Number(query.get("page")) || 1);
  const set = (change: Record<string, string>) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries({ page: "", ...change })) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    go(href("documents", "", next), { replace: true });
  };
  const kinds = useMemo(() => [...new Set(rows.map((row) => row.type).filter(Boolean))].sort(), [rows]);
  const columns = useMemo(() => COLUMNS.filter((column) => column.id === "title" || rows.some((row) => column.by?.(row) !== null)), [rows]);
  const matching = useMemo(() => {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const by = COLUMNS.find((column) => column.id === sort)?.by ?? COLUMNS[0]?.by;
    const found = rows.filter((row) => {
      if (kind && row.type !== kind) return false;
      if (!(STATES[state] ?? STATES["all"])?.(row)) return false;
      const text = `${row.title} ${row.file} ${row.source} ${row.owner}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const keyed = found.map((row) => ({ row, key: by?.(row) ?? null }));
    keyed.sort((a, b) => (a.key === null || b.key === null ? Number(a.key === null) - Number(b.key === null) : (down ? -1 : 1) * compare(a.key, b.key)));
    return keyed.map(({ row }) => row);
  }, [rows, wanted, kind, state, sort, down]);
  const pages = Math.max(1, Math.ceil(matching.length / STEP));
  const shown = matching.slice((Math.min(page, pages) - 1) * STEP, Math.min(page, pages) * STEP);
  return (
    <section className="section">
      <div className="tools">
        <label className="field"><span className="field-label">{t.documents.search}</span>
          <input className="field-input" type="search" placeholder={t.documents.searchHint} value={wanted} onChange={(event) => set({ q: event.target.value })} /></label>
        {kinds.length > 1 && (
          <Choice label={t.documents.kind} value={kind || "every"} onChange={(id) => set({ type: id === "every" ? "" : id })}
            options={[{ id: "every", name: t.documents.every }, ...kinds.map((each) => ({ id: each, name: each.toUpperCase() }))]} />
        )}
        <Choice label={t.documents.state} value={state} onChange={(id) => set({ state: id === "all" ? "" : id })}
          options={Object.entries(t.documents.states).map(([id, name]) => ({ id, name }))} />
        <span className="quiet" role="status">{t.documents.ofAll(matching.length, rows.length)}</span>
      </div>
      {matching.length === 0 ? <p className="quiet">{t.documents.noMatch}</p> : (
        <div className="scroll" tabIndex={0} role="region" aria-label={t.documents.title}>
          <table className="rows cards">
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column.id} scope="col" className={column.number ? "number" : undefined}
                    aria-sort={sort === column.id ? (down ? "descending" : "ascending") : undefined}>
                    <button type="button" className="sort"
                      onClick={() => set({ sort: column.id, down: (sort === column.id ? !down : Boolean(column.number)) ? "1" : "" })}>
                      {column.name}
                      <svg width="8" height="6" viewBox="0 0 8 6" aria-hidden="true"><path d="M1 1l3 4 3-4" className="stroke" /></svg>
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={`${row.id}-${row.file}-${row.row}`} className={row.by_people["mute"] === "yes" ? "dim" : undefined}>
                  {columns.map((column, i) => i === 0
                    ? <th key={column.id} scope="row">{column.cell(row)}</th>
                    : <td key={column.id} className={column.number ? "number" : undefined} data-label={column.name}
                      data-empty={column.by?.(row) === null || undefined}>{column.cell(row)}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages > 1 && (
        <nav className="pages" aria-label={t.documents.page(Math.min(page, pages), pages)}>
          <button type="button" className="button quiet-button" disabled={page <= 1} onClick={() => set({ page: String(page - 1) })}>{t.documents.previous}</button>
          <span className="quiet">{t.documents.page(Math.min(page, pages), pages)}</span>
          <button type="button" className="button quiet-button" disabled={page >= pages} onClick={() => set({ page: String(page + 1) })}>{t.documents.next}</button>
        </nav>
      )}
    </section>
  );
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return a < b ? -1 : a > b ? 1 : 0;
}
