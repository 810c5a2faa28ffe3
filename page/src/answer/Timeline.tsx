/** What was said when: the values of an answer's positions by the dates of their passages. Only where dates differ. */
import type { Answer } from "../api/types";
import { supportingPassages } from "../model/evidence";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";
import type { Steering } from "./steering";

const MOST = 40;

export function Timeline({ answer, onShow }: { answer: Answer; onShow: Steering["show"] }) {
  const moments = answer.conflict.positions
    .flatMap((position) => supportingPassages(answer, position).map(({ passage }) => ({ position, passage })))
    .filter(({ passage }) => passage.date && passage.date_origin !== "file")
    .sort((a, b) => (a.passage.date < b.passage.date ? -1 : 1));
  if (new Set(moments.map(({ position }) => position.answer)).size < 2 || new Set(moments.map(({ passage }) => passage.date)).size < 2) return null;
  return (
    <section className="timeline" aria-label={t.answer.timeline}>
      <h2 className="section-title">{t.answer.timeline}</h2>
      <ol>
        {moments.slice(-MOST).map(({ position, passage }) => (
          <li key={`${position.answer}-${passage.id}`} className={position.verdict}>
            <span className="timeline-date"><Doc text={passage.date} most={20} /></span>
            <VerdictMark verdict={position.verdict} size={14} />
            <span><button type="button" className="plain" onClick={() => onShow(passage.id, 0)}><Doc text={position.answer} most={120} /></button>{" "}
              <span className="quiet"><Doc text={passage.title || passage.source} most={80} /></span></span>
          </li>
        ))}
      </ol>
    </section>
  );
}
