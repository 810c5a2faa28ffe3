/** The keys of an answer: quotes by j and k, positions by number, mute and pin. */
import { useEffect } from "react";

import type { Answer } from "../api/types";
import { allPassages } from "../model/evidence";
import type { Steering } from "./steering";

/** Whether a key is meant for a field, or comes with others that are the browser's. */
export function isForPage(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
  const target = event.target;
  if (!(target instanceof HTMLElement)) return true;
  return !target.closest("input, textarea, select, [contenteditable], [role=listbox], [role=menu]");
}

export function useAnswerKeys(answer: Answer, steering: Steering, close: () => void): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (!isForPage(event)) return;
      if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
      else if (/^[1-9]$/.test(event.key)) {
        const column = document.getElementById(`position-${event.key}`);
        column?.scrollIntoView({ block: "start" });
        column?.focus({ preventScroll: true });
      } else if (event.key === "m" || event.key === "p") {
        const passage = allPassages(answer).find((each) => each.id === steering.open?.passage);
        if (passage?.source && steering.steer) steering.toggle(event.key === "m" ? "muted" : "pinned", passage.source);
        else return;
      } else if (event.key === "Escape" && steering.open) close();
      else return;
      event.preventDefault();
    }
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [answer, steering, close]);
}

/** To the next or last quote: it is focused and shown. */
function step(by: 1 | -1): void {
  const quotes = [...document.querySelectorAll<HTMLButtonElement>(".positions .quote")].filter((quote) => quote.checkVisibility());
  const open = quotes.findIndex((quote) => quote.getAttribute("aria-expanded") === "true");
  const at = open < 0 ? (by > 0 ? 0 : quotes.length - 1) : open + by;
  const quote = quotes[Math.min(quotes.length - 1, Math.max(0, at))];
  quote?.focus();
  quote?.click();
}
