/** The content of an answer, arranged for display: positions in order, their passages, copies, rounds. */
import type { Answer, Citation, Passage, Position, Reply, Source } from "../api/types";
import { find, spanOf, type Span } from "./text";

const RANK = { accepted: 0, unresolved: 1, rejected: 2 } as const;

/** Accepted positions first, then by probability and weight. */
export function ordered(positions: readonly Position[]): Position[] {
  return [...positions].sort(
    (a, b) =>
      RANK[a.verdict] - RANK[b.verdict] ||
      (b.probability ?? -1) - (a.probability ?? -1) ||
      b.weight - a.weight,
  );
}

/** A passage that supports a position. `span` is the text that supports it; `citation` is null where the answer does not cite it. */
export interface SupportingPassage {
  passage: Passage;
  source: Source | null;
  citation: Citation | null;
  reply: Reply | null;
  span: Span | null;
}

export function citations(answer: Answer): Citation[] {
  const seen = new Map<string, Citation>();
  for (const claim of answer.claims)
    for (const citation of claim.citations) {
      const key = `${citation.n}:${citation.passage}:${citation.start}:${citation.end}`;
      if (!seen.has(key)) seen.set(key, citation);
    }
  return [...seen.values()];
}

export function supportingPassages(answer: Answer, position: Position): SupportingPassage[] {
  const passages = new Map(answer.passages.map((passage) => [passage.id, passage]));
  const cited = new Map(citations(answer).map((citation) => [citation.passage, citation]));
  return position.passages.flatMap((id) => {
    const passage = passages.get(id);
    if (!passage) return [];
    const citation = (position.verdict !== "rejected" && cited.get(id)) || null;
    const reply = answer.replies.find((each) => each.passages.length === 1 && each.passages[0] === id) ?? null;
    const span =
      (citation && spanOf(passage.text, citation.start, citation.end)) ||
      (reply?.quote ? find(passage.text, reply.quote) : null) ||
      find(passage.text, position.answer);
    return [{ passage, source: sourceOf(answer, passage.source), citation, reply, span }];
  });
}

export function sourceOf(answer: Answer, name: string): Source | null {
  return answer.basis?.sources.find((source) => source.name === name) ?? null;
}

/** Who owns a source: itself where no owner is named. */
export function ownerOf(passage: Passage): string {
  return passage.owner || passage.source;
}

/** Supporting passages that are shown together; those of one bracket have one vote. */
export interface Bracket {
  passages: SupportingPassage[];
  together: boolean;
}

/** Brackets of copies. The answer says how many votes count; owner, group of the source and wording
 *  show which passages share one. Where that gives another number of votes, all passages are under one bracket. */
export function brackets(position: Position, all: readonly SupportingPassage[]): { brackets: Bracket[]; votes: number } {
  const votes = votesOf(position, all.length);
  if (votes >= all.length) return { votes, brackets: all.map((each) => ({ passages: [each], together: false })) };
  if (votes <= 1) return { votes, brackets: [{ passages: [...all], together: true }] };
  const tied = ties(all);
  if (tied.length === votes) {
    return { votes, brackets: tied.map((each) => ({ passages: each, together: each.length > 1 })) };
  }
  return { votes, brackets: [{ passages: [...all], together: true }] };
}

function votesOf(position: Position, passages: number): number {
  const support = position.details["support"] as { groups?: number | null } | undefined;
  return support?.groups ?? passages;
}

function ties(all: readonly SupportingPassage[]): SupportingPassage[][] {
  const groups: SupportingPassage[][] = [];
  for (const each of all) {
    const joined = groups.filter((group) => group.some((other) => tiedTo(each, other)));
    const rest = groups.filter((group) => !joined.includes(group));
    groups.splice(0, groups.length, ...rest, [...joined.flat(), each]);
  }
  return groups;
}

function tiedTo(a: SupportingPassage, b: SupportingPassage): boolean {
  if (ownerOf(a.passage) && ownerOf(a.passage) === ownerOf(b.passage)) return true;
  if (a.source?.group && a.source.group === b.source?.group) return true;
  return resemblance(a.passage.text, b.passage.text) > 0.5;
}

/** The share of the shorter text's runs of five words that the other has too. */
function resemblance(a: string, b: string): number {
  const [few, many] = [runs(a), runs(b)].sort((x, y) => x.size - y.size);
  if (!few || !many || !few.size) return 0;
  let shared = 0;
  for (const run of few) if (many.has(run)) shared++;
  return shared / few.size;
}

function runs(text: string): Set<string> {
  const words = text.slice(0, 20_000).toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.slice(0, Math.max(0, words.length - 4)).map((_, i) => words.slice(i, i + 5).join(" ")));
}

/** The reply of one agent in one round. `change` compares it with the reply before. */
export interface RoundReply {
  round: number;
  reply: Reply;
  change: "first" | "kept" | "yielded" | "joined" | "none" | "fault";
  span: Span | null;
}

export interface Agent {
  passages: Passage[];
  replies: RoundReply[];
}

/** The debate: one row for each agent, with its reply of every round. */
export function debate(answer: Answer): { rounds: number[]; agents: Agent[] } {
  const passages = new Map(answer.passages.map((passage) => [passage.id, passage]));
  const agents = new Map<string, Agent>();
  const rounds = new Set<number>();
  const replies = [...answer.replies].sort((a, b) => a.round - b.round);
  for (const reply of replies) {
    const key = reply.passages.join(" ");
    const given = reply.passages.flatMap((id) => passages.get(id) ?? []);
    if (!given.length) continue;
    const agent = agents.get(key) ?? { passages: given, replies: [] };
    const last = agent.replies.at(-1);
    const only = given.length === 1 ? given[0] : undefined;
    rounds.add(reply.round);
    agent.replies.push({
      round: reply.round,
      reply,
      change: changeOf(reply, last?.reply),
      span: only && reply.quote ? find(only.text, reply.quote) : null,
    });
    agents.set(key, agent);
  }
  return { rounds: [...rounds].sort((a, b) => a - b), agents: [...agents.values()] };
}

function changeOf(reply: Reply, last: Reply | undefined): RoundReply["change"] {
  if (reply.fault) return "fault";
  if (!reply.answer) return last?.answer ? "yielded" : "none";
  if (!last) return "first";
  if (!last.answer) return "joined";
  return same(last.answer, reply.answer) ? "kept" : "yielded";
}

export function same(a: string, b: string): boolean {
  return a.normalize("NFKC").trim().toLowerCase() === b.normalize("NFKC").trim().toLowerCase();
}

/** The searches of an answer, and the passages that gave no answer. */
export interface LookedFor {
  searches: { query: string; found: number; elsewhere: boolean }[];
  /** Read, without an answer to the question. */
  unanswered: Passage[];
  /** Read, and the reply could not be used. */
  faulty: Passage[];
  /** Found, and not read. */
  unread: Passage[];
}

export function lookedFor(answer: Answer): LookedFor {
  const passages = new Map(answer.passages.map((passage) => [passage.id, passage]));
  const supporting = new Set(answer.conflict.positions.flatMap((position) => position.passages));
  const unanswered: Passage[] = [];
  const faulty: Passage[] = [];
  for (const { passages: [passage], replies } of debate(answer).agents) {
    const last = replies.at(-1);
    if (!passage || !last || supporting.has(passage.id)) continue;
    if (last.reply.fault) faulty.push(passage);
    else if (!last.reply.answer) unanswered.push(passage);
  }
  const searches = (answer.basis?.searches ?? []).map((search) => ({
    query: search.query,
    found: search.hits.length,
    elsewhere: search.elsewhere,
  }));
  const unread = (answer.basis?.passages ?? []).filter((passage) => !passages.has(passage.id));
  return { searches, unanswered, faulty, unread };
}

/** All passages of an answer, read or not. */
export function allPassages(answer: Answer): Passage[] {
  const seen = new Set<string>();
  return [...answer.passages, ...(answer.basis?.passages ?? [])].filter(
    (passage) => !seen.has(passage.id) && seen.add(passage.id),
  );
}
