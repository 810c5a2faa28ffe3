/** Ask a question, and see the answer come. An answer's address can be kept, reloaded and shared. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useRef, useState } from "react";

import { Fault, get } from "../api/client";
import type { AskBody, Passage, Strategy, Thread } from "../api/types";
import { useServer } from "../app/server";
import { go, href, useRoute } from "../app/route";
import { fromQuery, toQuery } from "../model/whatif";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Trouble } from "../ui/Trouble";
import { Asking, useProgress } from "./asking";
import { After, Before, FollowUp } from "./Conversation";
import { QuestionBar, type Settings } from "./QuestionBar";
import { Start } from "./Start";
import { Streaming } from "./Streaming";

const loadAnswer = () => import("../answer/AnswerView"); // begun when a question is put
const AnswerView = lazy(() => loadAnswer().then((module) => ({ default: module.AnswerView })));
const PARTIAL = "disputation"; // the strategy that can answer from a part
const DAY = 86_400; // seconds: a time that is moved to now when the asker has waited enough

/** Questions of this tab by their id: to come back to one finds it as it is. */
const KNOWN = new Map<string, Asking>();

const defaultOf = (strategies?: readonly Strategy[]): string => strategies?.find((each) => each.default)?.name ?? "";

export function AskScreen() {
  const route = useRoute();
  const id = route.screen === "answer" ? route.name : "";
  const server = useServer();
  const strategies = useQuery({
    queryKey: ["strategies"], queryFn: ({ signal }) => get<Strategy[]>("/strategies", signal), staleTime: Infinity,
  });
  const [question, setQuestion] = useState("");
  const [settings, setSettings] = useState<Settings>({ strategy: "", model: "", expect: "auto", calls: "" });
  const [asking, setAsking] = useState<Asking | null>(null);
  const progress = useProgress(asking);
  const followed = useRef("");

  const defaultStrategy = defaultOf(strategies.data);
  const models = server.models;
  const offered: Settings = {
    ...settings, strategy: settings.strategy || defaultStrategy, model: settings.model || (models[0] ?? ""),
  };

  // The address has changed: to an answer of this tab, to one that the server has, or to none.
  useEffect(() => {
    if (followed.current === id) return;
    followed.current = id;
    if (!id) { setAsking(null); setQuestion(""); return; }
    const known = KNOWN.get(id) ?? Asking.follow(id);
    KNOWN.set(id, known);
    setAsking(known);
  }, [id]);

  useEffect(() => { if (asking) void loadAnswer(); }, [asking]);

  const gone = progress.fault?.status === 404;
  const answer = progress.answer;
  const parent = progress.follows ?? "";
  const kept = answer ? id : parent; // its own conversation once it is kept, that of the answer before it until then
  const thread = useQuery({
    queryKey: ["thread", kept], enabled: Boolean(kept), retry: false,
    queryFn: ({ signal }) => get<Thread>(`/threads/${encodeURIComponent(kept)}`, signal),
  });
  const turns = thread.data?.turns ?? [];
  const turn = turns.find((each) => each.id === id);
  const follows = turn?.follows ?? parent;
  const meant = progress.question || answer?.question || "";
  const asked = turn?.asked || progress.asked || meant;
  useEffect(() => { if (asked) setQuestion(asked); }, [asked]);
  useEffect(() => { document.title = asked ? `${asked.slice(0, 80)} · ${t.name}` : t.name; }, [asked]);

  /** The question with a time that can end early, also where it is put before the strategies are known. */
  async function bounded(body: AskBody): Promise<AskBody> {
    const strategy = body.strategy || defaultStrategy || defaultOf((await strategies.refetch({ cancelRefetch: false })).data);
    return strategy === PARTIAL ? { ...body, within: DAY } : body;
  }

  function ask(body: AskBody, passages?: Passage[]): void {
    if (settings.strategy) body.strategy = settings.strategy;
    if (settings.model) body.model = settings.model;
    if (settings.expect !== "auto") body.expect = settings.expect;
    if (Number(settings.calls) > 0) body.calls = Math.floor(Number(settings.calls));
    if (passages) {
      body.passages = passages.map(({ text, id: name, source, title, url, date, owner }) => (
        { text, id: name, source, title, url, date, owner }));
      if (answer && !settings.strategy) body.strategy = answer.strategy;
    }
    const made = Asking.ask(body, (name) => {
      KNOWN.set(name, made);
      followed.current = name;
      go(href("answer", name));
    }, bounded);
    setAsking(made);
  }

  const busy = Boolean(asking) && (progress.state === "waiting" || progress.state === "running");
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      const inside = event.target instanceof Element && event.target.closest("[role=listbox], [role=menu], [role=dialog]");
      if (event.key === "Escape" && busy && !event.defaultPrevented && !inside) void asking?.stop();
    }
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [asking, busy]);

  const fault = progress.state === "failed" && !answer ? progress.fault : null;
  return (
    <div className="ask-screen">
      <h1 className="visually-hidden">{t.ask.title}</h1>
      <Before turns={turns} follows={follows} />
      <QuestionBar
        question={question} settings={offered} offer={{ strategies: strategies.data ?? [], models, index: server.index?.documents ? t.documents.count(server.index.documents) : t.ask.noIndex }}
        busy={busy} onQuestion={setQuestion} onSettings={setSettings} onAsk={() => ask({ question: question.trim(), follows })} onStop={() => void asking?.stop()}
      />
      {!asking && <Start onQuestion={(text) => { setQuestion(text); document.getElementById("question")?.focus(); }} />}
      {asking && meant !== asked && <p className="hint understood">{t.talk.understood} <Doc text={meant} most={400} /></p>}
      {progress.note && <p className="hint understood"><Doc text={progress.note} most={400} /></p>}
      {asking && !answer && !fault && <Streaming progress={progress} onFinish={busy ? () => void asking.finish() : undefined} />}
      {fault && (
        <Trouble
          title={t.progress.failed}
          fault={gone ? new Fault({ kind: "", message: t.progress.interrupted }, 404) : fault}
          onRetry={question.trim() ? () => ask({ question: question.trim(), follows }) : null}
        />
      )}
      {answer && (
        <Suspense fallback={<Streaming progress={progress} />}><AnswerView
          key={id} answer={answer} id={id} whatIf={fromQuery(route.query)}
          onWhatIf={(whatIf) => go(href("answer", id, toQuery(whatIf)), { replace: true })}
          onAskAgain={(passages) => ask({ question: meant, follows }, passages)}
          talk={<FollowUp answer={answer} canEach={answer.strategy === defaultStrategy}
            onAsk={(more) => ask({ follows: turn ? id : "", ...more })} />}
        /></Suspense>
      )}
      {answer && <After turns={turns} id={id} />}
    </div>
  );
}
