import { useSyncExternalStore } from "react";

const NARROW = window.matchMedia("(max-width: 63.99rem)");

/** Whether the passage has no room beside the answer. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      NARROW.addEventListener("change", listener);
      return () => NARROW.removeEventListener("change", listener);
    },
    () => NARROW.matches,
  );
}
