/** What each source answers, and how that stands to what was accepted. */
import type { Answer } from "../api/types";
import { directionOf } from "../model/text";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Table } from "../ui/Table";

export function EachSource({ answer, onShow }: { answer: Answer; onShow: (passage: string) => void }) {
  if (!answer.each_source?.length) return null;
  const planted = new Set(answer.passages.filter((passage) => passage.gives_orders).map((passage) => passage.id));
  return (
    <section className="each-source">
      <h2 className="section-title">{t.each.title}</h2>
      <Table label={t.each.title} rows={answer.each_source} idOf={(row) => `${row.source} ${row.answer} ${row.passage}`} columns={[
        { id: "source", name: t.each.source, by: (row) => row.source, cell: (row) => (
          <><Doc text={row.title || row.source} most={80} />{planted.has(row.passage) && <> <span className="tag only">{t.answer.orders}</span></>}</>
        ) },
        { id: "answer", name: t.each.answer, by: (row) => row.answer, cell: (row) => row.answer && <Doc text={row.answer} most={160} /> },
        { id: "relation", name: t.each.relation, by: (row) => row.relation, cell: (row) => t.each.relations[row.relation] },
        { id: "date", name: t.documents.columns.date, by: (row) => row.date, cell: (row) => row.date },
        {
          id: "quote", name: t.each.quote,
          cell: (row) => row.quote && (
            <button type="button" className="plain" dir={directionOf(row.quote)} onClick={() => onShow(row.passage)}><Doc text={row.quote} most={140} /></button>
          ),
        },
      ]} />
    </section>
  );
}
