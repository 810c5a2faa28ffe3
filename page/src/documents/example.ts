/** A small town whose sources disagree, to try the page with: the files of `examples/`, put in as any upload. */
import { send } from "../api/client";
import type { Job } from "../api/types";

const FILES = import.meta.glob<string>("../../../examples/disagreement/sources/**/*", {
  query: "?raw", import: "default", eager: true,
});

/** Put the example into the index; the job that reads it. */
export async function openExample(): Promise<Job> {
  const form = new FormData();
  for (const [path, text] of Object.entries(FILES)) {
    form.append("files", new File([text], path.split("/").at(-1) ?? path));
  }
  return (await (await send("/ingest", { method: "POST", body: form })).json()) as Job;
}
