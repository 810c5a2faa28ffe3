import { useSyncExternalStore } from "react";

const NARROW = window.matchMedia("(max-width: 63.99rem)");
const PHONE = window.matchMedia("(max-width: 40rem)");

function useMatch(query: MediaQueryList): boolean {
  return useSyncExternalStore(
    (listener) => {
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => query.matches,
  );
}

/** Whether the passage has no room beside the answer. */
export function useNarrow(): boolean {
  return useMatch(NARROW);
}

export function usePhone(): boolean {
  return useMatch(PHONE);
}
