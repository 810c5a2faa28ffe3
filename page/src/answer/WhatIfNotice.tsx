/** What is left out of the answer that is shown, and what that changes: in view wherever one reads. */
import type { Fault } from "../api/client";
import type { Answer } from "../api/types";
import { allPassages } from "../model/evidence";
import { named } from "../model/text";
import { AS_IT_WAS, changes, isCounted, settings, type WhatIf } from "../model/whatif";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Said, SaidFault } from "../ui/Said";

const MOST = 3; // changes that are shown at first
const MUST_ASK = "MustAskAgain";

interface Props {
  /** The answer as it was given. */
  answer: Answer;
  /** What it is without the passages that do not count; null while it is being decided, or where it cannot be. */
  decided: Answer | null;
  whatIf: WhatIf;
  fault: Fault | null;
  busy: boolean;
  onChange: (whatIf: WhatIf) => void;
  onAskAgain: (() => void) | null;
}

export function WhatIfNotice({ answer, decided, whatIf, fault, busy, onChange, onAskAgain }: Props) {
  const passages = allPassages(answer);
  const left = passages.filter((passage) => isCounted(whatIf, passage));
  const lines = decided ? changes(answer, decided).map((each) => named(t.whatIf.change(each)).slice(0, 600)) : [];
  return (
    <section className="what-changed" data-busy={busy} aria-label={t.whatIf.effect}>
      <div className="what-changed-head">
        <ul className="settings">
          {settings(whatIf, answer).map(({ kind, name, without }, i) => (
            <li key={i}>{t.whatIf.settings[kind]} <Doc text={name} most={60} />
              <button type="button" className="undo" aria-label={t.whatIf.undo(named(name))} onClick={() => onChange(without)}>
                <svg width="9" height="9" viewBox="0 0 14 14" aria-hidden="true"><path d="M2 2l10 10M12 2L2 12" className="stroke" /></svg>
              </button></li>
          ))}
        </ul>
        <button type="button" className="button quiet-button" onClick={() => onChange(AS_IT_WAS)}>{t.whatIf.reset}</button>
      </div>
      <div role="status" aria-live="polite">
        {busy ? <p>{t.whatIf.busy}</p> : lines.slice(0, MOST).map((line) => (
          <p key={line} className="change-line"><bdi dir="auto">{line}</bdi></p>
        ))}
        {!busy && lines.length > MOST && (
          <details><summary className="quiet">{t.whatIf.more(lines.length - MOST)}</summary>
            {lines.slice(MOST).map((line) => <p key={line} className="change-line"><bdi dir="auto">{line}</bdi></p>)}</details>
        )}
        {fault && <p>{fault.kind === MUST_ASK ? <Said own={t.whatIf.mustAsk} server={fault.message} /> : <SaidFault fault={fault} />}</p>}
        <p className="quiet">{t.whatIf.left(left.length, passages.length)}
          {!busy && decided && decided.assumed.length > 0 && ` ${t.whatIf.assumed(decided.assumed)}`}</p>
        {!busy && onAskAgain && (fault?.kind === MUST_ASK || (decided?.assumed.length ?? 0) > 0) && (
          left.length
            ? <button type="button" className="button quiet-button" onClick={onAskAgain}>{t.whatIf.askAgain}</button>
            : <p>{t.whatIf.noneLeft}</p>
        )}
      </div>
    </section>
  );
}
