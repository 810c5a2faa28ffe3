/** What if some of the evidence were not there: what to leave out, and what changed. */
import type { Answer, Passage, Position, WithoutBody } from "../api/types";
import { allPassages, ownerOf, same } from "./evidence";

/** What is muted does not count; where any source is pinned, only pinned ones count. Documents and passages are ids. */
export interface WhatIf {
  muted: readonly string[];
  owners: readonly string[];
  pinned: readonly string[];
  documents: readonly string[];
  passages: readonly string[];
  after: string;
  before: string;
}

export const AS_IT_WAS: WhatIf = { muted: [], owners: [], pinned: [], documents: [], passages: [], after: "", before: "" };

export function isSet(whatIf: WhatIf): boolean {
  return Object.values(whatIf).some((each: string | readonly string[]) => each.length > 0);
}

/** Whether a passage still counts. Bounds of dates do not leave out one without a date. */
export function isCounted(whatIf: WhatIf, passage: Passage): boolean {
  if (whatIf.muted.includes(passage.source) || whatIf.owners.includes(ownerOf(passage))) return false;
  if (whatIf.passages.includes(passage.id) || whatIf.documents.includes(passage.document)) return false;
  if (whatIf.pinned.length && !whatIf.pinned.includes(passage.source)) return false;
  const day = passage.date;
  if (!day) return true;
  if (whatIf.after && day.slice(0, 10) < whatIf.after.slice(0, day.length)) return false;
  return !(whatIf.before && day.slice(0, 10) > whatIf.before);
}

/** The request body that leaves out passages that do not count; null where all count. */
export function left(whatIf: WhatIf, answer: Answer): WithoutBody | null {
  const passages = allPassages(answer)
    .filter((passage) => !isCounted(whatIf, passage))
    .map((passage) => passage.id);
  return passages.length ? { passages } : null;
}

export function toggled(names: readonly string[], name: string): string[] {
  return names.includes(name) ? names.filter((each) => each !== name) : [...names, name];
}

/** What is different between two answers, as data; the catalogue has the words. */
export type Change =
  | { kind: "same" }
  | { kind: "answer"; was: string[]; now: string[] }
  | { kind: "abstains"; was: string[] }
  | { kind: "answers"; now: string[] }
  | { kind: "sure"; was: number; now: number }
  | { kind: "verdict"; answer: string; was: Position["verdict"]; now: Position["verdict"] }
  | { kind: "gone"; answer: string }
  | { kind: "come"; answer: string }
  | { kind: "conflict"; was: string; now: string };

export function changes(was: Answer, now: Answer): Change[] {
  const made: Change[] = [];
  const sameAnswers =
    was.answers.length === now.answers.length &&
    was.answers.every((each) => now.answers.some((other) => same(each, other)));
  if (!sameAnswers) {
    if (!now.answers.length) made.push({ kind: "abstains", was: was.answers });
    else if (!was.answers.length) made.push({ kind: "answers", now: now.answers });
    else made.push({ kind: "answer", was: was.answers, now: now.answers });
  }
  const left = new Set(now.conflict.positions);
  for (const position of was.conflict.positions) {
    const match = [...left].find((each) => same(each.answer, position.answer));
    if (!match) made.push({ kind: "gone", answer: position.answer });
    else {
      left.delete(match);
      if (match.verdict !== position.verdict)
        made.push({ kind: "verdict", answer: match.answer, was: position.verdict, now: match.verdict });
    }
  }
  for (const position of left) made.push({ kind: "come", answer: position.answer });
  if (was.conflict.kind !== now.conflict.kind)
    made.push({ kind: "conflict", was: was.conflict.kind, now: now.conflict.kind });
  if (
    was.confidence !== null && now.confidence !== null &&
    Math.round(was.confidence * 100) !== Math.round(now.confidence * 100)
  )
    made.push({ kind: "sure", was: was.confidence, now: now.confidence });
  return made.length ? made : [{ kind: "same" }];
}

/** Something that does not count or counts alone, as people name it, and the same without it. */
export interface Setting {
  kind: "muted" | "owners" | "pinned" | "documents" | "passages" | "after" | "before";
  name: string;
  without: WhatIf;
}

export function settings(whatIf: WhatIf, answer: Answer): Setting[] {
  const passages = allPassages(answer);
  const lists = (["muted", "owners", "pinned", "documents", "passages"] as const).flatMap((kind) =>
    whatIf[kind].map((id): Setting => {
      const passage = passages.find((each) => (kind === "passages" ? each.id : each.document) === id);
      const titled = kind === "documents" || kind === "passages" ? passage?.title || passage?.source || id : id;
      return { kind, name: titled, without: { ...whatIf, [kind]: toggled(whatIf[kind], id) } };
    }));
  const days = (["after", "before"] as const).filter((kind) => whatIf[kind])
    .map((kind): Setting => ({ kind, name: whatIf[kind], without: { ...whatIf, [kind]: "" } }));
  return [...lists, ...days];
}

export function toQuery(whatIf: WhatIf): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of whatIf.muted) query.append("mute", name);
  for (const name of whatIf.owners) query.append("owner", name);
  for (const name of whatIf.pinned) query.append("pin", name);
  for (const name of whatIf.documents) query.append("document", name);
  for (const name of whatIf.passages) query.append("passage", name);
  if (whatIf.after) query.set("after", whatIf.after);
  if (whatIf.before) query.set("before", whatIf.before);
  return query;
}

export function fromQuery(query: URLSearchParams): WhatIf {
  return {
    muted: query.getAll("mute"),
    owners: query.getAll("owner"),
    pinned: query.getAll("pin"),
    documents: query.getAll("document"),
    passages: query.getAll("passage"),
    after: query.get("after") ?? "",
    before: query.get("before") ?? "",
  };
}
