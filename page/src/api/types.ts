/** The nouns of the API by short names; all are made from the server's own description. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Answer = Schemas["Answer"];
export type Passage = Schemas["Passage"];
export type Position = Schemas["Position"];
export type Citation = Schemas["Citation"];
export type Claim = Schemas["Claim"];
export type Reply = Schemas["Reply"];
export type Usage = Schemas["Usage"];
export type Source = Schemas["Source"];
export type Prices = Schemas["PriceTable"];
export type Certificate = Schemas["Certificate"];
export type Strategy = Schemas["Strategy"];
export type Verdict = Position["verdict"];
export type AskBody = Partial<Schemas["AskBody"]> & { question: string };
export type WithoutBody = { sources?: string[]; owners?: string[]; passages?: string[] };

export type Excerpt = Schemas["Excerpt"];

/** The library's typed events, and those that the server adds. */
export type Event =
  | { event: "asked"; id: string; waiting: number; question?: string; note?: string }
  | { event: "queued"; place: number; seconds: number }
  | { event: "started"; question: string; strategy: string; model: string; options: Record<string, unknown> }
  | { event: "found"; query: string; passages: string[]; sources: string[]; elsewhere: boolean }
  | { event: "evidence"; query: string; by: "words" | "encoder"; excerpts: Excerpt[] }
  | {
      event: "read"; role: string; model: string; call: number; calls: number; done: number; passages: string[];
      titles: string[]; usage: Usage; tokens: number; seconds: number; remaining: number | null;
      journalled: boolean; reply: string;
    }
  | { event: "estimate"; role: string; calls: number; seconds: number; remaining: number }
  | {
      event: "sides"; read: number; silent: number;
      sides: { answer: string; votes: number; passages: string[]; sources: string[] }[];
    }
  | {
      event: "side"; answer: string; verdict: Verdict; subject: string; passages: string[]; sources: string[];
      log_odds: number | null; final: boolean;
    }
  | { event: "round"; number: number; converged: boolean }
  | { event: "claim"; claim: Claim }
  | { event: "answer"; answer: Answer }
  | { event: "cost"; usage: Usage }
  | { event: "unkept"; message: string }
  | { event: "fault"; kind: string; message: string };

export type FaultBody = { kind: string; message: string; name?: string | null; nearest?: string | null };
export type SourceRow = Schemas["SourceRow"];
export type SourceRecord = Schemas["SourceRecord"];
export type Agreements = Schemas["Agreements"];
export type Job = Schemas["JobShape"];
export type Documents = Schemas["Documents"];
export type Thread = Schemas["Thread"];
export type ThreadRow = Schemas["ThreadRow"];
export type ThreadTurn = Schemas["ThreadTurn"];
export type SourceAnswer = Schemas["SourceAnswer"];
export type RunRow = Schemas["RunRow"];
export type Conflict = Schemas["Contradiction"];
export type Remedy = NonNullable<Conflict["remedy"]>;
export type Conflicts = Schemas["ConflictsShape"];

export type RefusalCode = Schemas["Refused"]["code"];
