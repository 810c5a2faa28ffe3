/** Dark, light, or as the system has it. */
import { useState } from "react";

import { t } from "../texts";

const KEY = "disputatio-theme";
const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

export function applyTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  const theme = THEMES.find((each) => each === kept) ?? "auto";
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  return theme;
}

export function ThemeButton() {
  const [theme, setTheme] = useState(applyTheme);
  function next(): void {
    const following = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
    localStorage.setItem(KEY, following);
    setTheme(applyTheme());
  }
  return (
    <button type="button" className="icon-button" onClick={next} aria-label={`${t.theme.label}: ${t.theme[theme]}`} title={`${t.theme.label}: ${t.theme[theme]}`}>
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="6" className="stroke" />
        {theme === "auto" && <path d="M8 2a6 6 0 0 1 0 12z" className="fill" />}
        {theme === "dark" && <circle cx="8" cy="8" r="6" className="fill" />}
      </svg>
    </button>
  );
}
