/** Lists that the server gives a page at a time. */
import { get } from "./client";
import type { Conflicts, Documents } from "./types";

export const MOST_DOCUMENTS = 5000;
const AT_ONCE = 1000;

/** All documents, up to a number that a browser sorts at once. */
export async function allDocuments(signal?: AbortSignal): Promise<Documents> {
  const first = await get<Documents>(`/documents?limit=${AT_ONCE}`, signal);
  for (let at = AT_ONCE; at < Math.min(first.total, MOST_DOCUMENTS); at += AT_ONCE) {
    const next = await get<Documents>(`/documents?limit=${AT_ONCE}&offset=${at}`, signal);
    first.documents.push(...next.documents);
  }
  return first;
}

const MOST_CONFLICTS = 2000;
const CONFLICTS_AT_ONCE = 500;

/** All contradictions of every severity, the gravest first, up to a number. */
export async function allConflicts(signal?: AbortSignal): Promise<Conflicts> {
  const first = await get<Conflicts>(`/conflicts?severity=low&limit=${CONFLICTS_AT_ONCE}`, signal);
  for (let at = CONFLICTS_AT_ONCE; at < Math.min(first.total, MOST_CONFLICTS); at += CONFLICTS_AT_ONCE) {
    const next = await get<Conflicts>(`/conflicts?severity=low&limit=${CONFLICTS_AT_ONCE}&offset=${at}`, signal);
    first.contradictions.push(...next.contradictions);
    Object.assign(first.decisions, next.decisions);
  }
  return first;
}
