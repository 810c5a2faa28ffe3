/** A question under way: the best sentences at once, then each reading as it comes, and sides as they form. */
import { memo, useEffect, useState } from "react";

import { directionOf } from "../model/text";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Share, VerdictMark } from "../ui/marks";
import type { Progress, SideEvent } from "./asking";

const MOST = 60; // passages that are listed
const MOST_SIDES = 12;

interface Passage {
  id: string;
  source: string;
  title: string;
  sentence: string;
  /** What it answers, empty for nothing; null until it is read. */
  answer: string | null;
}

export function Streaming({ progress, onFinish }: { progress: Progress; onFinish?: () => void }) {
  const passages = passagesOf(progress);
  const sources = new Set(passages.map((each) => each.source));
  const read = passages.filter((each) => each.answer !== null).length;
  const running = progress.state === "running" || progress.state === "waiting";
  return (
    <div className="streaming" aria-busy={running}>
      <div className="status">
        {running && <span className="pulse" aria-hidden="true" />}
        <p role="status">{statusLine(progress, read, passages.length, sources.size)}</p>
        {running && <Elapsed progress={progress} />}
        {onFinish && read > 0 && <button type="button" className="button quiet-button" onClick={onFinish}>{t.progress.finish}</button>}
      </div>
      {passages.length > 0 && (
        <ul className="readings" aria-label={t.progress.passages}>
          {passages.slice(0, MOST).map((each) => <Reading key={each.id} {...each} />)}
        </ul>
      )}
      {passages.length > MOST && <p className="quiet">{t.whatIf.more(passages.length - MOST)}</p>}
      <Sides progress={progress} />
    </div>
  );
}

/** One passage: what was found in it, and what it answers. Drawn anew only when one of these has changed. */
const Reading = memo(function Reading({ source, title, id, sentence, answer }: Passage) {
  return (
    <li className={answer === null ? "tick" : "tick read"}>
      <span className="reading-name"><Doc text={title || source || id} most={64} />
        {title && source && <span className="quiet"> <Doc text={source} most={40} /></span>}</span>
      {sentence && <q className="reading-sentence" dir={directionOf(sentence)}><Doc text={sentence} most={240} /></q>}
      {answer !== null && <span className={answer ? "reading" : "reading quiet"}><Doc text={answer || t.progress.noAnswer} most={90} /></span>}
    </li>
  );
});

/** Passages, those with the best sentences first, then as they were found. */
function passagesOf({ found, excerpts, reads }: Progress): Passage[] {
  const passages = new Map<string, Passage>();
  for (const { passage: id, source, title, sentence } of excerpts) passages.set(id, { id, source, title, sentence, answer: null });
  for (const search of found)
    search.passages.forEach((id, i) => {
      if (!passages.has(id)) passages.set(id, { id, source: search.sources[i] ?? "", title: "", sentence: "", answer: null });
    });
  for (const { passages: [id, ...others], titles, reply } of reads) {
    const passage = id !== undefined && !others.length ? passages.get(id) : undefined;
    if (passage) Object.assign(passage, { answer: answerIn(reply), title: titles?.[0] || passage.title });
  }
  return [...passages.values()];
}

/** How long it has taken, and how long it may still take. Not announced: it changes each second. */
function Elapsed({ progress }: { progress: Progress }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const last = progress.reads.at(-1);
  const left = progress.left ?? (progress.place ? progress.wait : null);
  return (
    <span className="quiet" role="timer">{t.progress.elapsed(Math.max(0, Math.round((now - progress.since) / 1_000)))}
      {left !== null && left >= 1 && `, ${t.progress.left(Math.round(left))}`}
      {last && last.tokens > 0 && `, ${t.progress.tokens(last.tokens)}`}</span>
  );
}

/** An answer so far: by its votes while passages are read, and by its weight once they are weighed. */
interface Side {
  answer: string;
  verdict: SideEvent["verdict"];
  passages: readonly string[];
  sources: readonly string[];
  votes: number | null;
  weight: number;
}

function sidesOf({ sides, votes }: Progress): Side[] {
  const all: Side[] = sides.length
    ? sides.map((side) => ({ ...side, votes: null, weight: side.log_odds ?? side.passages.length }))
    : (votes?.sides ?? []).map((side) => ({ ...side, verdict: "unresolved", weight: side.votes }));
  return all.sort((a, b) => b.weight - a.weight).slice(0, MOST_SIDES);
}

function Sides({ progress }: { progress: Progress }) {
  const sides = sidesOf(progress);
  if (!sides.length) return null;
  const top = Math.max(0.1, ...sides.map((side) => side.weight));
  const silent = progress.sides.length ? 0 : (progress.votes?.silent ?? 0);
  return (
    <>
      <ol className="sides" aria-label={t.progress.sides}>
        {sides.map((side) => <SideCard key={`${side.answer}-${side.passages[0] ?? ""}`} side={side} share={Math.max(0.02, side.weight / top)} />)}
      </ol>
      {silent > 0 && <p className="quiet">{t.progress.silent(silent, progress.votes?.read ?? silent)}</p>}
    </>
  );
}

function SideCard({ side, share }: { side: Side; share: number }) {
  return (
    <li className={`side ${side.verdict}`}>
      <VerdictMark verdict={side.verdict} />
      <div className="side-body">
        <b className="side-answer"><Doc text={side.answer} most={200} /></b>
        <Share value={share} />
        <span className="quiet">
          {side.votes === null ? t.passages(side.passages.length) : t.progress.votes(side.votes, side.passages.length)}{" "}
          {side.sources.slice(0, 4).map((name, i) => <span key={i}>{i > 0 && ", "}<Doc text={name} most={48} /></span>)}
        </span>
      </div>
    </li>
  );
}

/** The answer in a reply, to be shown only; empty where it has none. */
function answerIn(reply: string): string {
  try {
    const { answer } = JSON.parse(reply) as { answer?: unknown };
    return typeof answer === "string" && answer !== "unknown" ? answer : "";
  } catch {
    return "";
  }
}

function statusLine(progress: Progress, read: number, found: number, sources: number): string {
  switch (progress.state) {
    case "stopped": return found ? t.progress.stopped : t.progress.stoppedNone;
    case "failed": return t.progress.failed;
    case "waiting": return progress.follows && !progress.id ? t.progress.understanding : t.progress.waiting(progress.place);
    default:
  }
  if (!found) return t.progress.searching;
  const last = progress.reads.at(-1);
  if (!last) return t.progress.found(found, sources);
  if (progress.rounds > 1) return t.progress.round(progress.rounds);
  if (read < found && last.passages.length) return t.progress.reading(read, found);
  if (!last.passages.length) return t.progress.checking(last.role);
  return t.progress.weighing;
}
