/** Before a question: what can be asked, or how to get something that can. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import questions from "../../../examples/questions.json";
import { Fault, get, send } from "../api/client";
import { faultOf, useJob } from "../api/jobs";
import type { ThreadRow } from "../api/types";
import { href } from "../app/route";
import { useServer } from "../app/server";
import { named } from "../model/text";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";
import { SaidFault } from "../ui/Said";
import { Trouble } from "../ui/Trouble";

const SHOWN = 8;
const LOOKED_AT = 40; // conversations, of which some repeat a question

/** Conversations, the newest first: a question that was asked again alone is shown with its newest answer. */
function withoutRepeats(rows: readonly ThreadRow[]): (ThreadRow & { ids: string[] })[] {
  const shown: (ThreadRow & { ids: string[] })[] = [];
  for (const row of rows) {
    const newer = row.turns === 1 && shown.find(({ question }) => question.trim() === row.question.trim());
    if (newer) newer.ids.push(row.id);
    else shown.push({ ...row, ids: [row.id] });
  }
  return shown;
}

export function Start({ onQuestion }: { onQuestion: (question: string) => void }) {
  const server = useServer();
  const client = useQueryClient();
  const [job, setJob] = useState("");
  const [fault, setFault] = useState<Fault | null>(null);
  const { job: running } = useJob(job, () => void client.invalidateQueries());
  const threads = useQuery({ queryKey: ["threads"], queryFn: ({ signal }) => get<ThreadRow[]>(`/threads?limit=${LOOKED_AT}`, signal), retry: false });
  const suggested = useQuery({
    queryKey: ["suggestions"], queryFn: ({ signal }) => get<{ questions: string[]; writing: boolean }>("/suggestions", signal), retry: false,
    refetchInterval: ({ state }) => (state.data?.writing ? 3_000 : false),
  });
  const empty = server.state === "ready" && server.index !== null && !server.index.passages;
  const opened = running?.state === "done";
  const failed = running && faultOf(running);

  async function open(): Promise<void> {
    setFault(null);
    try {
      const { openExample } = await import("../documents/example");
      setJob((await openExample()).id);
    } catch (error) {
      if (error instanceof Fault) setFault(error);
    }
  }

  async function forget(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      try {
        await send(`/threads/${encodeURIComponent(id)}`, { method: "DELETE" });
      } catch {
        // It is gone already.
      }
    }
    await threads.refetch();
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
          {failed && <p><SaidFault fault={failed} /></p>}
        </div>
        {fault && <Trouble fault={fault} onRetry={() => void open()} />}
      </section>
    );
  }
  const asked = withoutRepeats(threads.data ?? []).slice(0, SHOWN);
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
      {!opened && suggested.data && suggested.data.questions.length > 0 && (
        <>
          <h2 className="label">{t.start.suggested}</h2>
          <ul className="examples suggested">
            {suggested.data.questions.map((question) => (
              <li key={question}><button type="button" className="example" onClick={() => onQuestion(question)}><Doc text={question} most={200} /></button></li>
            ))}
          </ul>
        </>
      )}
      {asked.length > 0 && (
        <>
          <h2 className="label">{t.start.recent}</h2>
          <ul className="examples">
            {asked.map(({ id, last, question, turns, ids }) => (
              <li key={id} className="kept">
                <a className="example" href={href("answer", last)}><Doc text={question} most={200} />
                  {turns > 1 && <span className="quiet"> {t.talk.questions(turns)}</span>}</a>
                <button type="button" className="icon-button" aria-label={t.talk.forget(named(question).slice(0, 120))} title={t.talk.forget("")} onClick={() => void forget(ids)}>
                  <svg width="12" height="12" viewBox="0 0 14 14" aria-hidden="true"><path d="M2 2l10 10M12 2L2 12" className="stroke" /></svg>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
