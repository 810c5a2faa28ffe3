/** Questions under way, outside of React: a view may come and go while its question goes on. */
import { useSyncExternalStore } from "react";

import { asFault, asJson, Fault, get, send, NO_SERVER } from "../api/client";
import { events } from "../api/stream";
import type { Answer, AskBody, Event, Excerpt, Usage } from "../api/types";

export type SideEvent = Extract<Event, { event: "side" }>;
export type SidesEvent = Extract<Event, { event: "sides" }>;
export type ReadEvent = Extract<Event, { event: "read" }>;
export type FoundEvent = Extract<Event, { event: "found" }>;

export interface Progress {
  /** The server's id, empty until it is known. */
  id: string;
  question: string;
  /** What was written, where the question says it so that it stands alone. */
  asked: string;
  /** The answer that it follows up, empty for the first of a conversation; null where that is not known. */
  follows: string | null;
  /** Why a follow-up could not be made to stand alone. */
  note: string;
  /** Its place in the queue, 1 for the next and 0 for its turn, and the seconds that this may take. */
  place: number;
  wait: number;
  /** The seconds that it may still take, as last estimated. */
  left: number | null;
  /** When it was put. */
  since: number;
  state: "waiting" | "running" | "answered" | "failed" | "stopped";
  strategy: string;
  model: string;
  found: readonly FoundEvent[];
  /** The best sentence of the best passages, by passage. */
  excerpts: readonly Excerpt[];
  reads: readonly ReadEvent[];
  /** The answers with their votes after the last reading, before they are weighed. */
  votes: SidesEvent | null;
  sides: readonly SideEvent[];
  rounds: number;
  usage: Usage | null;
  answer: Answer | null;
  fault: Fault | null;
}

const NOTHING: Progress = {
  id: "", question: "", asked: "", follows: null, note: "", place: 0, wait: 0, left: null, since: 0, state: "waiting", strategy: "", model: "", found: [], excerpts: [], reads: [], votes: null, sides: [],
  rounds: 0, usage: null, answer: null, fault: null,
};

/** One question: what has come so far, and the means to stop it. */
export class Asking {
  private progress: Progress;
  private readonly listeners = new Set<() => void>();
  private readonly leave = new AbortController();
  private told = false;

  private constructor(known: Partial<Progress>) {
    this.progress = { ...NOTHING, since: Date.now(), ...known };
  }

  /** Put a question once it is `completed`. `onId` is called once, when the server has named it. */
  static ask(body: AskBody, onId: (id: string) => void, completed = (given: AskBody) => Promise.resolve(given)): Asking {
    const asking = new Asking({ question: body.question, asked: body.question, follows: body.follows ?? null });
    void asking.run(async () => asking.listen("/ask", asJson("POST", await completed(body), asking.leave.signal), onId));
    return asking;
  }

  /** Follow a question that is under way, from its beginning; one that has ended has its answer kept. */
  static follow(id: string): Asking {
    const asking = new Asking({ id });
    const path = `/ask/${encodeURIComponent(id)}`;
    void asking.run(async () => {
      try {
        await asking.listen(path, { signal: asking.leave.signal }, () => undefined);
      } catch (error) {
        if (!(error instanceof Fault && error.status === 404)) throw error;
        await asking.recall();
      }
    });
    return asking;
  }

  readonly current = (): Progress => this.progress;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** End the question and its model calls; what was read so far stays. */
  readonly stop = async (): Promise<void> => {
    const { id, state } = this.progress;
    if (state !== "waiting" && state !== "running") return;
    if (!id) this.end({ state: "stopped" });
    else {
      try {
        await send(`/ask/${encodeURIComponent(id)}`, { method: "DELETE" });
      } catch {
        // It ended by itself, or the server is gone; either way nothing goes on for us.
      }
      this.end({ state: "stopped" });
    }
  };

  /** Have it answered from what was read by now. */
  readonly finish = async (): Promise<void> => {
    try {
      await send(`/ask/${encodeURIComponent(this.progress.id)}/finish`, { method: "POST" });
    } catch {
      // It has ended, or cannot answer from a part.
    }
  };

  /** Stop listening; other followers of the question go on. */
  readonly abandon = (): void => this.leave.abort();

  /** The answer as it was kept. */
  private async recall(): Promise<void> {
    const answer = await get<Answer>(`/answers/${encodeURIComponent(this.progress.id)}`, this.leave.signal);
    const { question, strategy, model, usage } = answer;
    this.end({ state: "answered", answer, question, strategy, model, usage });
  }

  private async listen(path: string, init: RequestInit, onId: (id: string) => void): Promise<void> {
    for await (const { event } of events(path, init)) {
      if (event.event === "asked") {
        const { id, question = this.progress.question, note = "" } = event;
        this.change({ id, question, note });
        onId(event.id);
      } else this.change(after(this.progress, event));
    }
    if (this.going()) throw new Fault({ kind: NO_SERVER, message: "" }, 0);
  }

  /** Do some work to its end; whatever goes wrong is the end of the question. */
  private async run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.going() || (error instanceof DOMException && error.name === "AbortError")) return;
      this.end({ state: "failed", fault: asFault(error) });
    }
  }

  private going(): boolean {
    return this.progress.state === "waiting" || this.progress.state === "running";
  }

  private end(changes: Partial<Progress>): void {
    this.change(changes);
    this.leave.abort();
  }

  /** Events of one frame are drawn once; a page that is not shown has no frames, and is told all the same. */
  private change(changes: Partial<Progress>): void {
    this.progress = { ...this.progress, ...changes };
    if (this.told) return;
    this.told = true;
    const tell = (): void => {
      this.told = false;
      for (const listener of [...this.listeners]) listener();
    };
    if (document.hidden) setTimeout(tell, 16);
    else requestAnimationFrame(tell);
  }
}

function after(progress: Progress, event: Event): Partial<Progress> {
  switch (event.event) {
    case "queued":
      return { place: event.place, wait: event.seconds };
    case "evidence":
      return { state: "running", excerpts: event.excerpts };
    case "started":
      // A strategy that asks in parts starts more than once; the first has the whole question.
      return progress.strategy
        ? { state: "running" }
        : { state: "running", question: event.question, strategy: event.strategy, model: event.model };
    case "found":
      return { state: "running", found: [...progress.found, event] };
    case "read":
      return { reads: [...progress.reads, event], left: event.remaining };
    case "estimate":
      return { left: event.remaining };
    case "sides":
      return { votes: event };
    case "side":
      return { sides: placed(progress.sides, event) };
    case "round":
      return { rounds: Math.max(progress.rounds, event.number) };
    case "answer":
      return { answer: event.answer, question: event.answer.question };
    case "cost":
      return { usage: event.usage, state: "answered" };
    case "fault":
      return event.kind === "Cancelled"
        ? { state: "stopped" }
        : { state: "failed", fault: new Fault(event, 502) };
    default:
      return {};
  }
}

/** Put a side that comes again in its old place. */
function placed(sides: readonly SideEvent[], side: SideEvent): readonly SideEvent[] {
  const at = sides.findIndex((each) => each.answer === side.answer && overlaps(each.passages, side.passages));
  if (at < 0) return [...sides, side];
  const log_odds = side.log_odds ?? sides[at]?.log_odds ?? null;
  return sides.map((each, i) => (i === at ? { ...side, log_odds } : each));
}

function overlaps(some: readonly string[], others: readonly string[]): boolean {
  return !some.length || !others.length || some.some((id) => others.includes(id));
}

const IDLE = { subscribe: () => () => undefined, current: () => NOTHING };

/** What has come of a question, as it comes. */
export function useProgress(asking: Asking | null): Progress {
  const source = asking ?? IDLE;
  return useSyncExternalStore(source.subscribe, source.current);
}
