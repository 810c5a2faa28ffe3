/** To the other language, by its own name. */
import { choose, LANGUAGES, language, type Language } from "../texts";

export function LanguageButton() {
  const other: Language = language === "de" ? "en" : "de";
  return (
    <button type="button" className="act language" lang={other} onClick={() => choose(other)}>{LANGUAGES[other]}</button>
  );
}
