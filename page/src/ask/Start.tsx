/** Before a question: what can be asked, or how to get something that can. */
import { useServer } from "../app/server";
import { href } from "../app/route";
import { recent } from "./recent";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";

export function Start() {
  const server = useServer();
  const empty = server.state === "ready" && server.index !== null && !server.index.passages;
  if (server.state !== "ready") return null;
  if (empty) {
    return (
      <section className="start">
        <h2 className="start-title">{t.start.title}</h2>
        <p>{t.start.hint}</p>
        <p className="quiet"><Doc text={server.why} most={300} /></p>
        <p><a className="button strong" href={href("documents")}>{t.start.drop}</a></p>
      </section>
    );
  }
  const asked = recent();
  return (
    <section className="start">
      <p className="start-lead">{t.start.lead}</p>
      <dl className="start-marks">
        {(["accepted", "rejected", "unresolved"] as const).map((verdict) => (
          <div key={verdict}><dt><VerdictMark verdict={verdict} />{t.verdicts[verdict]}</dt><dd>{t.start.verdicts[verdict]}</dd></div>
        ))}
      </dl>
      {asked.length > 0 && (
        <>
          <h2 className="label">{t.start.recent}</h2>
          <ul className="examples">
            {asked.map(({ id, question }) => (
              <li key={id}><a className="example" href={href("answer", id)}><Doc text={question} most={200} /></a></li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
