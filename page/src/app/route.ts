/** Where we are: the part of the address behind `#`, which no server sees. */
import { useSyncExternalStore } from "react";

export interface Route {
  screen: string;
  /** What follows the screen, such as an answer's id. */
  name: string;
  query: URLSearchParams;
}

function read(): string {
  return window.location.hash.replace(/^#\/?/, "");
}

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.split("?", 2);
  const [screen = "", name = ""] = path.split("/", 2);
  let decoded = name;
  try {
    decoded = decodeURIComponent(name);
  } catch {
    // A broken address is shown as it is.
  }
  return { screen, name: decoded, query: new URLSearchParams(query) };
}

export function href(screen: string, name = "", query?: URLSearchParams): string {
  const text = query?.toString();
  return `#/${screen}${name ? `/${encodeURIComponent(name)}` : ""}${text ? `?${text}` : ""}`;
}

/** The address of a place in a document, which can be kept and shared. */
export function placeHref(document: string, start: number, end: number): string {
  return href("documents", document, new URLSearchParams({ start: String(start), end: String(end) }));
}

export function go(to: string, { replace = false } = {}): void {
  if (replace) {
    window.history.replaceState(null, "", to);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else window.location.hash = to.replace(/^#/, "");
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

export function useRoute(): Route {
  return parse(useSyncExternalStore(subscribe, read));
}
