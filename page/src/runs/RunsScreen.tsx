/** Evaluations that were run, the rows on which two strategies differ, and each row as an answer. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Fault, get } from "../api/client";
import type { Answer, RunRow } from "../api/types";
import { AnswerView } from "../answer/AnswerView";
import { go, href, useRoute } from "../app/route";
import { AS_IT_WAS } from "../model/whatif";
import { t } from "../texts";
import { Choice } from "../ui/Choice";
import { Doc } from "../ui/Doc";
import { Table, type Column } from "../ui/Table";
import { Trouble } from "../ui/Trouble";

interface Figures {
  strategy: string; n: number; failed: number; abstained: number; calls: number | null; seconds: number | null;
  em?: number | null; f1?: number | null; accuracy?: number | null; ci: Record<string, [number, number] | null>;
}
interface Report {
  datasets: { dataset: string; rows: number; metric: string; strategies: Figures[] }[];
}
interface SideAnswer { answers: string[]; abstained: string | null; scores: Record<string, number | null> }
interface Differences {
  metric: string; shared: number; differ: number;
  questions: { example: string; row: number; question: string; gold: string[]; kind: string; one: SideAnswer; other: SideAnswer }[];
}

const COLUMNS: readonly Column<RunRow>[] = [
  { id: "name", name: t.runs.columns.name, by: (row) => row.name, cell: (row) => <a href={href("runs", row.name)}><Doc text={row.name} most={80} /></a> },
  { id: "datasets", name: t.runs.columns.datasets, by: (row) => row.datasets.join(), cell: (row) => row.fault ? <Doc text={row.fault} most={120} /> : <Doc text={row.datasets.join(", ")} most={80} /> },
  { id: "strategies", name: t.runs.columns.strategies, cell: (row) => <Doc text={row.strategies.join(", ")} most={120} /> },
  { id: "model", name: t.ask.model, by: (row) => row.model, cell: (row) => <Doc text={row.model} most={60} /> },
  { id: "questions", name: t.runs.columns.n, number: true, by: (row) => row.questions, cell: (row) => t.n(row.questions) },
];

export default function RunsScreen() {
  const route = useRoute();
  const runs = useQuery({ queryKey: ["runs"], queryFn: ({ signal }) => get<RunRow[]>("/runs", signal), retry: false });
  const fault = runs.error instanceof Fault ? runs.error : null;
  const run = runs.data?.find((each) => each.name === route.name);
  if (run) return <Run run={run} example={route.query.get("row") ?? ""} strategy={route.query.get("by") ?? ""} />;
  return (
    <>
      <div className="screen-head"><h1 className="screen-title">{t.runs.title}</h1><p className="hint">{t.runs.hint}</p></div>
      {fault && (fault.status === 403 ? <p className="hint">{t.runs.notAllowed}</p> : <Trouble fault={fault} onRetry={() => void runs.refetch()} />)}
      {runs.data?.length === 0 && <p className="quiet">{t.runs.none}</p>}
      {runs.data && runs.data.length > 0 && <Table label={t.runs.title} columns={COLUMNS} rows={runs.data} idOf={(row) => row.name} />}
    </>
  );
}

function Run({ run, example, strategy }: { run: RunRow; example: string; strategy: string }) {
  const path = `/runs/${encodeURIComponent(run.name)}`;
  const report = useQuery({ queryKey: ["run", run.name], queryFn: ({ signal }) => get<Report>(path, signal) });
  const [first, setFirst] = useState(run.strategies[0] ?? "");
  const [second, setSecond] = useState(run.strategies[1] ?? "");
  const pair = new URLSearchParams({ first, second });
  const differences = useQuery({
    queryKey: ["differences", run.name, first, second], queryFn: ({ signal }) => get<Differences>(`${path}/differences?${pair}`, signal),
    enabled: Boolean(first && second && first !== second), retry: false,
  });
  const options = run.strategies.map((id) => ({ id, name: id }));
  return (
    <>
      <div className="screen-head">
        <h1 className="screen-title"><Doc text={run.name} most={80} /></h1>
        <a href={href("runs")}>{t.runs.back}</a>
      </div>
      {report.error instanceof Fault && <Trouble fault={report.error} onRetry={() => void report.refetch()} />}
      {report.data?.datasets.map((dataset) => <Scores key={dataset.dataset} {...dataset} />)}
      {run.strategies.length > 1 && (
        <section className="section">
          <h2 className="section-title">{t.runs.differ}</h2>
          <div className="tools">
            <Choice label={t.runs.first} value={first} options={options} onChange={setFirst} />
            <Choice label={t.runs.second} value={second} options={options} onChange={setSecond} />
            {differences.data && <span className="quiet" role="status">{t.runs.differing(differences.data.differ, differences.data.shared)}</span>}
          </div>
          {differences.error instanceof Fault && <Trouble fault={differences.error} onRetry={null} />}
          {differences.data?.questions.length === 0 && <p className="quiet">{t.runs.noDifference}</p>}
          {differences.data && differences.data.questions.length > 0 && (
            <Table label={t.runs.differ} idOf={(row) => row.example} rows={differences.data.questions.slice(0, 500)} selected={example}
              columns={[
                { id: "question", name: t.ask.question, by: (row) => row.question, cell: (row) => <Doc text={row.question} most={200} /> },
                { id: "gold", name: t.runs.gold, cell: (row) => <Doc text={row.gold.join("; ")} most={100} /> },
                { id: "one", name: first, cell: (row) => <Said run={run.name} example={row.example} strategy={first} said={row.one} better={row.kind === "one_better"} /> },
                { id: "other", name: second, cell: (row) => <Said run={run.name} example={row.example} strategy={second} said={row.other} better={row.kind === "other_better"} /> },
              ]} />
          )}
        </section>
      )}
      {example && strategy && <Row run={run.name} example={example} strategy={strategy} />}
    </>
  );
}

function Said({ run, example, strategy, said, better }: { run: string; example: string; strategy: string; said: SideAnswer; better: boolean }) {
  return (
    <>
      <a href={href("runs", run, new URLSearchParams({ row: example, by: strategy }))}>
        {said.answers.length ? <Doc text={said.answers.join("; ")} most={100} /> : t.answer.none}
      </a>{" "}
      {better && <span className="tag">{t.runs.better}</span>}
    </>
  );
}

function Scores({ dataset, metric, strategies }: Report["datasets"][number]) {
  return (
    <section className="section">
      <h2 className="section-title"><Doc text={dataset} most={120} /></h2>
      <Table label={dataset} rows={strategies} idOf={(row) => row.strategy} first="score" columns={[
        { id: "strategy", name: t.runs.columns.strategy, by: (row) => row.strategy, cell: (row) => <Doc text={row.strategy} most={60} /> },
        { id: "score", name: metric, number: true, by: (row) => score(row, metric), cell: (row) => t.score(score(row, metric), row.ci[metric] ?? null) },
        { id: "n", name: t.runs.columns.n, number: true, by: (row) => row.n, cell: (row) => t.n(row.n) },
        { id: "abstained", name: t.runs.columns.abstained, number: true, by: (row) => row.abstained, cell: (row) => t.n(row.abstained) },
        { id: "failed", name: t.runs.columns.failed, number: true, by: (row) => row.failed, cell: (row) => t.n(row.failed) },
        { id: "calls", name: t.runs.columns.cost, number: true, by: (row) => row.calls, cell: (row) => (row.calls === null ? "" : row.calls.toFixed(1)) },
        { id: "seconds", name: t.runs.columns.seconds, number: true, by: (row) => row.seconds, cell: (row) => (row.seconds === null ? "" : row.seconds.toFixed(1)) },
      ]} />
    </section>
  );
}

function score(row: Figures, metric: string): number | null {
  const value = (row as unknown as Record<string, unknown>)[metric];
  return typeof value === "number" ? value : null;
}

function Row({ run, example, strategy }: { run: string; example: string; strategy: string }) {
  const answer = useQuery({
    queryKey: ["run-answer", run, example, strategy], retry: false,
    queryFn: ({ signal }) => get<Answer>(`/runs/${encodeURIComponent(run)}/answers/${encodeURIComponent(example)}?${new URLSearchParams({ strategy })}`, signal),
  });
  return (
    <section className="section" aria-label={strategy}>
      <div className="panel-head"><h2 className="section-title"><Doc text={strategy} most={60} /></h2>
        <button type="button" className="button quiet-button" onClick={() => go(href("runs", run))}>{t.close}</button></div>
      {answer.error instanceof Fault && <Trouble fault={answer.error} onRetry={null} />}
      {answer.data && (
        <>
          <p className="compared-answer"><Doc text={answer.data.question} most={400} /></p>
          <AnswerView answer={answer.data} id="" whatIf={AS_IT_WAS} onWhatIf={() => undefined} onAskAgain={null} />
        </>
      )}
    </section>
  );
}
