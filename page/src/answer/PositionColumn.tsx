/** A position: its verdict, how likely, the reason, and the passages that support it. */
import { useState, type ReactNode } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";

import type { Answer, Passage, Position } from "../api/types";
import { brackets, ownerOf, supportingPassages, type SupportingPassage } from "../model/evidence";
import { directionOf, named } from "../model/text";
import { t } from "../texts";
import { Doc, Marked } from "../ui/Doc";
import { Interval, Share, Standing, VerdictMark } from "../ui/marks";
import { usePhone } from "../ui/media";
import type { Steering } from "./steering";

const FIRST = 6; // passages that are shown at first

export function PositionColumn({ answer, position, number, steering }: {
  answer: Answer; position: Position; number: number; steering: Steering;
}) {
  const [all, setAll] = useState(false);
  const supporting = supportingPassages(answer, position);
  const grouped = brackets(position, supporting);
  const moved = Object.entries(position.moved).filter(([, value]) => value !== 0);
  let left = all ? Infinity : FIRST;
  return (
    <article
      className={`position ${position.verdict}`} id={`position-${number}`} tabIndex={-1}
      ref={(element) => { element?.style.setProperty("--weight", String(Math.min(4, Math.max(1, position.weight)))); }}
      aria-label={`${t.verdicts[position.verdict]}: ${named(position.answer).slice(0, 200)}`}
    >
      <header>
        <p className="position-verdict"><VerdictMark verdict={position.verdict} />{t.verdicts[position.verdict]}
          <kbd className="position-number" aria-hidden="true">{number}</kbd></p>
        <h3 className="position-answer"><Doc text={position.answer} most={400} /></h3>
        {position.subject && <p className="position-subject"><Doc text={position.subject} most={160} /></p>}
        {position.aliases.length > 0 && (
          <p className="position-subject">{t.answer.aliases} {position.aliases.slice(0, 4).map((alias, i) => (
            <span key={i}>{i > 0 && ", "}<Doc text={alias} most={80} /></span>))}</p>
        )}
        {position.probability !== null && (
          <div className="position-likely"><Share value={position.probability} />
            <span>{t.answer.likely(position.probability)}</span>
            <span className="quiet">{t.answer.weight(position.weight)}</span></div>
        )}
        <p className="position-reason"><Doc text={t.answer.reason(position)} most={500} /></p>
        {moved.length > 0 && (
          <p className="position-moved">{moved.map(([step, value]) => (
            <span key={step}>{t.answer.moved[step] ?? step} {value > 0 ? "+" : "−"}{Math.abs(value).toFixed(1)}</span>))}</p>
        )}
      </header>
      {supporting.length === 0 && <p className="quiet">{t.answer.noPassage}</p>}
      <Evidence folded={position.verdict === "rejected"} label={t.answer.evidence(supporting.length, new Set(supporting.map((each) => each.passage.source)).size)}>
        {grouped.brackets.map((bracket, i) => {
          const shown = bracket.passages.slice(0, Math.max(0, left));
          left -= shown.length;
          if (!shown.length) return null;
          const cards = shown.map((support) => (
            <PassageCard key={support.passage.id} support={support} steering={steering} />
          ));
          return bracket.together ? (
            <div className="bracket" key={i} role="group"
              aria-label={t.answer.copies(bracket.passages.length, bracketVotes(grouped.votes, grouped.brackets.length))}>
              <p className="bracket-label">
                {t.answer.copies(bracket.passages.length, bracketVotes(grouped.votes, grouped.brackets.length))}
              </p>
              {cards}
            </div>
          ) : cards;
        })}
      </Evidence>
      {!all && supporting.length > FIRST && (
        <button type="button" className="button quiet-button" onClick={() => setAll(true)}>
          {t.answer.showMore(supporting.length - FIRST)}
        </button>
      )}
    </article>
  );
}

/** The passages of a position; on a phone those of what was rejected are folded. */
function Evidence({ folded, label, children }: { folded: boolean; label: string; children: ReactNode }) {
  const phone = usePhone();
  if (!folded || !phone) return <div className="passage-cards">{children}</div>;
  return <details className="evidence"><summary>{label}</summary><div className="passage-cards">{children}</div></details>;
}

/** What a passage is muted by: itself, its document or its source. */
function MuteMenu({ passage, steering }: { passage: Passage; steering: Steering }) {
  const name = named(passage.source);
  const choices = [
    ["muted", passage.source, t.answer.muteWhat(name)],
    ["documents", passage.document, t.whatIf.muteDocument],
    ["passages", passage.id, t.whatIf.mutePassage],
  ] as const;
  return (
    <MenuTrigger>
      <Button className="act" aria-label={t.answer.muteWhat(name)}>{t.answer.mute}
        <svg width="8" height="5" viewBox="0 0 10 6" aria-hidden="true"><path d="M1 1l4 4 4-4" className="stroke" /></svg></Button>
      <Popover className="popover">
        <Menu className="options" aria-label={t.answer.mute} onAction={(key) => {
          const [kind, id] = choices.find(([each]) => each === key) ?? choices[0];
          steering.toggle(kind, id);
        }}>
          {choices.filter(([, id]) => id).map(([kind, , label]) => <MenuItem key={kind} id={kind} className="option">{label}</MenuItem>)}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

/** A bracket has one vote, unless it holds the passages of several votes. */
function bracketVotes(votes: number, count: number): number {
  return count === 1 ? Math.max(1, votes) : 1;
}

function PassageCard({ support, steering }: { support: SupportingPassage; steering: Steering }) {
  const { passage, source, citation, span } = support;
  const name = passage.source || passage.id;
  const pinned = steering.whatIf.pinned.includes(passage.source);
  const open = steering.open?.passage === passage.id;
  const owner = passage.owner || source?.owner || "";
  return (
    <section className={open ? "passage-card open" : "passage-card"} aria-label={named(name)} data-passage={passage.id}>
      <div className="passage-head">
        <span className="passage-source"><Doc text={name} most={80} /></span>
        <span className="passage-acts">
          {passage.source && steering.steer && (
            <>
              <MuteMenu passage={passage} steering={steering} />
              <button type="button" className="act" aria-pressed={pinned} title={t.answer.pinWhat(named(name))}
                aria-label={t.answer.pinWhat(named(name))} onClick={() => steering.toggle("pinned", passage.source)}>{t.answer.pin}</button>
            </>
          )}
        </span>
      </div>
      <div className="passage-facts">
        {source && source.reliability !== null && <Interval source={source} />}
        {owner && owner !== passage.source && <span><Doc text={ownerOf({ ...passage, owner })} most={60} /></span>}
        <Standing passage={passage} />
        {passage.page && <span><Doc text={t.passage.page(passage.page)} most={40} /></span>}
      </div>
      <button
        type="button" className="quote" dir={directionOf(passage.text)} aria-expanded={open} data-quote={passage.id}
        title={citation ? t.answer.cite(citation.n, named(name)) : t.answer.quoteOf(named(name))}
        onClick={() => steering.show(passage.id, citation?.n ?? 0)}
      >
        {span ? <Marked text={passage.text} span={span} around={48} /> : <Doc text={passage.text} most={180} />}
      </button>
      {citation && (
        <p className={`citation ${citation.verdict}`}>
          <span className="cite-mark" aria-hidden="true">{citation.n}</span>{t.answer.citation[citation.verdict]}
        </p>
      )}
    </section>
  );
}
