/** The verdict at a glance: the answer, how sure, what kind of conflict, and who could change it. */
import type { Answer } from "../api/types";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Share } from "../ui/marks";

/** How strong an answer is, which its size and colour show. */
function strengthOf({ answers, confidence }: Answer): "strong" | "fair" | "weak" | undefined {
  if (!answers.length || confidence === null) return undefined;
  return confidence >= 0.8 ? "strong" : confidence >= 0.5 ? "fair" : "weak";
}

export function VerdictStrip({ answer, changed = false }: { answer: Answer; changed?: boolean }) {
  const { answers, abstained, conflict, confidence, certificate } = answer;
  const kind = t.conflicts[conflict.kind];
  const strength = strengthOf(answer);
  const nothing = abstained === "no_evidence" && !answer.passages.length && answer.retrievals !== 0;
  return (
    <section className="verdict" aria-labelledby="verdict-title" data-state={abstained ?? conflict.kind} data-strength={strength}>
      <div className="verdict-answer">
        <h2 id="verdict-title" className="label">{abstained ? t.answer.none : t.answer.answers(answers.length)}
          {strength === "weak" && ` · ${t.answer.weak}`}{changed && ` · ${t.whatIf.not}`}</h2>
        {answers.length ? (
          <ul className="verdict-answers">
            {answers.map((each, i) => <li key={i}><Doc text={each} most={600} /></li>)}
          </ul>
        ) : (
          <p className="verdict-none">
            {abstained ? t.answer.abstained[nothing ? "nothing_found" : abstained] : t.answer.none}
          </p>
        )}
      </div>
      <dl className="facts">
        {confidence !== null && (
          <div className="fact">
            <dt className="label">{t.answer.sure}</dt>
            <dd><span className="figure">{t.chance(confidence)}</span><Share value={confidence} /><span className="note">{t.percent(confidence)}</span></dd>
          </div>
        )}
        {(conflict.positions.length > 0 || conflict.kind !== "none") && (
          <div className="fact">
            <dt className="label">{t.answer.kind}</dt>
            <dd><span className="figure">{kind?.name ?? conflict.kind}</span><span className="note">{kind?.means}</span></dd>
          </div>
        )}
        {certificate && (
          <div className="fact">
            <dt className="label">{t.answer.holds}</dt>
            <dd>
              <span className="figure">
                {certificate.owners
                  ? t.answer.certificate(certificate.owners, certificate.voters)
                  : t.answer.unread(certificate.unread)}
              </span>
              {certificate.names.length > 0 && (
                <span className="note"><bdi>{t.answer.certificateNames(certificate.names)}</bdi></span>
              )}
              {certificate.corrupted !== null && <span className="note">{t.answer.corrupted(certificate.corrupted)}</span>}
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

/** The answer in words, each claim with its quotes. */
export function Claims({ answer, onCitation }: { answer: Answer; onCitation: (passage: string, n: number) => void }) {
  if (!answer.claims.length) {
    return answer.text && !answer.abstained ? <p className="claims"><Doc text={answer.text} /></p> : null;
  }
  return (
    <p className="claims">
      {answer.claims.map((claim, i) => (
        <span key={i} className="claim">
          <Doc text={claim.text.trim()} />
          {claim.citations.map((citation) => (
            <button
              key={`${citation.n}-${citation.start}`} type="button" className={`cite ${citation.verdict}`}
              aria-label={t.answer.cite(citation.n, citation.source)} data-cite={citation.n}
              onClick={() => onCitation(citation.passage, citation.n)}
            >
              {citation.n}
            </button>
          ))}
          {claim.verdict in t.answer.doubts && (
            <span className="doubt"> {t.answer.doubts[claim.verdict as keyof typeof t.answer.doubts]}</span>
          )}{" "}
        </span>
      ))}
    </p>
  );
}
