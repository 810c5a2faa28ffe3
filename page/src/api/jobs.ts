/** Work that takes longer than a request: how far it is, and its end. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { Fault, get, send } from "./client";
import type { FaultBody, Job } from "./types";

/** Why a job failed; null where it did not. */
export function faultOf({ error }: Job): Fault | null {
  return error && new Fault(error as unknown as FaultBody, 0);
}

export function useJob(id: string, onEnd: (job: Job) => void): { job: Job | null; stop: () => Promise<void> } {
  const query = useQuery({
    queryKey: ["job", id],
    queryFn: ({ signal }) => get<Job>(`/jobs/${encodeURIComponent(id)}`, signal),
    enabled: Boolean(id),
    refetchInterval: ({ state }) => (state.data && state.data.state !== "running" ? false : 400),
  });
  const job = query.data ?? null;
  const reported = useRef("");
  useEffect(() => {
    if (job && job.state !== "running" && reported.current !== job.id) {
      reported.current = job.id;
      onEnd(job);
    }
  }, [job, onEnd]);
  return {
    job,
    stop: async () => {
      await send(`/jobs/${encodeURIComponent(id)}`, { method: "DELETE" });
      await query.refetch();
    },
  };
}
