/** A passage in its context, with what is quoted marked to the character. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

import { get } from "../api/client";
import type { components } from "../api/schema";
import type { Answer, Passage } from "../api/types";
import { placeHref } from "../app/route";
import { citations, allPassages, supportingPassages } from "../model/evidence";
import { directionOf, spanOf, type Span } from "../model/text";
import { CiteMenu } from "../source/CiteMenu";
import { t } from "../texts";
import { Doc, Marked, Original } from "../ui/Doc";
import { Standing } from "../ui/marks";
import { useNarrow } from "../ui/media";
import type { Opened } from "./steering";

type Around = components["schemas"]["Around"];

/** Where a passage is quoted: by the citation that was chosen, or else by the reply. */
function quoted(answer: Answer, passage: Passage, n: number): Span | null {
  const cited = citations(answer).find((each) => each.passage === passage.id && (!n || each.n === n));
  const exact = cited && n ? spanOf(passage.text, cited.start, cited.end) : null;
  if (exact) return exact;
  for (const position of answer.conflict.positions) {
    const support = supportingPassages(answer, position).find((each) => each.passage.id === passage.id);
    if (support?.span) return support.span;
  }
  return null;
}

export function PassagePanel({ answer, open, onClose }: { answer: Answer; open: Opened | null; onClose: () => void }) {
  const narrow = useNarrow();
  const passage = open ? allPassages(answer).find((each) => each.id === open.passage) : undefined;
  if (!narrow) {
    return (
      <aside className="panel" aria-label={t.passage.title}>
        {open && passage ? <Shown answer={answer} passage={passage} open={open} onClose={onClose} /> : (
          <p className="panel-none">{t.passage.none}</p>
        )}
      </aside>
    );
  }
  return (
    <ModalOverlay className="sheet-ground" isOpen={Boolean(passage)} onOpenChange={(shown) => !shown && onClose()} isDismissable>
      <Modal className="sheet">
        <Dialog className="sheet-body" aria-label={t.passage.title}>
          {open && passage && <Shown answer={answer} passage={passage} open={open} onClose={onClose} />}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function Shown({ answer, passage, open, onClose }: {
  answer: Answer; passage: Passage; open: Opened; onClose: () => void;
}) {
  const span = quoted(answer, passage, open.n);
  const hidden = Number(passage.metadata["hidden"] ?? 0);
  const stored = useQuery({
    queryKey: ["passage", passage.id],
    queryFn: ({ signal }) => get<Around>(`/passages/${encodeURIComponent(passage.id)}`, signal),
    enabled: Boolean(passage.document),
    retry: false,
  });
  useEffect(() => {
    document.getElementById("quoted")?.scrollIntoView({ block: "nearest" });
  }, [passage.id, open.n]);
  return (
    <div className="panel-body" data-panel={passage.id}>
      <div className="panel-head">
        <Heading slot="title" level={2} className="panel-title">
          <Doc text={passage.title || passage.source || passage.id} most={200} />
        </Heading>
        <button type="button" className="icon-button" onClick={onClose} aria-label={t.close}>
          <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d="M2 2l10 10M12 2L2 12" className="stroke" /></svg>
        </button>
      </div>
      <p className="panel-facts">
        {passage.title && passage.source && <span><Doc text={passage.source} most={120} /></span>}
        {passage.owner && passage.owner !== passage.source && <span><Doc text={passage.owner} most={80} /></span>}
        <Standing passage={passage} />
        {passage.page && <span><Doc text={t.passage.page(passage.page)} most={40} /></span>}
        {passage.url && <Original url={passage.url} />}
        {passage.document && stored.isSuccess && <a href={placeOf(passage, span)}>{t.source.open}</a>}
        <CiteMenu row={passage} page={passage.page ?? ""} quote={span ? passage.text.slice(span.start, span.end) : ""} here={placeOf(passage, span)} />
      </p>
      {hidden > 0 && <p className="notice" title={t.passage.hiddenMeans}>{t.passage.hidden(hidden)}. {t.passage.hiddenMeans}</p>}
      <Neighbours label={t.passage.before} passages={stored.data?.before ?? []} />
      <div className="panel-text" dir={directionOf(passage.text)}><Marked text={passage.text} span={span} id="quoted" /></div>
      <Neighbours label={t.passage.after} passages={stored.data?.after ?? []} />
    </div>
  );
}

/** The address of the quote in its document. Offsets are in code points there, as the server counts. */
function placeOf(passage: Passage, span: Span | null): string {
  const start = passage.start + (span ? [...passage.text.slice(0, span.start)].length : 0);
  const length = span ? [...passage.text.slice(span.start, span.end)].length : [...passage.text].length;
  return placeHref(passage.document, start, start + length);
}

function Neighbours({ label, passages }: { label: string; passages: readonly Passage[] }) {
  if (!passages.length) return null;
  return (
    <details className="neighbour">
      <summary>{label}</summary>
      <div className="panel-text">{passages.map((each) => <p key={each.id} dir={directionOf(each.text)}><Doc text={each.text} most={4000} /></p>)}</div>
    </details>
  );
}
