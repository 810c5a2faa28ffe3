/** What a document says, with a place in it marked: its text, the table around its row, or the pages of a PDF. */
import { lazy, Suspense, useEffect, useMemo } from "react";

import type { components } from "../api/schema";
import { go, href } from "../app/route";
import { spanOf, type Span } from "../model/text";
import { t } from "../texts";
import { Act } from "../ui/Act";
import { Doc, Pieces } from "../ui/Doc";
import { saveOriginal } from "./original";
import { CiteMenu } from "./CiteMenu";

const PdfView = lazy(() => import("./PdfView"));

type Opened = components["schemas"]["OpenedDocument"];

export function SourceView({ opened, query }: { opened: Opened; query: URLSearchParams }) {
  const start = Number(query.get("start"));
  const end = Number(query.get("end"));
  const span = useMemo(
    () => (query.has("end") ? spanOf(opened.text, start - opened.offset, end - opened.offset) : null), [opened, query, start, end],
  );
  const row = opened.document;
  const pdf = row.type === "pdf" && opened.original === "same";
  const asText = !pdf || query.get("as") === "text";
  const quote = span ? opened.text.slice(span.start, span.end) : "";
  function show(as: string): void {
    const next = new URLSearchParams(query);
    if (as) next.set("as", as);
    else next.delete("as");
    go(href("documents", row.id, next), { replace: true });
  }
  return (
    <section className="source" aria-label={t.source.title}>
      <div className="tools">
        {pdf && (
          <span className="switch" role="group" aria-label={t.source.title}>
            <button type="button" className="act" aria-pressed={!asText} onClick={() => show("")}>{t.source.pages}</button>
            <button type="button" className="act" aria-pressed={asText} onClick={() => show("text")}>{t.source.text}</button>
          </span>
        )}
        {asText && opened.page && <span className="quiet">{t.passage.page(opened.page)}</span>}
        {opened.original === "same" && (
          <Act does={() => saveOriginal(row)}>{t.source.save}</Act>
        )}
        <CiteMenu row={row} page={opened.page} quote={quote} />
      </div>
      {asText ? (
        <>
          {opened.rows.length > 1 && <TableOfRows opened={opened} />}
          {opened.rows.length <= 1 && <Rendition opened={opened} span={span} />}
        </>
      ) : (
        <Suspense fallback={<p className="quiet" role="status">{t.loading}</p>}>
          <PdfView row={row} quote={quote} page={Number(opened.page) || 1} onText={() => show("text")} />
        </Suspense>
      )}
    </section>
  );
}

/** The stored text in paragraphs, all of it ours to draw: nothing of a document becomes markup. */
function Rendition({ opened, span }: { opened: Opened; span: Span | null }) {
  useEffect(() => {
    document.getElementById("marked")?.scrollIntoView({ block: "center" });
  }, [opened, span]);
  const paragraphs = useMemo(() => paragraphsOf(opened.text), [opened.text]);
  const before = opened.offset > 0;
  const after = opened.offset + opened.text.length < opened.length;
  return (
    <div className="rendition" dir="auto">
      {before && <p className="quiet">{t.source.earlier}</p>}
      {paragraphs.map(({ at, text, kind }) => {
        const from = span ? Math.max(span.start - at, 0) : 0;
        const to = span ? Math.min(span.end - at, text.length) : 0;
        const Tag = kind === "heading" ? "h2" : "p";
        return (
          <Tag key={at} dir="auto" className={kind}>
            {span && from < to ? (
              <>
                <Pieces text={text.slice(0, from)} />
                <mark id={span.start >= at ? "marked" : undefined}><Pieces text={text.slice(from, to)} /></mark>
                <Pieces text={text.slice(to)} />
              </>
            ) : <Pieces text={text} />}
          </Tag>
        );
      })}
      {after && <p className="quiet">{t.source.later}</p>}
    </div>
  );
}

interface Paragraph {
  at: number;
  text: string;
  kind: "heading" | "lines" | "item" | "";
}

/** Paragraphs with their places; a short line that ends without a stop, before more, is a heading. */
function paragraphsOf(text: string): Paragraph[] {
  const made: Paragraph[] = [];
  const blocks = text.split(/(\n\s*\n)/);
  let at = 0;
  for (const [i, block] of blocks.entries()) {
    if (i % 2 === 0 && block.trim()) {
      const lone = !block.includes("\n");
      const heading = lone && block.length <= 90 && !/[.!?:;,|。！？…]\s*$/.test(block) && i + 2 < blocks.length && !/^[-*•\d]/.test(block.trim());
      const item = lone && /^\s*(?:[-*•]|\d{1,3}[.)])\s/.test(block);
      made.push({ at, text: block, kind: heading ? "heading" : item ? "item" : lone ? "" : "lines" });
    }
    at += block.length;
  }
  return made;
}

/** The rows of a table around one that is marked. A row is stored as "column: value; column: value." */
function TableOfRows({ opened }: { opened: Opened }) {
  const rows = opened.rows.map((row) => ({ ...row, cells: cellsOf(row.text) }));
  const names = [...new Set(rows.flatMap(({ cells }) => cells.map(([name]) => name)))];
  useEffect(() => {
    document.getElementById("marked")?.scrollIntoView({ block: "center" });
  }, [opened]);
  const table = names.length > 1 && names.length <= 24;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={t.source.table}>
      <table className="rows source-rows-table">
        <thead><tr><th scope="col">{t.source.row}</th>{table ? names.map((name) => <th scope="col" key={name}><Doc text={name} most={60} /></th>) : <th scope="col">{t.source.text}</th>}</tr></thead>
        <tbody>
          {rows.map((row) => {
            const own = row.id === opened.document.id;
            const cells = new Map(row.cells);
            return (
              <tr key={row.id} id={own ? "marked" : undefined} className={own ? "marked-row" : undefined} aria-current={own ? "true" : undefined}>
                <th scope="row">{own ? t.n(row.row) : <a href={href("documents", row.id)}>{t.n(row.row)}</a>}</th>
                {table ? names.map((name) => <td key={name}>{own && cells.get(name) ? <mark><Pieces text={cells.get(name) ?? ""} /></mark> : <Doc text={cells.get(name) ?? ""} most={300} />}</td>)
                  : <td>{own ? <mark><Pieces text={row.text} /></mark> : <Doc text={row.text} most={300} />}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function cellsOf(text: string): [string, string][] {
  return text.split(/;\s+/).slice(0, 60).flatMap((cell, i, all) => {
    const at = cell.indexOf(": ");
    const value = i === all.length - 1 ? cell.slice(at + 2).replace(/\.\s*$/, "") : cell.slice(at + 2);
    return at > 0 && at <= 80 ? [[cell.slice(0, at).trim(), value] as [string, string]] : [];
  });
}
