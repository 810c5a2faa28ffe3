/** Before a question: what can be asked, or how to get something that can. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import questions from "../../../examples/questions.json";
import { Fault } from "../api/client";
import { useJob } from "../api/jobs";
import { href } from "../app/route";
import { useServer } from "../app/server";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";
import { Trouble } from "../ui/Trouble";
import { recent } from "./recent";

export function Start({ onQuestion }: { onQuestion: (question: string) => void }) {
  const server = useServer();
  const client = useQueryClient();
  const [job, setJob] = useState("");
  const [fault, setFault] = useState<Fault | null>(null);
  const { job: running } = useJob(job, () => void client.invalidateQueries());
  const empty = server.state === "ready" && server.index !== null && !server.index.passages;
  const opened = running?.state === "done";

  async function open(): Promise<void> {
    setFault(null);
    try {
      const { openExample } = await import("../documents/example");
      setJob((await openExample()).id);
    } catch (error) {
      if (error instanceof Fault) setFault(error);
    }
  }

  if (server.state !== "ready") return null;
  if (empty && !opened) {
    const busy = Boolean(job) && running?.state !== "failed";
    return (
      <section className="start">
        <h2 className="start-title">{t.start.title}</h2>
        {server.writing ? (
          <>
            <p>{t.start.hint}</p>
            <p className="start-acts">
              <a className="button strong" href={href("documents")}>{t.start.drop}</a>
              <button type="button" className="button" disabled={busy} onClick={() => void open()}>{t.start.example}</button>
            </p>
            <p className="hint">{t.start.exampleHint}</p>
          </>
        ) : <p>{t.start.readOnly}</p>}
        <div role="status">
          {busy && <p className="tools"><span>{t.start.opening}</span>
            <progress max={Math.max(1, running?.total ?? 1)} value={running?.done ?? 0} aria-label={t.start.opening} /></p>}
          {running?.state === "failed" && <p><Doc text={String(running.error?.["message"] ?? "")} most={400} /></p>}
        </div>
        {fault && <Trouble fault={fault} onRetry={() => void open()} />}
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
      {opened && (
        <>
          <h2 className="label">{t.start.tryThese}</h2>
          <ul className="examples">
            {questions.map(({ id, question }) => (
              <li key={id}><button type="button" className="example" onClick={() => onQuestion(question)}>{question}</button></li>
            ))}
          </ul>
        </>
      )}
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
