/** The state of the server: whether it is ready, its models, its index, and what it allows. */
import { useQuery } from "@tanstack/react-query";

import { Fault, sendAny } from "../api/client";
import type { components } from "../api/schema";
import type { FaultBody } from "../api/types";

type Ready = components["schemas"]["Ready"];

export interface Server {
  state: "loading" | "ready" | "down" | "token";
  /** Why nothing can be asked, in the server's words. */
  why: string;
  models: readonly string[];
  strategy: string;
  /** The index in figures; null until they are known. */
  index: Ready["index"] | null;
  writing: boolean;
  notice: Ready["notice"];
  /** What models cost, where that is known and one model plays every part. */
  prices: Ready["prices"];
}

/** A server that is not ready says so with a status of fault, and the same body. */
async function ready(signal: AbortSignal): Promise<Ready> {
  const response = await sendAny("/ready", { signal });
  if (response.ok || response.status === 503) {
    const body = (await response.json()) as Partial<Ready> & { error?: FaultBody };
    if (typeof body.ready === "boolean") return body as Ready;
    if (body.error) throw new Fault(body.error, response.status);
  }
  throw new Fault({ kind: "Http", message: `${response.status}` }, response.status);
}

export function useServer(): Server {
  const query = useQuery({
    queryKey: ["ready"],
    queryFn: ({ signal }) => ready(signal),
    refetchInterval: ({ state }) => (state.error || state.data?.ready === false || state.data?.notice ? 2_000 : 15_000),
    retry: false,
  });
  const error = query.error instanceof Fault ? query.error : null;
  const data = query.data;
  return {
    state: error?.status === 401 ? "token" : error?.status === 0 ? "down" : data ? "ready" : "loading",
    why: data?.why ?? "",
    models: data?.models ?? [],
    strategy: data?.strategy ?? "",
    index: data?.index ?? null,
    writing: data?.writing ?? false,
    notice: data?.notice ?? null,
    prices: data?.prices ?? null,
  };
}
