/** Requests to the server's API: JSON in, JSON out, and typed faults. */
import type { FaultBody } from "./types";

/** Why something could not be done. `kind` is the server's, `NO_SERVER` where no reply came, or empty where the page itself says it. */
export class Fault extends Error {
  readonly kind: string;
  readonly status: number;
  readonly nearest: string;

  constructor(body: FaultBody, status: number) {
    super(body.message);
    this.kind = body.kind;
    this.status = status;
    this.nearest = body.nearest ?? "";
  }
}

export const NO_SERVER = "NoServer"; // none of the server's kinds: a model of its own may be `Unreachable`, too

/** What was thrown as a fault; anything but ours comes of a connection that broke. */
export function asFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault({ kind: NO_SERVER, message: "" }, 0);
}

const TOKEN = "disputatio-token";

/** The token that a guarded server asks for, kept for this tab alone. */
export function token(): string {
  return sessionStorage.getItem(TOKEN) ?? "";
}

export function keepToken(value: string): void {
  sessionStorage.setItem(TOKEN, value);
}

/** A reply of any status; raises where none came. */
export async function sendAny(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token()) headers.set("Authorization", `Bearer ${token()}`);
  try {
    return await fetch(`./api${path}`, { ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw asFault(error);
  }
}

/** A reply of success; any other is raised as a fault. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await sendAny(path, init);
  if (!response.ok) throw await faultOf(response);
  return response;
}

async function faultOf(response: Response): Promise<Fault> {
  try {
    const body = (await response.json()) as { error?: FaultBody };
    if (body.error) return new Fault(body.error, response.status);
  } catch {
    // Not ours: a proxy's page, or a reply that broke off.
  }
  return new Fault({ kind: "Http", message: `${response.status} ${response.statusText}` }, response.status);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal })).json()) as T;
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, asJson("POST", body, signal))).json()) as T;
}

export function asJson(method: string, body: unknown, signal?: AbortSignal): RequestInit {
  return { method, signal, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
}
