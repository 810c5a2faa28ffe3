/** What an answer holds, arranged for the eye: positions in order, witnesses, copies, rounds. */
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

/** A passage that speaks for a position. `span` is what it says there; `citation` where the answer cites it. */
export interface Witness {
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

export function witnesses(answer: Answer, position: Position): Witness[] {
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

/** Witnesses that stand together; those of one bracket have one vote. */
export interface Bracket {
  witnesses: Witness[];
  together: boolean;
}

/** Brackets of copies. The answer says how many votes count; which passages those are, their owner, their
 *  source's group and their wording tell. Where that gives another number, all stand under one bracket. */
export function brackets(position: Position, all: readonly Witness[]): { brackets: Bracket[]; votes: number } {
  const votes = votesOf(position, all.length);
  if (votes >= all.length) return { votes, brackets: all.map((each) => ({ witnesses: [each], together: false })) };
  if (votes <= 1) return { votes, brackets: [{ witnesses: [...all], together: true }] };
  const tied = ties(all);
  if (tied.length === votes) {
    return { votes, brackets: tied.map((each) => ({ witnesses: each, together: each.length > 1 })) };
  }
  return { votes, brackets: [{ witnesses: [...all], together: true }] };
}

function votesOf(position: Position, passages: number): number {
  const support = position.details["support"] as { groups?: number | null } | undefined;
  return support?.groups ?? passages;
}

function ties(all: readonly Witness[]): Witness[][] {
  const groups: Witness[][] = [];
  for (const each of all) {
    const joined = groups.filter((group) => group.some((other) => tiedTo(each, other)));
    const rest = groups.filter((group) => !joined.includes(group));
    groups.splice(0, groups.length, ...rest, [...joined.flat(), each]);
  }
  return groups;
}

function tiedTo(a: Witness, b: Witness): boolean {
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

/** What one witness said in one round. `change` compares with its last word. */
export interface Word {
  round: number;
  reply: Reply;
  change: "first" | "kept" | "yielded" | "joined" | "silent" | "fault";
  span: Span | null;
}

export interface Speaker {
  passages: Passage[];
  words: Word[];
}

/** The debate: one line a speaker, with its word of every round. */
export function debate(answer: Answer): { rounds: number[]; speakers: Speaker[] } {
  const passages = new Map(answer.passages.map((passage) => [passage.id, passage]));
  const speakers = new Map<string, Speaker>();
  const rounds = new Set<number>();
  const replies = [...answer.replies].sort((a, b) => a.round - b.round);
  for (const reply of replies) {
    const key = reply.passages.join(" ");
    const heard = reply.passages.flatMap((id) => passages.get(id) ?? []);
    if (!heard.length) continue;
    const speaker = speakers.get(key) ?? { passages: heard, words: [] };
    const last = speaker.words.at(-1);
    const only = heard.length === 1 ? heard[0] : undefined;
    rounds.add(reply.round);
    speaker.words.push({
      round: reply.round,
      reply,
      change: changeOf(reply, last?.reply),
      span: only && reply.quote ? find(only.text, reply.quote) : null,
    });
    speakers.set(key, speaker);
  }
  return { rounds: [...rounds].sort((a, b) => a - b), speakers: [...speakers.values()] };
}

function changeOf(reply: Reply, last: Reply | undefined): Word["change"] {
  if (reply.fault) return "fault";
  if (!reply.answer) return last?.answer ? "yielded" : "silent";
  if (!last) return "first";
  if (!last.answer) return "joined";
  return same(last.answer, reply.answer) ? "kept" : "yielded";
}

export function same(a: string, b: string): boolean {
  return a.normalize("NFKC").trim().toLowerCase() === b.normalize("NFKC").trim().toLowerCase();
}

/** What was looked for, and what came of it. */
export interface LookedFor {
  searches: { query: string; found: number; elsewhere: boolean }[];
  /** Read, and says nothing to the question. */
  silent: Passage[];
  /** Read, and the reply could not be used. */
  faulty: Passage[];
  /** Found, and not read. */
  unread: Passage[];
}

export function lookedFor(answer: Answer): LookedFor {
  const passages = new Map(answer.passages.map((passage) => [passage.id, passage]));
  const speaking = new Set(answer.conflict.positions.flatMap((position) => position.passages));
  const silent: Passage[] = [];
  const faulty: Passage[] = [];
  for (const { passages: [passage], words } of debate(answer).speakers) {
    const last = words.at(-1);
    if (!passage || !last || speaking.has(passage.id)) continue;
    if (last.reply.fault) faulty.push(passage);
    else if (!last.reply.answer) silent.push(passage);
  }
  const searches = (answer.basis?.searches ?? []).map((search) => ({
    query: search.query,
    found: search.hits.length,
    elsewhere: search.elsewhere,
  }));
  const unread = (answer.basis?.passages ?? []).filter((passage) => !passages.has(passage.id));
  return { searches, silent, faulty, unread };
}

/** All passages of an answer, read or not. */
export function heard(answer: Answer): Passage[] {
  const seen = new Set<string>();
  return [...answer.passages, ...(answer.basis?.passages ?? [])].filter(
    (passage) => !seen.has(passage.id) && seen.add(passage.id),
  );
}
