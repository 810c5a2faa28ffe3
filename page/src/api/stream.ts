/** Server-sent events over fetch, for a question is sent in a body. */
import { send } from "./client";
import type { Event } from "./types";

export interface Frame {
  number: number;
  event: Event;
}

/** The events of a response, in order, until it ends or `signal` aborts. */
export async function* events(path: string, init: RequestInit): AsyncGenerator<Frame> {
  const headers = { ...(init.headers as Record<string, string>), Accept: "text/event-stream" };
  const response = await send(path, { ...init, headers });
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      buffer += value;
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop() ?? "";
      for (const block of blocks) {
        const frame = parse(block);
        if (frame) yield frame;
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function parse(block: string): Frame | null {
  let number = 0;
  let name = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) number = Number(line.slice(4));
    else if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (!data) return null;
  const fields = JSON.parse(data) as Event;
  return { number, event: { ...fields, event: fields.event ?? name } as Event };
}
