/** The questions that were last asked in this browser, by the ids of their answers. */
const KEY = "disputatio-asked";
const MOST = 8;

export interface Asked {
  id: string;
  question: string;
}

export function recent(): Asked[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isAsked).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function remember(asked: Asked): void {
  const others = recent().filter(({ question }) => question !== asked.question);
  try {
    localStorage.setItem(KEY, JSON.stringify([{ ...asked, question: asked.question.slice(0, 300) }, ...others].slice(0, MOST)));
  } catch {
    // No room or not allowed: then nothing is remembered.
  }
}

function isAsked(value: unknown): value is Asked {
  const asked = value as Partial<Asked> | null;
  return typeof asked?.id === "string" && typeof asked.question === "string";
}
