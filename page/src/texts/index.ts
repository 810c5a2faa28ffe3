/** What the page says, in the language of the browser or the one that was chosen. A table a language, each of one shape. */
import { de } from "./de";
import { en } from "./en";

/** The shape of a table: each language says all that English says. */
export type Texts = Shape<typeof en>;
type Shape<T> = T extends (...args: infer A) => infer R ? (...args: A) => R
  : T extends string ? string
  : T extends readonly unknown[] ? T
  : { readonly [K in keyof T]: Shape<T[K]> };

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

export const language = chosen();
export const t: Texts = language === "de" ? de : en;
document.documentElement.lang = language;
