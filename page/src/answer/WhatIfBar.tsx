/** Which passages count: mute or pin a source that spoke, or an owner, or a range of dates. */
import type { Answer, Passage } from "../api/types";
import { lookedFor, ownerOf, sourceOf } from "../model/evidence";
import { named } from "../model/text";
import { isCounted, toggled, type WhatIf } from "../model/whatif";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Interval } from "../ui/marks";

interface Props {
  /** The answer as it was given. */
  answer: Answer;
  whatIf: WhatIf;
  onChange: (whatIf: WhatIf) => void;
}

export function WhatIfBar({ answer, whatIf, onChange }: Props) {
  const { passages } = answer;
  const { unanswered, faulty } = lookedFor(answer);
  const silent = new Set([...unanswered, ...faulty]);
  const all = grouped(passages, (passage) => passage.source);
  const sources = all.filter(([name, theirs]) => theirs.some((each) => !silent.has(each)) || whatIf.muted.includes(name) || whatIf.pinned.includes(name));
  const owners = grouped(passages, ownerOf).filter(([owner, theirs]) => theirs.some((each) => each.source !== owner));
  const days = passages.map((passage) => passage.date.slice(0, 10)).filter(Boolean).sort();
  if (!sources.length) return null;
  return (
    <section className="what-if" aria-labelledby="what-if-title">
      <div className="what-if-head">
        <h2 id="what-if-title" className="section-title">{t.whatIf.title}</h2>
        <p className="hint">{t.whatIf.hint}</p>
      </div>
      <ul className="source-rows">
        {sources.map(([name, theirs]) => {
          const leftOut = theirs.every((passage) => !isCounted(whatIf, passage));
          const muted = whatIf.muted.includes(name);
          const pinned = whatIf.pinned.includes(name);
          const source = sourceOf(answer, name);
          return (
            <li key={name} className={leftOut ? "source-row left-out" : "source-row"} data-source={named(name)}>
              <span className="source-name"><Doc text={name} most={48} />
                {theirs.length > 1 && <span className="quiet"> ×{theirs.length}</span>}
                {muted && <span className="state"> {t.whatIf.muted}</span>}{pinned && <span className="state"> {t.whatIf.pinned}</span>}</span>
              {source && source.reliability !== null && <Interval source={source} width={64} />}
              <span className="source-acts">
                <button type="button" className="act" aria-pressed={muted} aria-label={muted ? t.answer.unmuteWhat(named(name)) : t.answer.muteWhat(named(name))}
                  onClick={() => onChange({ ...whatIf, muted: toggled(whatIf.muted, name) })}>{muted ? t.answer.unmute : t.answer.mute}</button>
                <button type="button" className="act" aria-pressed={pinned} aria-label={pinned ? t.answer.unpinWhat(named(name)) : t.answer.pinWhat(named(name))}
                  onClick={() => onChange({ ...whatIf, pinned: toggled(whatIf.pinned, name) })}>{pinned ? t.answer.unpin : t.answer.pin}</button>
              </span>
            </li>
          );
        })}
      </ul>
      {all.length > sources.length && <p className="quiet">{t.whatIf.silent(all.length - sources.length)}</p>}
      <div className="what-if-more">
        {owners.map(([owner, theirs]) => (
          <button type="button" key={owner} className="act" aria-pressed={whatIf.owners.includes(owner)}
            onClick={() => onChange({ ...whatIf, owners: toggled(whatIf.owners, owner) })}>
            {t.whatIf.muteOwner} <Doc text={owner} most={48} /> <span className="quiet">×{theirs.length}</span>
          </button>
        ))}
        {days.length > 1 && days[0] !== days.at(-1) && (
          <>
            <label className="field"><span className="field-label">{t.whatIf.after}</span>
              <input type="date" className="field-input" value={whatIf.after}
                onChange={(event) => onChange({ ...whatIf, after: event.target.value })} /></label>
            <label className="field"><span className="field-label">{t.whatIf.before}</span>
              <input type="date" className="field-input" value={whatIf.before}
                onChange={(event) => onChange({ ...whatIf, before: event.target.value })} /></label>
          </>
        )}
      </div>
    </section>
  );
}

function grouped(passages: readonly Passage[], nameOf: (passage: Passage) => string): [string, Passage[]][] {
  const groups = new Map<string, Passage[]>();
  for (const passage of passages) {
    const name = nameOf(passage);
    if (name) groups.set(name, [...(groups.get(name) ?? []), passage]);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0]));
}
