/** The frame of the page: where one can go, how it looks, its keys. */
import { lazy, Suspense, useEffect, useState } from "react";

import { isForPage } from "../answer/keys";
import { AskScreen } from "../ask/AskScreen";
import { t } from "../texts";
import { LanguageButton } from "./LanguageButton";
import { go, href, useRoute } from "./route";
import { useServer } from "./server";
import { Status } from "./Status";
import { ThemeButton } from "./ThemeButton";

const CompareScreen = lazy(() => import("../compare/CompareScreen"));
const SourcesScreen = lazy(() => import("../sources/SourcesScreen"));
const DocumentsScreen = lazy(() => import("../documents/DocumentsScreen"));
const ConflictsScreen = lazy(() => import("../conflicts/ConflictsScreen"));
const Help = lazy(() => import("./Help").then((module) => ({ default: module.Help })));
const RunsScreen = lazy(() => import("../runs/RunsScreen"));

const SCREENS = ["ask", "compare", "sources", "documents", "conflicts", "runs"] as const;
type Screen = (typeof SCREENS)[number];

function screenOf(name: string): Screen {
  return (SCREENS as readonly string[]).includes(name) ? (name as Screen) : "ask";
}

export function App() {
  const route = useRoute();
  const server = useServer();
  const [help, setHelp] = useState(false);
  const screen = screenOf(route.screen);
  useEffect(() => {
    if (screen !== "ask") document.title = `${t.screens[screen]} · ${t.name}`;
    function onKey(event: KeyboardEvent): void {
      if (!isForPage(event)) return;
      if (event.key === "?") setHelp(true);
      else if (event.key === "/") {
        if (screen !== "ask") go(href("ask"));
        setTimeout(() => document.getElementById("question")?.focus(), 0);
      } else return;
      event.preventDefault();
    }
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [screen]);
  return (
    <>
      <a className="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>{t.skip}</a>
      <header className="top">
        <a className="wordmark" href={href("ask")}>{t.name}</a>
        <nav aria-label={t.name}>
          <ul>
            {SCREENS.map((each) => (
              <li key={each}><a href={href(each)} aria-current={screen === each ? "page" : undefined}>{t.screens[each]}</a></li>
            ))}
          </ul>
        </nav>
        <div className="top-end">
          <LanguageButton />
          <ThemeButton />
          <button type="button" className="icon-button" aria-label={t.help.open} onClick={() => setHelp(true)}>?</button>
        </div>
      </header>
      <Status server={server} />
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<p className="quiet">{t.loading}</p>}>
          {screen === "ask" && <AskScreen />}
          {screen === "compare" && <CompareScreen />}
          {screen === "sources" && <SourcesScreen />}
          {screen === "documents" && <DocumentsScreen />}
          {screen === "conflicts" && <ConflictsScreen />}
          {screen === "runs" && <RunsScreen />}
        </Suspense>
      </main>
      {help && <Suspense fallback={null}><Help isOpen onClose={() => setHelp(false)} /></Suspense>}
    </>
  );
}
