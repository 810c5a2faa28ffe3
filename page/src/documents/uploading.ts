/** The upload under way: files in batches, each with its state; it goes on while other screens are shown. */
import { useSyncExternalStore } from "react";

import { asFault, Fault, get, send } from "../api/client";
import { faultOf } from "../api/jobs";
import type { Job } from "../api/types";
import { t } from "../texts";
import type { Why } from "./Refusal";

export interface Item {
  path: string;
  name: string;
  file: File;
  state: keyof typeof t.documents.upload.states;
  /** Why it was not read: refused by the server, or a fault. */
  why: Why | Fault | null;
}

export interface Upload {
  items: readonly Item[];
  running: boolean;
  counts: { added: number; replaced: number; unchanged: number };
  fault: Fault | null;
}

const NONE: Upload = { items: [], running: false, counts: { added: 0, replaced: 0, unchanged: 0 }, fault: null };
const FILES = 25; // of a batch
const BYTES = 32e6;
const LARGEST = 60e6; // of one file
const PAUSE = 300;

let now: Upload = NONE;
let stopped = false;
const listeners = new Set<() => void>();

function set(change: Partial<Upload>): void {
  now = { ...now, ...change };
  for (const listener of listeners) listener();
}

export function useUpload(): Upload {
  return useSyncExternalStore(
    (listener) => { listeners.add(listener); return () => listeners.delete(listener); },
    () => now,
  );
}

export function clearUpload(): void {
  if (!now.running) set(NONE);
}

/** End the upload after the batch that is under way. */
export function stopUpload(): void {
  stopped = true;
}

/** Put files in, each named by its path below what was dropped; resolves when all are done. */
export async function upload(files: readonly { path: string; file: File }[], onBatch: () => void): Promise<void> {
  const fresh = named(files.filter(({ path }) => !/(^|\/)(\.|~\$)/.test(path)));
  const items = now.running ? [...now.items, ...fresh] : fresh;
  set(now.running ? { items } : { ...NONE, items });
  if (now.running || !fresh.length) return;
  stopped = false;
  set({ running: true });
  try {
    for (let batch = next(); batch.length && !stopped; batch = next()) {
      await put(batch);
      onBatch();
    }
  } finally {
    set({ running: false });
  }
}

/** Files of equal names in different folders get that of their folder before their own, so that none replaces another. */
function named(files: readonly { path: string; file: File }[]): Item[] {
  const seen = new Map<string, number>();
  for (const { path } of files) seen.set(last(path), (seen.get(last(path)) ?? 0) + 1);
  return files.map(({ path, file }) => ({
    path, file, why: file.size > LARGEST ? new Fault({ kind: "", message: t.documents.upload.tooLarge }, 0) : null,
    state: file.size > LARGEST ? "refused" : "waiting",
    name: (seen.get(last(path)) ?? 0) > 1 ? path.split("/").slice(-3).join(" - ") : path.split("/").at(-1) ?? path,
  }));
}

function last(path: string): string {
  return (path.split("/").at(-1) ?? path).toLowerCase();
}

function next(): Item[] {
  const batch: Item[] = [];
  let bytes = 0;
  for (const item of now.items) {
    if (item.state !== "waiting") continue;
    bytes += item.file.size;
    if (batch.length && (batch.length >= FILES || bytes > BYTES)) break;
    batch.push(item);
  }
  return batch;
}

function mark(items: readonly Item[], state: Item["state"], why: (item: Item) => Item["why"] = () => null): void {
  const chosen = new Set(items.map((item) => item.path));
  set({ items: now.items.map((item) => (chosen.has(item.path) && item.state !== "refused" ? { ...item, state, why: why(item) } : item)) });
}

async function put(batch: readonly Item[]): Promise<void> {
  mark(batch, "sending");
  const form = new FormData();
  for (const item of batch) form.append("files", item.file, item.name);
  try {
    let job = await posted(form);
    mark(batch, "reading");
    while (job.state === "running") {
      await pause(PAUSE);
      job = await get<Job>(`/jobs/${encodeURIComponent(job.id)}`);
      mark(batch.slice(0, job.done), "read");
    }
    if (job.state !== "done") {
      mark(batch, "failed", () => faultOf(job));
      return;
    }
    const result = job.result as unknown as Result;
    const reasons = new Map<string, Why>();
    for (const { path, reason, code, data } of result.refused) {
      const at = result.files.findIndex((name) => path === name || path.startsWith(`${name}:`) || path.startsWith(`${name}/`));
      const item = batch[at];
      if (item && !reasons.has(item.path)) reasons.set(item.path, { reason, code, data });
    }
    mark(batch.filter((item) => !reasons.has(item.path)), "read");
    mark(batch.filter((item) => reasons.has(item.path)), "refused", (item) => reasons.get(item.path) ?? null);
    const { counts } = now;
    set({ counts: {
      added: counts.added + result.added, replaced: counts.replaced + result.replaced, unchanged: counts.unchanged + result.unchanged,
    } });
  } catch (error) {
    const fault = asFault(error);
    mark(batch, "failed", () => fault);
    if ([0, 401, 403, 507].includes(fault.status)) {
      stopped = true;
      set({ fault });
    }
  }
}

interface Result {
  files: string[];
  refused: (Why & { path: string })[];
  added: number;
  replaced: number;
  unchanged: number;
}

/** The job of a batch; waits while another upload is being read. */
async function posted(form: FormData): Promise<Job> {
  for (;;) {
    try {
      return (await (await send("/ingest", { method: "POST", body: form })).json()) as Job;
    } catch (error) {
      if (!(error instanceof Fault) || (error.status !== 409 && error.status !== 429) || stopped) throw error;
      await pause(3 * PAUSE);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
