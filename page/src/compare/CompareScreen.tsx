/** One question by up to three strategies or models, side by side, with what differs marked. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { Fault, get } from "../api/client";
import type { Answer, Strategy } from "../api/types";
import { Asking, useProgress, type Progress } from "../ask/asking";
import { runs, strategyOptions } from "../ask/strategies";
import { Streaming } from "../ask/Streaming";
import { go, href, useRoute } from "../app/route";
import { useServer } from "../app/server";
import { ordered, same } from "../model/evidence";
import { t } from "../texts";
import { Choice } from "../ui/Choice";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";
import { useGrowing } from "../ui/growing";
import { Trouble } from "../ui/Trouble";

interface Variant {
  strategy: string;
  model: string;
}

const MOST = 3;

/** Comparisons of this tab by their address: to come back to one finds it as it is. */
const KNOWN = new Map<string, Asking[]>();

function addressOf(ids: readonly string[]): string {
  return href("compare", "", new URLSearchParams(ids.map((id) => ["answer", id])));
}

export default function CompareScreen() {
  const server = useServer();
  const strategies = useQuery({ queryKey: ["strategies"], queryFn: ({ signal }) => get<Strategy[]>("/strategies", signal), staleTime: Infinity });
  const route = useRoute();
  const address = addressOf(route.query.getAll("answer").slice(0, MOST));
  const followed = useRef("");
  const [question, setQuestion] = useState("");
  const field = useGrowing(question);
  const [variants, setVariants] = useState<Variant[]>([
    { strategy: "disputation", model: "" }, { strategy: "majority_vote", model: "" },
  ]);
  const [askings, setAskings] = useState<Asking[]>([]);
  const first = useProgress(askings[0] ?? null);
  const second = useProgress(askings[1] ?? null);
  const third = useProgress(askings[2] ?? null);
  const progresses = [first, second, third].slice(0, askings.length);
  const busy = progresses.some(({ state }) => state === "waiting" || state === "running");

  // The address has changed: to a comparison of this tab, to answers that the server has, or to none.
  useEffect(() => {
    if (followed.current === address) return;
    followed.current = address;
    const ids = new URLSearchParams(address.split("?")[1]).getAll("answer");
    const known = KNOWN.get(address) ?? ids.map((id) => Asking.follow(id));
    KNOWN.set(address, known);
    setAskings(known);
  }, [address]);
  const asked = progresses.map((progress) => progress.question).find(Boolean) ?? "";
  useEffect(() => { if (asked) setQuestion(asked); }, [asked]);
  const entered = progresses.map(({ strategy }) => strategy).join();
  useEffect(() => {
    const found = progresses.map(({ strategy, model }) => ({ strategy, model }));
    if (found.length > 1 && found.every(({ strategy }) => strategy)) setVariants(found);
  }, [entered]);

  function run(): void {
    const text = question.trim();
    if (!text || !variants.every(canRun)) return;
    for (const asking of askings) void asking.stop();
    const ids: string[] = [];
    const made = variants.map(({ strategy, model }, i) =>
      Asking.ask({ question: text, strategy, ...(i ? {} : { follows: "" }), ...(model ? { model } : {}) }, (id) => {
        ids[i] = id;
        if (ids.filter(Boolean).length < variants.length) return;
        followed.current = addressOf(ids);
        KNOWN.set(followed.current, made);
        go(followed.current);
      }));
    setAskings(made);
  }

  function change(i: number, changes: Partial<Variant>): void {
    setVariants(variants.map((each, k) => (k === i ? { ...each, ...changes } : each)));
  }

  const modelOf = ({ model }: Variant): string => model || (server.models[0] ?? "");
  const canRun = (each: Variant): boolean => runs(strategies.data?.find(({ name }) => name === each.strategy), modelOf(each));
  const answers = progresses.map(({ answer }) => answer);
  const all = answers.every((answer): answer is Answer => answer !== null) && answers.length > 1 ? (answers as Answer[]) : null;
  return (
    <>
      <div className="screen-head"><h1 className="screen-title">{t.compare.title}</h1><p className="hint">{t.compare.hint}</p></div>
      <form className="question" onSubmit={(event) => { event.preventDefault(); if (!busy) run(); }}>
        <div className="question-line">
          <label className="visually-hidden" htmlFor="compared">{t.ask.question}</label>
          <textarea id="compared" ref={field} rows={1} dir="auto" maxLength={32000} value={question} placeholder={t.ask.placeholder}
            onChange={(event) => setQuestion(event.target.value)}
            onKeyDown={(event) => { if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) { event.preventDefault(); if (!busy) run(); } }} />
          {busy
            ? <button type="button" className="button strong" onClick={() => { for (const asking of askings) void asking.stop(); }}><span className="stop-glyph" aria-hidden="true" />{t.ask.stop}</button>
            : <button type="submit" className="button strong" disabled={!question.trim() || !variants.every(canRun)}>{t.compare.run}</button>}
        </div>
        <div className="variants">
          {variants.map((each, i) => (
            <div className="variant" key={i} role="group" aria-label={t.compare.variant(i + 1)}>
              <Choice label={t.ask.strategy} value={each.strategy} onChange={(strategy) => change(i, { strategy })}
                options={strategyOptions(strategies.data ?? [], modelOf(each))} />
              {!canRun(each) && <p className="hint">{t.ask.needsModel}</p>}
              {server.models.length > 1 && (
                <Choice label={t.ask.model} value={modelOf(each)} onChange={(model) => change(i, { model })}
                  options={server.models.map((id) => ({ id, name: id }))} />
              )}
              {variants.length > 2 && (
                <button type="button" className="act" onClick={() => setVariants(variants.filter((_, k) => k !== i))}>{t.compare.remove}</button>
              )}
            </div>
          ))}
          {variants.length < MOST && (
            <button type="button" className="act" onClick={() => setVariants([...variants, { strategy: "concat", model: "" }])}>{t.compare.add}</button>
          )}
        </div>
      </form>
      <div role="status">{all && <p className="section">{agree(all) ? t.compare.agree : t.compare.differ}</p>}</div>
      {progresses.length > 0 && (
        <div className="columns">
          {progresses.map((progress, i) => (
            <Compared key={i} progress={progress} variant={variants[i]} others={answers.filter((each, k): each is Answer => k !== i && each !== null)} />
          ))}
        </div>
      )}
    </>
  );
}

function agree(answers: readonly Answer[]): boolean {
  const [first, ...rest] = answers;
  return Boolean(first) && rest.every((each) => each.answers.length === first?.answers.length && each.answers.every((one) => first.answers.some((other) => same(one, other))));
}

function Compared({ progress, variant, others }: { progress: Progress; variant: Variant | undefined; others: readonly Answer[] }) {
  const { answer } = progress;
  const title = answer?.strategy || variant?.strategy || progress.strategy;
  return (
    <article className="compared" aria-label={title}>
      <h2 className="section-title">{title} {answer && <span className="quiet"><bdi>{answer.model}</bdi></span>}</h2>
      {progress.fault && <Trouble title={t.progress.failed} fault={progress.fault.status === 404 ? new Fault({ kind: "", message: t.compare.gone }, 404) : progress.fault} onRetry={null} />}
      {!answer && !progress.fault && <Streaming progress={progress} />}
      {answer && (
        <>
          <div>
            {answer.answers.length === 0 && <p className="compared-answer">{t.answer.none}</p>}
            {answer.answers.map((each, i) => (
              <p key={i} className="compared-answer"><Doc text={each} most={300} />{" "}
                {others.length > 0 && !others.some((other) => other.answers.some((one) => same(one, each))) && <span className="tag only">{t.compare.onlyHere}</span>}</p>
            ))}
            <p className="quiet">{answer.confidence !== null && `${t.answer.sure}: ${t.percent(answer.confidence)}. `}{t.conflicts[answer.conflict.kind]?.name}</p>
          </div>
          {answer.conflict.positions.length > 0 && <ul className="compared-list">
            {ordered(answer.conflict.positions).map((position, i) => {
              const elsewhere = others.flatMap((other) => other.conflict.positions).filter((each) => same(each.answer, position.answer));
              const differs = others.length > 0 && (!elsewhere.length || elsewhere.some((each) => each.verdict !== position.verdict));
              return (
                <li key={i}>
                  <VerdictMark verdict={position.verdict} size={16} />
                  <div>
                    <p><span className="visually-hidden">{t.verdicts[position.verdict]} </span><b><Doc text={position.answer} most={160} /></b>{" "}
                      {differs && <span className="tag only">{elsewhere.length ? t.compare.otherVerdict : t.compare.onlyHere}</span>}</p>
                    <p className="quiet"><Doc text={t.answer.reason(position)} most={300} /></p>
                  </div>
                </li>
              );
            })}
          </ul>}
          <p className="quiet">{t.cost.call(answer.usage.calls)}, {answer.usage.seconds.toFixed(1)} {t.cost.seconds}</p>
          {progress.id && <p><a href={href("answer", progress.id)}>{t.compare.open}</a></p>}
        </>
      )}
    </article>
  );
}
