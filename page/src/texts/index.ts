/** What the page says, in the language of the browser or the one that was chosen. A table a language, each of one shape. */
import { de } from "./de";
import { en } from "./en";

export type Texts = typeof en;

/** A table of which parts may be missing. */
export type Part<T = Texts> = T extends (...args: infer A) => infer R ? (...args: A) => R
  : T extends string ? string
  : T extends readonly unknown[] ? T
  : { readonly [K in keyof T]?: Part<T[K]> };

export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = "disputatio-language";

function chosen(): Language {
  const kept = localStorage.getItem(KEY) ?? navigator.language.slice(0, 2).toLowerCase();
  return kept === "de" ? "de" : "en";
}

/** The page in another language: it is loaded anew, for its texts are taken once. */
export function choose(language: Language): void {
  localStorage.setItem(KEY, language);
  window.location.reload();
}

/** A table with what it lacks taken from another. */
function merged(table: unknown, other: unknown): unknown {
  if (typeof other !== "object" || other === null || Array.isArray(other)) return table ?? other;
  const parts = (table ?? {}) as Record<string, unknown>;
  return Object.fromEntries(Object.entries({ ...parts, ...other }).map(([name, known]) => [name, merged(parts[name], known)]));
}

export const language = chosen();
export const t: Texts = language === "de" ? (merged(de, en) as Texts) : en;
document.documentElement.lang = language;
