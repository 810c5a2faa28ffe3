/** German, of the shape of English: a text that is missing here does not compile. */
import type { Change } from "../model/whatif";
import type { Texts } from "./index";
import { authorities, reasonOf, refusalOf, remedyOf } from "./reasons.de";

const numbers = new Intl.NumberFormat("de");
const percents = new Intl.NumberFormat("de", { style: "percent", maximumFractionDigits: 0 });

function n(value: number): string {
  return numbers.format(value);
}

function count(value: number, one: string, many: string): string {
  return `${n(value)} ${value === 1 ? one : many}`;
}

function percent(value: number): string {
  if (value > 0.99 && value < 1) return "über 99 %";
  if (value < 0.01 && value > 0) return "unter 1 %";
  return percents.format(value);
}

function chance(value: number): string {
  if (value >= 0.95) return "So gut wie sicher";
  if (value >= 0.8) return "Sehr wahrscheinlich";
  if (value >= 0.6) return "Wahrscheinlich";
  if (value >= 0.4) return "Etwa gleich";
  return value >= 0.15 ? "Unwahrscheinlich" : "Sehr unwahrscheinlich";
}

function money(sum: number, currency: string): string {
  return new Intl.NumberFormat("de", { style: "currency", currency, minimumSignificantDigits: 1, maximumSignificantDigits: 3 }).format(sum);
}

function list(names: readonly string[], most = 4): string {
  const shown = names.slice(0, most).map((name) => `„${name}“`);
  if (names.length > most) shown.push(count(names.length - most, "weitere", "weitere"));
  if (shown.length < 2) return shown.join("");
  return `${shown.slice(0, -1).join(", ")} und ${shown.at(-1)}`;
}

const passages = (k: number) => count(k, "Textstelle", "Textstellen");
const sources = (k: number) => count(k, "Quelle", "Quellen");
const votes = (k: number) => count(k, "Stimme", "Stimmen");
const questions = (k: number) => count(k, "Frage", "Fragen");
const calls = (k: number) => count(k, "Aufruf", "Aufrufe");
const documents = (k: number) => count(k, "Dokument", "Dokumente");
const files = (k: number) => count(k, "Datei", "Dateien");

const verdicts = { accepted: "Angenommen", rejected: "Verworfen", unresolved: "Offen" };
const conflicts: Record<string, { name: string; means: string }> = {
  none: { name: "Einigkeit", means: "die Textstellen stimmen überein" },
  ambiguity: { name: "Mehrdeutig", means: "mehrere stimmen, für Verschiedenes" },
  misinformation: { name: "Falschangabe", means: "einige Textstellen widersprechen dem, was angenommen wurde" },
  outdated: { name: "Veraltet", means: "einige Textstellen sind aus einer anderen Zeit als das, was angenommen wurde" },
  opinion: { name: "Meinung", means: "die Textstellen geben Meinungen wieder" },
  unresolved: { name: "Ungeklärt", means: "die Textstellen widersprechen sich, und nichts entscheidet es" },
};

function change(each: Change): string {
  switch (each.kind) {
    case "same": return "Es ändert sich nichts.";
    case "answer": return `Die Antwort wird ${list(each.now)} statt ${list(each.was)}.`;
    case "abstains": return `Es gibt keine Antwort mehr; sie war ${list(each.was)}.`;
    case "answers": return `Jetzt gibt es eine Antwort: ${list(each.now)}.`;
    case "sure": return `Die Sicherheit ist ${percent(each.now)}; sie war ${percent(each.was)}.`;
    case "verdict":
      return `„${each.answer}“ ist ${verdicts[each.now].toLowerCase()}; es war ${verdicts[each.was].toLowerCase()}.`;
    case "gone": return `„${each.answer}“ hat keine Textstelle mehr.`;
    case "come": return `„${each.answer}“ kommt hinzu.`;
    case "conflict":
      return `Widerspruch: ${conflicts[each.now]?.name ?? each.now}; vorher ${conflicts[each.was]?.name ?? each.was}.`;
  }
}

export const de: Texts = {
  n, percent, chance, list, passages,
  score: (value, interval) =>
    value === null ? "" : `${percentOf(value)}${interval ? ` (${percentOf(interval[0])} bis ${percentOf(interval[1])})` : ""}`,
  name: "Disputatio",
  screens: { ask: "Fragen", compare: "Vergleichen", sources: "Quellen", documents: "Dokumente", conflicts: "Konflikte", runs: "Auswertungen" },
  skip: "Zum Inhalt springen",
  close: "Schließen",
  retry: "Noch einmal",
  failed: "Das hat nicht geklappt",
  cancel: "Abbrechen",
  loading: "Wird geladen …",
  unseen: (point) => `ein unsichtbares Zeichen, ${point}`,
  showAll: (length) => `Alle ${n(length)} Zeichen zeigen`,
  original: "Original öffnen",
  theme: { label: "Farben", auto: "Wie das System", light: "Hell", dark: "Dunkel" },
  language: "Sprache",

  ask: {
    title: "Fragen",
    question: "Frage",
    placeholder: "Fragen Sie etwas, worin sich Ihre Quellen widersprechen könnten",
    ask: "Fragen",
    stop: "Anhalten",
    index: "Index",
    noIndex: "kein Index",
    model: "Modell",
    strategy: "Verfahren",
    needsModel: "Braucht ein Sprachmodell, und keines ist gewählt (--model none).",
    expect: "Erwartete Antworten",
    expects: { auto: "Automatisch", one: "Eine", several: "Mehrere" },
    budget: "Höchstens Aufrufe",
    noBudget: "ohne Grenze",
    asDefault: (name) => `${name} (Vorgabe)`,
  },
  talk: {
    before: "Vorher in diesem Gespräch gefragt",
    after: "Danach gefragt",
    others: "Statt dessen gefragt",
    fresh: "Neues Gespräch",
    placeholder: "Weiter fragen",
    understood: "Verstanden als:",
    changed: "Was hat sich geändert?",
    changedOf: (title) => `Was hat sich zwischen den Fassungen von ${title} geändert?`,
    each: "Worin widersprechen sich die Quellen?",
    questions,
    forget: (question) => `Dieses Gespräch löschen${question && `: ${question}`}`,
  },
  each: {
    title: "Quelle für Quelle", source: "Quelle", answer: "Antwortet", relation: "Neben dem, was angenommen wurde", quote: "Zitat",
    relations: {
      agrees: "stimmt zu", unresolved: "offen", contradicts: "widerspricht", superseded: "abgelöst", older: "älter",
      later: "eine spätere Fassung", retracted: "zurückgezogen", no_answer: "beantwortet es nicht", failed: "nicht lesbar", silent: "sagt nichts",
    },
  },
  progress: {
    waiting: (place) => (place ? `Wartet: Platz ${n(place)} in der Schlange` : "Wartet, bis die Frage an der Reihe ist"),
    finish: "Mit dem Gelesenen antworten",
    understanding: "Liest das Gespräch",
    elapsed: (seconds) => `${n(seconds)} s`,
    left: (seconds) => `noch etwa ${n(seconds)} s`,
    tokens: (tokens) => count(tokens, "Token", "Tokens"),
    searching: "Durchsucht den Index",
    found: (found, of) => `${passages(found)} aus ${sources(of)} gefunden`,
    reading: (done, all) => `Liest: ${n(done)} von ${n(all)}`,
    weighing: "Wägt ab, was gelesen wurde",
    round: (number) => `Debatte, Runde ${n(number)}`,
    checking: (role) => `Fragt: ${role}`,
    passages: "Textstellen, wie sie gefunden und gelesen werden",
    noAnswer: "gibt keine Antwort",
    sides: "Standpunkte, wie sie entstehen",
    votes: (k, of) => `${votes(k)}, ${passages(of)}`,
    silent: (silent, read) => `Keine Antwort in ${n(silent)} von ${n(read)} gelesenen.`,
    stopped: "Angehalten. Diese Textstellen waren gelesen.",
    stoppedNone: "Angehalten, bevor etwas gelesen wurde.",
    failed: "Die Frage ist gescheitert",
    faults: {
      Cancelled: "Die Frage wurde angehalten.", TooLate: "Die Zeit für diese Frage ist um.",
      BudgetSpent: "Was diese Frage kosten darf, ist verbraucht.", NotAsked: "Was alle Fragen kosten dürfen, ist verbraucht.",
      InputError: "Etwas an der Anfrage stimmt nicht.", ConfigError: "So lässt sich das nicht ausführen.", Refused: "Die Anfrage wurde abgelehnt.",
      MissingDependency: "Diesem Server fehlt ein Paket.", MissingPart: "Diesem Server fehlt dafür ein Teil, etwa ein Sprachmodell.",
      MustAskAgain: "Das Modell müsste dies neu lesen.", IngestError: "Ein Dokument ließ sich nicht lesen.",
      StoreError: "Der Index lässt sich nicht lesen oder beschreiben.", IndexVersion: "Der Index ist von einer anderen Version des Programms.",
      IndexServerFault: "Der Server, der den Index hält, ist nicht erreichbar oder versagt.", BucketFault: "Der Speicher des Index ist nicht erreichbar oder versagt.",
      DamagedFile: "Eine Datei, die dieser Server bewahrt, ist beschädigt.",
      ClusterFault: "Der Rechnerverbund ist nicht erreichbar oder versagt.", WorkerLost: "Die Prozesse, die daran arbeiteten, sind abgebrochen.",
      LLMError: "Das Modell hat versagt.", ServerFault: "Der Modelldienst hat versagt.", Unreachable: "Der Modelldienst ist nicht erreichbar.",
      QuotaExceeded: "Das Konto beim Modelldienst ist aufgebraucht.", Malformed: "Der Modelldienst hat nichts Brauchbares geantwortet.",
      ReplyError: "Die Antwort des Modells war nicht brauchbar.", BatchFault: "Einige Aufrufe des Modells sind gescheitert.",
      NoLogprobs: "Dieses Modell nennt keine Wahrscheinlichkeiten, die dafür nötig sind.", NotRecorded: "Danach wurde das Modell noch nicht gefragt.",
      NotJournalled: "Dieser Aufruf ist nicht aufgezeichnet.", DownloadError: "Ein Modell ließ sich nicht herunterladen.",
      DiskFault: "Die Platte ist voll oder versagt.", Internal: "Der Server hat versagt.", Http: "Der Server hat anders geantwortet als erwartet.",
      Timeout: "Das Modell hat zu lange gebraucht.", RateLimited: "Der Modelldienst nimmt gerade keine weiteren Aufrufe an.",
      ContextTooLong: "Die Textstellen sind zu lang für das Modell.", IndexBusy: "Der Index wird gerade beschrieben. Versuchen Sie es gleich noch einmal.",
      NoRoom: "Auf der Platte ist kein Platz mehr.", UnknownName: "Diesen Namen gibt es hier nicht.",
      Full: "Zu viele Fragen warten schon. Versuchen Sie es gleich noch einmal.", NotFound: "Das gibt es hier nicht.",
      NotAllowed: "Dieser Server wurde ohne die Option dafür gestartet.", Conflicting: "Eine andere Arbeit dieser Art läuft noch.",
    },
    unreachable: "Der Server antwortet nicht. Läuft „disputatio serve“ noch?",
    interrupted: "Diese Frage läuft nicht mehr und hat keine Antwort.",
    again: "Noch einmal fragen",
  },
  verdicts,
  conflicts,
  answer: {
    verdict: "Urteil",
    answers: (k) => (k === 1 ? "Antwort" : "Antworten"),
    none: "Keine Antwort",
    abstained: {
      no_evidence: "Nichts, was gelesen wurde, beantwortet die Frage.",
      nothing_found: "Zu der Frage wurde nichts gefunden.",
      conflict: "Die Textstellen widersprechen sich, und nichts entscheidet es.",
      fault: "Ein Modell oder das Netz hat versagt.",
    },
    sure: "Sicherheit",
    weak: "schwach belegt",
    evidence: (k, of) => `${passages(k)} aus ${sources(of)}`,
    kind: "Widerspruch",
    holds: "Was es ändern könnte",
    certificate: (liars, of) =>
      of === 1 ? "Die einzige Quelle" : liars === 1 ? `Eine lügende Quelle von ${n(of)}` : `${n(liars)} von ${sources(of)} müssten lügen`,
    certificateNames: (names) => `zum Beispiel ${names.join(" und ")}`,
    corrupted: (k) => (k ? `${k === 1 ? "Keine einzelne verfälschte Textstelle" : `Keine ${n(k)} verfälschten Textstellen`}` : "Eine verfälschte Textstelle genügt"),
    unread: (k) => `${sources(k)}, die nicht gelesen werden konnten`,
    read: (read, of) => `${passages(read)} aus ${sources(of)} gelesen`,
    notRead: (failed) => `${passages(failed)} nicht lesbar`,
    notSearched: (indexes) => `Nicht durchsucht: ${indexes.join(", ")}`,
    nearest: "Was der Frage am nächsten kommt",
    text: "In Worten",
    doubts: { partly: "teilweise belegt", unsupported: "nicht belegt", contradicted: "vom Beleg widerlegt" },
    positions: "Standpunkte",
    timeline: "Nach Datum",
    support: (k, of) => `${passages(k)}, ${votes(of)}`,
    copies: (k, of) => `${passages(k)}, ${votes(of)}: zusammen gezählt`,
    weight: (weight) => `Gewicht ${weight.toLocaleString("de", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`,
    likely: (value) => `${chance(value)} (${percent(value)})`,
    aliases: "auch als",
    reason: reasonOf,
    noPassage: "Keine gelesene Textstelle stützt es.",
    showMore: (k) => `Noch ${passages(k)} zeigen`,
    moved: { belief: "was das Modell meint", debate: "die Debatte", dates: "Daten" },
    undated: "ohne Datum",
    age: (number, unit) => unit === "years" ? count(number, "Jahr alt", "Jahre alt") : count(number, "Monat alt", "Monate alt"),
    draft: "ein Entwurf", withdrawn: "zurückgezogen", orders: "gibt dem Leser Anweisungen: untergeschoben?",
    dateOrigin: { stated: "angegeben", text: "im Text gelesen", name: "im Dateinamen gelesen", file: "Datum der Datei", "": "" },
    citation: {
      supported: "belegt die Aussage", partly: "belegt sie teilweise", unsupported: "belegt sie nicht",
      contradicted: "widerspricht ihr", unchecked: "nicht geprüft",
    },
    cite: (k, source) => `Zitat ${n(k)}, aus ${source}: in seiner Textstelle zeigen`,
    quoteOf: (source) => `Zitat aus ${source}: in seiner Textstelle zeigen`,
    mute: "Stumm", unmute: "Wieder hören", pin: "Nur diese", unpin: "Lösen",
    unmuteWhat: (name) => `${name} wieder hören`, unpinWhat: (name) => `${name} lösen`,
    muteWhat: (name) => `${name} stumm schalten`, pinWhat: (name) => `Nur diese: ${name}`,
  },
  reliability: {
    label: "Verlässlichkeit",
    unknown: "Verlässlichkeit nicht bekannt",
    words: (value, low, high) =>
      low === null || high === null ? `zu ${percent(value)} richtig` : `zu ${percent(value)} richtig, zwischen ${percent(low)} und ${percent(high)}`,
  },
  passage: {
    title: "Textstelle",
    none: "Wählen Sie ein Zitat, um es in seiner Textstelle zu sehen.",
    page: (page) => `Seite ${page}`,
    hidden: (k) => `${count(k, "verborgenes Zeichen", "verborgene Zeichen")} entfernt`,
    hiddenMeans: "Das Dokument hatte Text, den Leser nicht sehen. Er wurde entfernt.",
    before: "Davor", after: "Danach",
    noQuote: "Das Zitat steht nicht im gespeicherten Text.",
    id: "Kennung",
  },
  debate: {
    title: "Die Debatte",
    hint: "Eine Zeile je Textstelle, eine Spalte je Runde. In Runde 1 wurde jede Textstelle für sich gelesen.",
    passage: "Textstelle",
    round: (number) => `Runde ${n(number)}`,
    outcome: "Ergebnis",
    changes: { first: "", kept: "geblieben", yielded: "geändert", joined: "neu", none: "gibt keine Antwort", fault: "die Antwort war nicht brauchbar" },
    none: "Keine Textstelle wurde für sich gelesen: Dieses Verfahren liest alle zugleich.",
  },
  looked: {
    title: "Suchen",
    search: (found) => (found ? `${passages(found)} gefunden` : "nichts gefunden"),
    elsewhere: "außerhalb des Index",
    further: (searches, read, answered) =>
      `Es war knapp, darum ${count(searches, "weitere Suche", "weitere Suchen")}: ${passages(read)} gelesen, ${n(answered)} davon mit Antwort.`,
    changed: "Das hat die Antwort geändert.",
    unchanged: "Die Antwort ist geblieben.",
    unanswered: "Gelesen, ohne Antwort",
    faulty: "Nicht lesbar",
    unread: "Gefunden, aber nicht gelesen",
    aside: (k) => `${passages(k)} beiseite gelegt`,
  },
  cost: {
    title: "Kosten",
    calls: "Aufrufe des Modells", call: calls, read: "Tokens gelesen", cached: "davon aus dem Speicher", written: "Tokens geschrieben", seconds: "s Rechenzeit des Modells",
    free: "Kein Modell wurde gefragt.",
    money: (sum, currency) => (sum > 0 && sum < 0.0001 ? `unter ${money(0.0001, currency)}` : money(sum, currency)),
    onThisMachine: "für das Modell, das auf diesem Rechner läuft",
    atPrices: (origin, asOf) => `nach ${origin}${asOf ? ` vom ${asOf}` : ""}`,
    by: (strategy, model) => `${strategy} mit ${model}`,
  },
  whatIf: {
    title: "Was wäre wenn",
    hint: "Schalten Sie Quellen und Textstellen stumm, oder zählen Sie nur einige. Kein Modell wird gefragt.",
    sources: "Quellen",
    owner: "Eigentümer",
    muteOwner: "Eigentümer stumm:",
    after: "Datiert ab",
    before: "Datiert bis",
    reset: "Wie es war",
    left: (k, all) => `${n(k)} von ${passages(all)} gezählt.`,
    busy: "Entscheidet neu …",
    change,
    was: (answers) => (answers.length ? `Vorher: ${list(answers)}` : "Vorher: keine Antwort"),
    assumed: (roles) => `Dafür müsste ein Modell neu gefragt werden: ${roles.join(", ")}.`,
    mustAsk: "Das Modell müsste dies neu lesen.",
    askAgain: "Mit dem Rest neu fragen",
    noneLeft: "Keine Textstelle ist übrig.",
    muted: "stumm", pinned: "nur diese",
    not: "nicht, wie sie gegeben wurde",
    settings: {
      muted: "Ohne", owners: "Ohne Eigentümer", pinned: "Nur", documents: "Ohne Dokument", passages: "Ohne eine Textstelle aus",
      after: "Datiert ab", before: "Datiert bis",
    },
    effect: "Was weggelassen ist und was das ändert",
    undo: (name) => `Zurücknehmen: ${name}`,
    more: (k) => `${n(k)} weitere`,
    silent: (k) => `${count(k, "andere Quelle gab", "andere Quellen gaben")} keine Antwort.`,
    muteDocument: "Dieses Dokument stumm schalten", mutePassage: "Diese Textstelle stumm schalten",
  },
  exports: {
    title: "Sichern",
    html: "Webseite", markdown: "Markdown", json: "JSON", bibtex: "BibTeX", print: "Drucken",
    link: "Verweis kopieren", copied: "Verweis kopiert",
  },
  compare: {
    title: "Vergleichen",
    hint: "Eine Frage, bis zu drei Verfahren oder Modelle, nebeneinander.",
    variant: (k) => `Variante ${n(k)}`,
    add: "Noch eine", remove: "Entfernen",
    run: "Vergleichen",
    onlyHere: "nur hier",
    otherVerdict: "anderes Urteil",
    agree: "Die Antworten sind gleich.",
    differ: "Die Antworten sind verschieden.",
    open: "Ganz öffnen",
    gone: "Eine dieser Antworten ist nicht mehr da.",
  },
  sources: {
    title: "Quellen",
    filter: "Filter",
    filterHint: "Name oder Eigentümer",
    columns: {
      name: "Quelle", owner: "Eigentümer", reliability: "Verlässlichkeit", answered: "Geantwortet", agreed: "Zugestimmt",
      group: "Gruppe", updated: "Geschätzt",
    },
    stale: "überholt", staleMeans: "ihre Textstellen haben sich seither geändert",
    shown: (k, all) => `${n(k)} von ${sources(all)}`,
    none: "Es gibt noch keine Quellen: Fügen Sie zuerst Dokumente hinzu.",
    chance: "Der Strich in der Mitte eines Balkens ist der Zufall; die Linie ist das 95-%-Intervall.",
    graph: "Abschriften und Eigentümer",
    graphHint: "Quellen, die eine Linie teilen, sind nicht unabhängig.",
    asTable: "Als Tabelle zeigen",
    noTies: "Keine Quelle schreibt von einer anderen ab, und keine haben denselben Eigentümer.",
    agree: {
      title: "Wer übereinstimmt",
      hint: (k) => `Wie oft zwei Quellen dieselbe Antwort geben: ${questions(k)} aus Schätzungen und bewahrten Antworten. Paare mit weniger als fünf gemeinsamen fehlen.`,
      graph: "Linien verbinden Quellen, die übereinstimmen oder sich unterscheiden; die Tabelle daneben sagt dasselbe",
      often: "in zwei von drei Fällen oder öfter dieselbe Antwort", seldom: "in zwei von drei Fällen oder öfter eine andere",
      second: "Und", share: "Dieselbe Antwort",
      of: (agreed, shared) => `${n(agreed)} von ${n(shared)}`,
    },
    ownedBy: "ein Eigentümer,",
    others: "andere Quellen:",
    cost: "Was es kostet",
    plan: (asked, of, made, seconds) =>
      `${questions(asked)} an ${sources(of)}: etwa ${calls(made)}${seconds === null ? "" : `, etwa ${n(Math.ceil(seconds / 60))} min`}.`,
    calibrateNotAllowed: "Dieser Server liest nur. Starten Sie ihn mit --allow-writing, um hier zu schätzen.",
    together: "Zählen als eine", because: "Weil",
    copies: "Abschriften oder gemeinsame Fehler",
    record: (name) => `Verzeichnis von ${name}`,
    noRecord: "Für diese Quelle sind noch keine Fragen verzeichnet.",
    editOwner: "Eigentümer ändern", save: "Sichern",
    calibrate: "Verlässlichkeit schätzen", calibrateHint: "Quellen werden aneinander geprüft, ohne vorgegebene Antworten.",
    questions: "Fragen", start: "Beginnen", estimating: "Schätzt", done: "Fertig. Die Tabelle hat die neuen Zahlen.",
    unknownAll: "Noch ist keine Verlässlichkeit bekannt. Schätzen Sie sie, um zu sehen, wie oft jede Quelle recht hat.",
    passages: "Textstellen",
  },
  documents: {
    title: "Dokumente",
    notAllowed: "Dieser Server liest nur. Starten Sie ihn mit --allow-writing, um hier Dokumente hinzuzufügen.",
    none: "Der Index ist leer.",
    columns: {
      title: "Dokument", type: "Art", size: "Größe", date: "Datum", source: "Quelle", owner: "Eigentümer",
      authority: "Rang", passages: "Textstellen", read: "Gelesen", version: "Fassung", hidden: "Verborgene Zeichen",
    },
    count: documents,
    drop: "Dateien oder einen Ordner hier ablegen", choose: "Dateien wählen", chooseFolder: "Ordner wählen",
    search: "Suchen", searchHint: "Titel, Datei, Quelle oder Eigentümer", back: "Alle Dokumente", edit: "Bearbeiten", save: "Speichern",
    mute: "Stumm", unmute: "Nicht mehr stumm", replace: "Ersetzen", remove: "Löschen", undo: "Rückgängig", previous: "Zurück", next: "Weiter",
    noMatch: "Kein Dokument passt.",
    ofAll: (k, all) => `${n(k)} von ${documents(all)}`,
    first: (k) => `Die ersten ${n(k)} sind aufgeführt.`,
    size: (bytes) => bytes < 1000 ? `${n(bytes)} B` : bytes < 1e6 ? `${n(Math.round(bytes / 1e3))} kB` : `${n(Math.round(bytes / 1e5) / 10)} MB`,
    row: (row) => `Zeile ${n(row)}`,
    kind: "Art", every: "alle", state: "Zustand",
    states: { all: "alle", muted: "stumm", draft: "Entwurf", superseded: "abgelöst", undated: "ohne Datum", hidden: "mit verborgenem Text" },
    muted: "stumm", draft: "Entwurf", superseded: "abgelöst", retracted: "zurückgezogen",
    supersededBy: "An seiner Stelle steht",
    page: (k, all) => `Seite ${n(k)} von ${n(all)}`,
    gone: "Dieses Dokument ist nicht mehr im Index.",
    muteHint: "Keine Frage liest ein stummes Dokument; es bleibt im Index.",
    saved: "Gespeichert.",
    replaceHint: "Die neuere Datei wird gelesen und tritt an die Stelle dieses Dokuments, das für Fragen nach früher bleibt.",
    replaced: "Die neuere Datei ist gelesen und steht an der Stelle von dieser.",
    removed: (name) => `„${name}“ ist gelöscht.`, putBack: (name) => `„${name}“ ist wieder da.`,
    removeHint: "Es lässt sich 30 Tage lang rückgängig machen.",
    fields: { title: "Titel", date: "Datum", source: "Quelle", owner: "Eigentümer", authority: "Rang", status: "Stand", replaces: "Ersetzt" },
    fieldHints: { date: "2021, 2021-05 oder 2021-05-31", replaces: "Name einer Datei oder Kennung eines Dokuments" },
    authorities: { "": "nicht angegeben", ...authorities },
    statuses: { "": "nicht angegeben", current: "gültig", corrected: "berichtigt", concern: "mit Bedenken versehen", retracted: "zurückgezogen" },
    stands: "Was Sie hier angeben, steht über dem, was das Dokument sagt. Ein leeres Feld nimmt es zurück.",
    facts: "Angaben", file: "Datei", unrecorded: "Dieser Index bewahrt weder Größe noch Prüfsumme noch Zeit des Lesens auf; das Original lässt sich nicht öffnen.", history: "Was Menschen angaben", noHistory: "Niemand hat etwas dazu angegeben.",
    takeBack: "Zurücknehmen", takenBack: "zurückgenommen",
    says: (field, value) => `${field}: ${value || "zurückgenommen"}`,
    by: { http: "auf der Seite", cli: "auf der Befehlszeile", python: "in Python" },
    answers: "Antworten, die es zitieren", noAnswers: "Keine aufbewahrte Antwort zitiert es.",
    against: "Wem es widerspricht", noAgainst: "Nichts im Index widerspricht ihm.", checking: "Vergleicht Dokumente …",
    changes: "Änderungen",
    what: {
      deleted: "Gelöscht", stated: "Angegeben", "taken back": "Zurückgenommen", uploaded: "Hochgeladen",
      accepted: "Widerspruch hingenommen", reopened: "Widerspruch wieder offen",
    },
    undone: "rückgängig gemacht",
    refusal: refusalOf,
    remedies: {
      unreadable: "Öffnen Sie sie im Programm, das sie erzeugt hat, speichern Sie sie neu und legen Sie sie wieder hier ab.",
      encrypted: "Speichern Sie sie ohne Kennwort und ohne anderen Schutz, und legen Sie das hier ab.",
      too_large: "Teilen Sie sie in kleinere Dateien.",
      too_slow: "Teilen Sie sie, oder speichern Sie sie einfacher, etwa als Text oder PDF.",
      no_text: "Darin ist nichts zu lesen: Lassen Sie sie weg.",
      scan: "Lassen Sie eine Texterkennung (OCR) darüber laufen, und legen Sie das Ergebnis hier ab.",
      unknown_type: "Speichern Sie sie als Text, PDF, DOCX, HTML oder CSV, und legen Sie das hier ab.",
      encoding: "Speichern Sie sie als UTF-8, und legen Sie sie wieder hier ab.",
      missing_package: "Bitten Sie, wer diesen Server betreibt, das genannte Paket zu installieren.",
      missing_column: "Nennen Sie ihre Spalten, wie sie heißen, mit „disputatio ingest --map“.",
      bad_row: "Berichtigen Sie die Zeile in ihrer Datei, und legen Sie die Datei wieder hier ab.",
      unsafe: "Entpacken oder kopieren Sie sie selbst, wenn Sie wissen, woher sie kommt, und legen Sie die Dateien hier ab.",
      not_found: "Prüfen Sie, ob der Pfad stimmt und gelesen werden darf.",
      changed: "Legen Sie sie wieder hier ab, wenn nichts mehr in sie schreibt.",
      not_fetched: "Prüfen Sie die Adresse im Browser, oder sichern Sie die Seite und legen Sie die Datei hier ab.",
      unconfined: "Bitten Sie, wer diesen Server betreibt, sie unter Linux, macOS oder WSL zu lesen.",
    },
    refused: "Abgelehnt", refusedAgain: "Wird eine Datei erneut abgelegt und gelesen, verschwindet sie von hier.", forget: "Liste leeren",
    upload: {
      title: (k, all) => `${n(k)} von ${files(all)} fertig`,
      states: { waiting: "wartet", sending: "wird gesendet", reading: "wird gelesen", read: "gelesen", refused: "abgelehnt", failed: "gescheitert" },
      done: (read, refused) => refused ? `${files(read)} gelesen, ${n(refused)} abgelehnt.` : `${files(read)} gelesen.`,
      result: (added, replaced, unchanged) => `${documents(added)} hinzugefügt, ${n(replaced)} ersetzt, ${n(unchanged)} unverändert.`,
      tooLarge: "ist größer als 60 MB: Fügen Sie die Datei mit „disputatio ingest“ hinzu.",
      stop: "Hiernach anhalten", clear: "Schließen", files: "Dateien, die hochgeladen werden",
      more: (k) => `und ${n(k)} weitere`,
    },
  },
  conflictView: {
    title: "Konflikte",
    hint: "Aussagen zweier Dokumente, die nicht beide gelten können. Ohne Frage und ohne Modell: Code vergleicht Werte.",
    compared: (of, statements) => `${documents(of)}, ${count(statements, "Aussage", "Aussagen")} verglichen`,
    none: "Die Dokumente widersprechen sich nicht, soweit Code es erkennen kann.",
    noMatch: "Keine dieser Art.", noTopic: "ohne Thema",
    count: (k, all) => `${n(k)} von ${count(all, "Konflikt", "Konflikten")}`,
    least: "Mindestens", by: "Nach",
    severities: { low: "gering", medium: "mittel", high: "schwer" },
    states: { open: "offen", accepted: "hingenommen", all: "alle" },
    groups: { topic: "Thema", documents: "Dokumenten", severity: "Schwere" },
    kinds: {
      value: "verschiedene Werte", date: "verschiedene Daten", negation: "eines verneint das andere", definition: "verschiedene Bestimmungen",
      version: "Fassungen sind verschieden",
    },
    inForce: "in Kraft", newer: "neuer", higher: "höherer Rang", moreReliable: "verlässlicher", holds: "gilt",
    also: (k) => `auch in ${count(k, "weiteren Dokument", "weiteren Dokumenten")}`,
    scope: "Nur eines davon sagt:", toSettle: "Zum Klären:",
    remedy: remedyOf,
    decide: "Entscheiden", why: "Warum", sideHolds: (value) => `„${value}“ gilt`,
    accept: "So hinnehmen", acceptHint: "Es bleibt in den Dokumenten und zählt nicht mehr als neu.",
    accepted: "hingenommen", settled: "geklärt", reopen: "Wieder öffnen",
    forms: { html: "Webseite", json: "JSON", sarif: "SARIF", baseline: "Stand für disputatio check" },
  },
  source: {
    title: "Was darin steht",
    pages: "Seiten", text: "Text", save: "Original sichern", cite: "Quellenangabe kopieren", copied: "Quellenangabe kopiert",
    byHand: "Die Quellenangabe, von Hand zu kopieren",
    forms: { plain: "Reiner Text", markdown: "Markdown", bibtex: "BibTeX", csl: "CSL-JSON" },
    earlier: "… der Text davor ist weggelassen", later: "… der Text danach ist weggelassen",
    table: "Die Tabelle, mit der Zeile markiert", row: "Zeile",
    missing: "Die Worte wurden auf den Seiten in der Nähe nicht gefunden.", showText: "Den gelesenen Text zeigen",
    broken: "Dieses PDF lässt sich hier nicht zeichnen.", marked: "Auf dieser Seite markiert:",
    toMark: (page) => `Zurück zu den markierten Worten auf Seite ${n(page)}`,
    pageOf: (page, file) => `Seite ${n(page)} von ${file}`,
    open: "Im Dokument zeigen",
  },
  runs: {
    title: "Auswertungen",
    notAllowed: "Dieser Server zeigt keine Auswertungen: Starten Sie ihn mit --runs ORDNER.",
    none: "Hier gibt es keine Berichte von Auswertungen. „disputatio eval run“ macht sie.",
    hint: "Auswertungen, die gemacht wurden, und die Zeilen, in denen zwei Verfahren auseinandergehen.",
    columns: {
      name: "Auswertung", datasets: "Datensätze", strategies: "Verfahren", strategy: "Verfahren", n: "Zeilen",
      abstained: "Enthaltungen", failed: "Gescheitert", cost: "Aufrufe je Zeile", seconds: "Sekunden je Zeile",
    },
    gold: "Richtig", better: "besser",
    differing: (differ, shared) => `${n(differ)} von ${count(shared, "Zeile", "Zeilen")} verschieden`,
    differ: "Zeilen, in denen zwei auseinandergehen",
    row: (k) => `Zeile ${n(k)}`,
    noDifference: "Diese zwei Verfahren stimmen in jeder Zeile überein.",
    back: "Alle Auswertungen",
    first: "Erstes", second: "Zweites",
  },
  start: {
    title: "Noch gibt es nichts zu fragen",
    hint: "Der Index ist leer. Fügen Sie Dokumente hinzu, die sich widersprechen könnten, oder öffnen Sie das Beispiel.",
    readOnly: "Der Index ist leer, und dieser Server liest nur. Fügen Sie Dokumente mit „disputatio ingest PFAD“ hinzu, oder starten Sie ihn mit --allow-writing, um es hier zu tun.",
    drop: "Dokumente hinzufügen",
    example: "Beispiel öffnen",
    exampleHint: "Das Beispiel ist eine kleine Stadt: elf Dateien aus acht Quellen, die sich über Fähre, Leuchtturm und Leute uneins sind.",
    opening: "Liest das Beispiel",
    tryThese: "Fragen für den Anfang",
    suggested: "Fragen, die diese Dokumente beantworten könnten",
    lead: "Fragen Sie Ihre Dokumente. Jede Antwort zeigt, was jede Quelle sagt, warum eine Antwort angenommen wurde und was sie ändern würde.",
    recent: "Schon gefragt",
    verdicts: {
      accepted: "Teil der Antwort",
      rejected: "nicht Teil davon, mit dem Grund",
      unresolved: "nichts, was gelesen wurde, entscheidet es",
    },
  },
  engine: {
    downloading: "Ein Modell wird heruntergeladen.", waiting: "Wartet auf ein Modell.",
    bytes: (done, all) => (all ? `${n(Math.round(done / 1e6))} von ${n(Math.round(all / 1e6))} MB` : `${n(Math.round(done / 1e6))} MB`),
  },
  token: { title: "Dieser Server verlangt ein Token", label: "Token", enter: "Eingeben" },
  help: {
    title: "Tasten",
    open: "Tasten und Hilfe",
    keys: [
      ["/", "eine Frage schreiben"], ["j  k", "nächstes und voriges Zitat"], ["1 – 9", "zu einem Standpunkt"],
      ["m", "die Quelle des Zitats stumm schalten"], ["p", "nur sie zählen"], ["Esc", "die Textstelle schließen oder die Antwort anhalten"], ["?", "diese Tasten"],
    ],
    marks: "Zeichen",
    typefaces: "Serifenlos schreibt Disputatio; mit Serifen schreiben die Dokumente.",
  },
};

function percentOf(share: number): string {
  return new Intl.NumberFormat("de", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(share);
}
