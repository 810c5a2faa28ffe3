/** A question under way: passages as they are found and read, sides as they form. */
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";
import type { Progress } from "./asking";

export function Streaming({ progress }: { progress: Progress }) {
  const found = new Map<string, string>();
  for (const search of progress.found)
    search.passages.forEach((id, i) => found.set(id, found.get(id) ?? search.sources[i] ?? ""));
  const sources = new Set(progress.found.flatMap((search) => search.sources));
  const read = new Set(progress.reads.flatMap((each) => each.passages));
  const answers = new Map(progress.reads.flatMap(({ passages, reply }) => passages.length === 1 && passages[0] ? [[passages[0], answerIn(reply)] as const] : []));
  const running = progress.state === "running" || progress.state === "waiting";
  const top = Math.max(0.1, ...progress.sides.map((side) => side.log_odds ?? side.passages.length));
  return (
    <div className="streaming" aria-busy={running}>
      <p className="status" role="status">
        {running && <span className="pulse" aria-hidden="true" />}{statusLine(progress, read.size, found.size, sources.size)}
      </p>
      {found.size > 0 && (
        <ul className="found" aria-hidden="true">
          {[...found].slice(0, 120).map(([id]) => (
            <li key={id} className={read.has(id) ? "tick read" : "tick"} title={id} />
          ))}
        </ul>
      )}
      {found.size > 0 && (
        <ul className="readings" aria-label={t.progress.passages}>
          {[...found].slice(0, 60).map(([id, source]) => (
            <li key={id} className={read.has(id) ? "" : "quiet"}>
              <span className="reading-source"><Doc text={source || id} most={48} /></span>
              {answers.has(id) && <span className="reading"><Doc text={answers.get(id) || t.progress.noAnswer} most={90} /></span>}
            </li>
          ))}
        </ul>
      )}
      {progress.sides.length > 0 && (
        <ol className="sides" aria-label={t.progress.sides}>
          {[...progress.sides]
            .sort((a, b) => (b.log_odds ?? b.passages.length) - (a.log_odds ?? a.passages.length))
            .map((side) => (
              <li key={`${side.answer}-${side.passages[0] ?? ""}`} className={`side ${side.verdict}`}>
                <VerdictMark verdict={side.verdict} />
                <div className="side-body">
                  <b className="side-answer"><Doc text={side.answer} most={200} /></b>
                  <svg className="share" width="100%" height="4" preserveAspectRatio="none" viewBox="0 0 100 4" aria-hidden="true">
                    <rect width="100" height="4" className="whole" />
                    <rect width={Math.max(2, (100 * (side.log_odds ?? side.passages.length)) / top)} height="4" className="part" />
                  </svg>
                  <span className="quiet">
                    {t.count(side.passages.length, "passage")}
                    {side.log_odds !== null && `, ${t.progress.logOdds(side.log_odds)}`}{" "}
                    {side.sources.slice(0, 4).map((name, i) => <span key={i}>{i > 0 && ", "}<Doc text={name} most={48} /></span>)}
                  </span>
                </div>
              </li>
            ))}
        </ol>
      )}
    </div>
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
    case "waiting": return t.progress.waiting(0);
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
