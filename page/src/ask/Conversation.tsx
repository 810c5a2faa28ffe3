/** What was asked before and after an answer, and the next question. */
import { useState } from "react";

import type { Answer, AskBody, ThreadTurn } from "../api/types";
import { href } from "../app/route";
import { t } from "../texts";
import { Doc } from "../ui/Doc";

/** The questions that led to this one, each with its answer. */
export function Before({ turns, follows }: { turns: readonly ThreadTurn[]; follows: string }) {
  const chain: ThreadTurn[] = [];
  for (let id = follows; id && chain.length < turns.length; ) {
    const turn = turns.find((each) => each.id === id);
    if (!turn) break;
    chain.unshift(turn);
    id = turn.follows;
  }
  if (!chain.length) return null;
  return (
    <nav className="thread" aria-label={t.talk.before}>
      <ol>{chain.map((turn) => <Turn key={turn.id} turn={turn} />)}</ol>
      <a className="button quiet-button" href={href("ask")}>{t.talk.fresh}</a>
    </nav>
  );
}

/** Questions that follow this answer, and others that were asked in its place. */
export function After({ turns, id }: { turns: readonly ThreadTurn[]; id: string }) {
  const here = turns.find((turn) => turn.id === id);
  const next = turns.filter((turn) => turn.follows === id);
  const others = turns.filter((turn) => here?.follows && turn.follows === here.follows && turn.id !== id);
  if (!next.length && !others.length) return null;
  return (
    <nav className="thread after" aria-label={t.talk.after}>
      {next.length > 0 && <><h2 className="label">{t.talk.after}</h2><ol>{next.map((turn) => <Turn key={turn.id} turn={turn} />)}</ol></>}
      {others.length > 0 && <><h2 className="label">{t.talk.others}</h2><ol>{others.map((turn) => <Turn key={turn.id} turn={turn} />)}</ol></>}
    </nav>
  );
}

function Turn({ turn }: { turn: ThreadTurn }) {
  return (
    <li><a href={href("answer", turn.id)}><Doc text={turn.asked} most={160} /></a>
      <span className="quiet"><Doc text={turn.answers.length ? turn.answers.join("; ") : t.answer.none} most={120} /></span></li>
  );
}

/** The next question of the conversation, and two that such an answer invites. */
export function FollowUp({ answer, canEach, onAsk }: {
  answer: Answer; canEach: boolean; onAsk: (body: AskBody) => void;
}) {
  const [text, setText] = useState("");
  const changed = titleOfVersions(answer);
  return (
    <form className="follow-up" onSubmit={(event) => { event.preventDefault(); if (text.trim()) onAsk({ question: text.trim() }); }}>
      <input id="follow-up" dir="auto" maxLength={32000} value={text} placeholder={t.talk.placeholder} aria-label={t.talk.placeholder}
        autoComplete="off" onChange={(event) => setText(event.target.value)} />
      {text.trim() ? <button type="submit" className="button">{t.ask.ask}</button> : (
        <span className="follow-acts">
          {changed && <button type="button" className="act" onClick={() => onAsk({ question: t.talk.changedOf(changed) })}>{t.talk.changed}</button>}
          {canEach && answer.conflict.positions.length > 1 && !answer.each_source?.length && (
            <button type="button" className="act" onClick={() => onAsk({ question: answer.question, each_source: true })}>{t.talk.each}</button>
          )}
        </span>
      )}
    </form>
  );
}

/** The title of a document of which another version was rejected; empty where there is none. */
function titleOfVersions(answer: Answer): string {
  const beaten = answer.conflict.positions.some((each) => each.verdict === "rejected" && ["superseded", "older"].includes(each.cause));
  const kept = answer.conflict.positions.find((each) => each.verdict === "accepted");
  return beaten ? answer.passages.find((each) => kept?.passages.includes(each.id))?.title ?? "" : "";
}
