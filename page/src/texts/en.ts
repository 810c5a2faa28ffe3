/** English. Sentences are whole, so that a language may order its words as it does. */
import type { Conflict, Position, RefusalCode } from "../api/types";
import type { Change } from "../model/whatif";

const numbers = new Intl.NumberFormat("en");
const percents = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });

function n(value: number): string {
  return numbers.format(value);
}

function count(value: number, one: string, many = `${one}s`): string {
  return `${n(value)} ${value === 1 ? one : many}`;
}

function percent(value: number): string {
  if (value > 0.99 && value < 1) return "over 99%";
  if (value < 0.01 && value > 0) return "under 1%";
  return percents.format(value);
}

/** A probability in words. */
function chance(value: number): string {
  if (value >= 0.95) return "Almost certain";
  if (value >= 0.8) return "Very likely";
  if (value >= 0.6) return "Likely";
  if (value >= 0.4) return "About even";
  return value >= 0.15 ? "Unlikely" : "Very unlikely";
}

function money(sum: number, currency: string): string {
  return new Intl.NumberFormat("en", { style: "currency", currency, minimumSignificantDigits: 1, maximumSignificantDigits: 3 }).format(sum);
}

function share(value: number): string {
  return `${(100 * value).toFixed(1)}%`;
}

function list(names: readonly string[], most = 4): string {
  const shown = names.slice(0, most).map((name) => `“${name}”`);
  if (names.length > most) shown.push(count(names.length - most, "other"));
  if (shown.length < 2) return shown.join("");
  return `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

const verdicts = { accepted: "Accepted", rejected: "Rejected", unresolved: "Open" };
const conflicts: Record<string, { name: string; means: string }> = {
  none: { name: "Agreement", means: "the passages agree" },
  ambiguity: { name: "Ambiguity", means: "several are right, about different things" },
  misinformation: { name: "Misinformation", means: "some passages contradict what was accepted" },
  outdated: { name: "Outdated", means: "some passages are of another time than what was accepted" },
  opinion: { name: "Opinion", means: "the passages give opinions" },
  unresolved: { name: "Unsettled", means: "the passages disagree and nothing settles it" },
};

function change(each: Change): string {
  switch (each.kind) {
    case "same": return "Nothing changes.";
    case "answer": return `The answer becomes ${list(each.now)} in place of ${list(each.was)}.`;
    case "abstains": return `There is no answer any more; it was ${list(each.was)}.`;
    case "answers": return `Now there is an answer: ${list(each.now)}.`;
    case "sure": return `The confidence is ${percent(each.now)}; it was ${percent(each.was)}.`;
    case "verdict":
      return `“${each.answer}” is ${verdicts[each.now].toLowerCase()}; it was ${verdicts[each.was].toLowerCase()}.`;
    case "gone": return `“${each.answer}” has no passage left.`;
    case "come": return `“${each.answer}” is a new position.`;
    case "conflict":
      return `Conflict: ${(conflicts[each.now]?.name ?? each.now).toLowerCase()}; it was ${(conflicts[each.was]?.name ?? each.was).toLowerCase()}.`;
  }
}

export const en = {
  n, percent, chance, list,
  passages: (k: number) => count(k, "passage"),
  score: (value: number | null, interval: readonly [number, number] | null) =>
    value === null ? "" : `${share(value)}${interval ? ` (${share(interval[0])} to ${share(interval[1])})` : ""}`,
  name: "Disputatio",
  screens: { ask: "Ask", compare: "Compare", sources: "Sources", documents: "Documents", conflicts: "Conflicts", runs: "Runs" },
  skip: "Skip to the content",
  close: "Close",
  retry: "Retry",
  failed: "That did not work",
  cancel: "Cancel",
  loading: "Loading…",
  unseen: (point: string) => `an invisible character, ${point}`,
  showAll: (length: number) => `Show all ${n(length)} characters`,
  original: "Open the original",
  language: "Language",
  theme: { label: "Colours", auto: "As the system", light: "Light", dark: "Dark" },

  ask: {
    title: "Ask",
    question: "Question",
    placeholder: "Ask something that your sources may disagree on",
    ask: "Ask",
    stop: "Stop",
    index: "Index",
    noIndex: "no index",
    model: "Model",
    strategy: "Strategy",
    needsModel: "Needs a language model, and none is chosen (--model none).",
    expect: "Expected answers",
    expects: { auto: "Automatic", one: "One", several: "Several" },
    budget: "Call limit",
    noBudget: "none",
    asDefault: (name: string) => `${name} (default)`,
  },
  talk: {
    before: "Asked before in this conversation",
    after: "Asked after this",
    others: "Asked in its place",
    fresh: "New conversation",
    placeholder: "Ask a follow-up",
    understood: "Understood as:",
    changed: "What changed?",
    changedOf: (title: string) => `What changed between the versions of ${title}?`,
    each: "Where do the sources disagree?",
    questions: (k: number) => count(k, "question"),
    forget: (question: string) => `Delete this conversation${question && `: ${question}`}`,
  },
  each: {
    title: "Source by source", source: "Source", answer: "Answers", relation: "Beside what was accepted", quote: "Quote",
    relations: {
      agrees: "agrees", unresolved: "open", contradicts: "contradicts it", superseded: "superseded", older: "older",
      later: "a later version", retracted: "retracted", no_answer: "does not answer", failed: "could not be read", silent: "says nothing",
    },
  },
  progress: {
    waiting: (place: number) => (place ? `Waiting: place ${n(place)} in the queue` : "Waiting for a turn"),
    finish: "Answer with what was read",
    understanding: "Reading the conversation",
    elapsed: (seconds: number) => `${n(seconds)} s`,
    left: (seconds: number) => `about ${n(seconds)} s left`,
    tokens: (tokens: number) => count(tokens, "token"),
    searching: "Searching the index",
    found: (passages: number, sources: number) =>
      `Found ${count(passages, "passage")} of ${count(sources, "source")}`,
    reading: (done: number, all: number) => `Reading: ${n(done)} of ${n(all)}`,
    weighing: "Weighing what was read",
    round: (number: number) => `Debate, round ${n(number)}`,
    checking: (role: string) => `Asking the ${role}`,
    passages: "Passages as they are found and read",
    noAnswer: "gives no answer",
    sides: "Positions as they form",
    votes: (votes: number, passages: number) => `${count(votes, "vote")}, ${count(passages, "passage")}`,
    silent: (silent: number, read: number) => `No answer in ${n(silent)} of ${n(read)} that were read.`,
    stopped: "Stopped. These passages had been read.",
    stoppedNone: "Stopped before anything was read.",
    failed: "The question failed",
    /** What kind of fault it was, by its code; the server's sentence follows. */
    faults: {} as Record<string, string>,
    unreachable: "The server does not answer. Is “disputatio serve” still running?",
    interrupted: "This question is no longer running, and it has no answer.",
    again: "Ask again",
  },
  verdicts,
  conflicts,
  answer: {
    verdict: "Verdict",
    answers: (k: number): string => (k === 1 ? "Answer" : "Answers"),
    none: "No answer",
    abstained: {
      no_evidence: "Nothing that was read answers the question.",
      nothing_found: "Nothing was found for the question.",
      conflict: "The passages contradict each other, and nothing settles it.",
      fault: "A model or the network failed.",
    },
    sure: "Confidence",
    kind: "Conflict",
    holds: "What could change it",
    certificate: (liars: number, sources: number) =>
      sources === 1 ? "The only source" : liars === 1 ? `One lying source of ${n(sources)}` : `${n(liars)} of ${count(sources, "source")} would have to lie`,
    certificateNames: (names: readonly string[]) => `for example ${names.join(" and ")}`,
    corrupted: (k: number) =>
      k ? `No ${k === 1 ? "single corrupted passage" : count(k, "corrupted passage")} can` : "One corrupted passage can",
    unread: (k: number) => `${count(k, "source")} that could not be read`,
    read: (read: number, sources: number) => `${count(read, "passage")} of ${count(sources, "source")} read`,
    notRead: (failed: number) => `${count(failed, "passage")} could not be read`,
    notSearched: (indexes: string[]) => `Not searched: ${indexes.join(", ")}`,
    nearest: "The nearest passages",
    text: "In words",
    doubts: { partly: "partly supported", unsupported: "not supported", contradicted: "contradicted by what it cites" },
    positions: "Positions",
    timeline: "By date",
    support: (passages: number, votes: number) => `${count(passages, "passage")}, ${count(votes, "vote")}`,
    copies: (passages: number, votes: number) => `${count(passages, "passage")}, ${count(votes, "vote")}: counted together`,
    weight: (weight: number) => `weight ${weight.toFixed(2)}`,
    likely: (value: number) => `${chance(value)} (${percent(value)})`,
    weak: "weakly supported",
    evidence: (passages: number, sources: number) => `${count(passages, "passage")} of ${count(sources, "source")}`,
    aliases: "also as",
    /** Why a position has its verdict; the server words the cause in this language. */
    reason: (position: Position) => position.reason,
    noPassage: "No passage that was read supports it.",
    showMore: (k: number) => `Show ${count(k, "more passage")}`,
    moved: { belief: "the model's belief", debate: "the debate", dates: "dates" } as Record<string, string>,
    undated: "no date",
    age: (number: number, unit: "years" | "months") => `${count(number, unit.slice(0, -1))} old`,
    draft: "a draft", withdrawn: "withdrawn", orders: "gives instructions to its reader: planted?",
    dateOrigin: { stated: "stated", text: "read in its text", name: "read in its file's name", file: "date of the file", "": "" },
    citation: {
      supported: "supports the claim", partly: "supports it in part", unsupported: "does not support it",
      contradicted: "contradicts it", unchecked: "not checked",
    },
    cite: (k: number, source: string) => `Quote ${n(k)}, from ${source}: show it in its passage`,
    quoteOf: (source: string) => `Quote from ${source}: show it in its passage`,
    mute: "Mute", unmute: "Unmute", pin: "Pin", unpin: "Unpin",
    unmuteWhat: (name: string) => `Unmute ${name}`, unpinWhat: (name: string) => `Unpin ${name}`,
    muteWhat: (name: string) => `Mute ${name}`, pinWhat: (name: string) => `Pin ${name}`,
  },
  reliability: {
    label: "Reliability",
    unknown: "reliability not known",
    words: (value: number, low: number | null, high: number | null) =>
      low === null || high === null
        ? `right ${percent(value)} of the time`
        : `right ${percent(value)} of the time, between ${percent(low)} and ${percent(high)}`,
  },
  passage: {
    title: "Passage",
    none: "Choose a quote to see it in its passage.",
    page: (page: string) => `page ${page}`,
    hidden: (k: number) => `${count(k, "hidden character")} taken out`,
    hiddenMeans: "The document had text that readers cannot see. It was removed.",
    before: "Before it", after: "After it",
    noQuote: "The quote could not be found in the stored text.",
    id: "Id",
  },
  debate: {
    title: "The debate",
    hint: "One row for each passage, one column for each round. In round 1 each passage was read alone.",
    passage: "Passage",
    round: (number: number) => `Round ${n(number)}`,
    outcome: "Outcome",
    changes: {
      first: "", kept: "kept", yielded: "changed", joined: "new", none: "gives no answer",
      fault: "its reply could not be used",
    },
    none: "No passage was read alone: this strategy reads all passages at once.",
  },
  looked: {
    title: "Searches",
    search: (found: number) => (found ? `${count(found, "passage")} found` : "nothing found"),
    elsewhere: "outside the index",
    further: (searches: number, read: number, answered: number) =>
      `The evidence was close, so ${count(searches, "more search", "more searches")} ${searches === 1 ? "was" : "were"} made: ${count(read, "passage")} read, ${n(answered)} of them with an answer.`,
    changed: "This changed the answer.",
    unchanged: "The answer stayed the same.",
    unanswered: "Read, without an answer",
    faulty: "Could not be read",
    unread: "Found, but not read",
    aside: (k: number) => `${count(k, "passage")} set aside`,
  },
  cost: {
    title: "Cost",
    calls: "model calls", call: (k: number) => count(k, "call"), read: "tokens read", cached: "of them cached", written: "tokens written", seconds: "s of the model's time",
    free: "No model was called.",
    money: (sum: number, currency: string) =>
      sum > 0 && sum < 0.0001 ? `under ${money(0.0001, currency)}` : money(sum, currency),
    onThisMachine: "for the model, which runs on this machine",
    atPrices: (origin: string, asOf: string) => `by ${origin}${asOf ? ` of ${asOf}` : ""}`,
    by: (strategy: string, model: string) => `${strategy} with ${model}`,
  },
  whatIf: {
    title: "What if",
    hint: "Mute or pin sources and passages. No model is called.",
    sources: "Sources",
    owner: "Owner",
    muteOwner: "Mute owner",
    after: "Dated from",
    before: "Dated to",
    reset: "As it was",
    left: (k: number, all: number) => `${n(k)} of ${count(all, "passage")} counted.`,
    busy: "Deciding again…",
    change,
    was: (answers: readonly string[]) => (answers.length ? `Before: ${list(answers)}` : "Before: no answer"),
    assumed: (roles: readonly string[]) => `A model would have to be asked again for: ${roles.join(", ")}.`,
    mustAsk: "The model would have to read this again.",
    askAgain: "Ask again with what is left",
    noneLeft: "No passage is left.",
    muted: "muted", pinned: "pinned",
    not: "not as it was given",
    settings: {
      muted: "Without", owners: "Without owner", pinned: "Only", documents: "Without document", passages: "Without a passage of",
      after: "Dated from", before: "Dated to",
    },
    effect: "What is left out, and what that changes",
    undo: (name: string) => `Take back: ${name}`,
    more: (k: number) => `${n(k)} more`,
    silent: (k: number) => `${count(k, "other source")} gave no answer.`,
    muteDocument: "Mute this document", mutePassage: "Mute this passage",
  },
  exports: {
    title: "Save",
    html: "Web page", markdown: "Markdown", json: "JSON", bibtex: "BibTeX", print: "Print",
    link: "Copy the link", copied: "Link copied",
  },
  compare: {
    title: "Compare",
    hint: "One question, up to three strategies or models, side by side.",
    variant: (k: number) => `Variant ${n(k)}`,
    add: "Add another", remove: "Remove",
    run: "Compare",
    onlyHere: "only here",
    otherVerdict: "other verdict",
    agree: "The answers are the same.",
    differ: "The answers differ.",
    open: "Open in full",
    gone: "One of these answers is no longer kept.",
  },
  sources: {
    title: "Sources",
    filter: "Filter",
    filterHint: "name or owner",
    columns: {
      name: "Source", owner: "Owner", reliability: "Reliability", answered: "Answered", agreed: "Agreed",
      group: "Group", updated: "Estimated",
    },
    stale: "stale", staleMeans: "its passages have changed since",
    shown: (k: number, all: number) => `${n(k)} of ${count(all, "source")}`,
    none: "There are no sources yet: add documents first.",
    chance: "The tick in the middle of a bar is chance; the line is the 95% interval.",
    graph: "Copies and owners",
    graphHint: "Sources that share a line are not independent.",
    asTable: "Show as a table",
    noTies: "No source copies another, and none share an owner.",
    agree: {
      title: "Who agrees",
      hint: (k: number) => `How often two sources give the same answer: ${count(k, "question")} of calibrations and kept answers. Pairs with fewer than five in common are left out.`,
      graph: "Lines join sources that agree or differ; the table beside it says the same",
      often: "the same answer two times in three, or more often", seldom: "another answer two times in three, or more often",
      second: "And", share: "Same answer",
      of: (agreed: number, shared: number) => `${n(agreed)} of ${n(shared)}`,
    },
    ownedBy: "one owner,",
    others: "other sources:",
    cost: "What it costs",
    plan: (questions: number, sources: number, calls: number, seconds: number | null) =>
      `${count(questions, "question")} to ${count(sources, "source")}: about ${count(calls, "call")}${seconds === null ? "" : `, about ${n(Math.ceil(seconds / 60))} min`}.`,
    calibrateNotAllowed: "This server only reads. Start it with --allow-writing to estimate here.",
    together: "Count as one", because: "Because",
    copies: "copies or shared errors",
    record: (name: string) => `Record of ${name}`,
    noRecord: "There is no record of questions for this source yet.",
    editOwner: "Change the owner", save: "Save",
    calibrate: "Estimate reliability", calibrateHint: "Sources are checked against each other, without labels.",
    questions: "Questions", start: "Start", estimating: "Estimating", done: "Done. The table has the new figures.",
    unknownAll: "No reliability is known yet. Estimate it to see how often each source is right.",
    passages: "Passages",
  },
  documents: {
    title: "Documents",
    drop: "Drop files or a folder here",
    choose: "Choose files", chooseFolder: "Choose a folder",
    notAllowed: "This server only reads. Start it with --allow-writing to add documents here.",
    none: "The index is empty.", noMatch: "No document matches.",
    columns: {
      title: "Document", type: "Type", size: "Size", date: "Date", source: "Source", owner: "Owner",
      authority: "Authority", passages: "Passages", read: "Read", version: "Version", hidden: "Hidden characters",
    },
    count: (k: number) => count(k, "document"),
    ofAll: (k: number, all: number) => `${n(k)} of ${count(all, "document")}`,
    first: (k: number) => `The first ${n(k)} are listed.`,
    size: (bytes: number) => bytes < 1000 ? `${n(bytes)} B` : bytes < 1e6 ? `${n(Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`,
    row: (row: number) => `row ${n(row)}`,
    search: "Search", searchHint: "title, file, source or owner",
    kind: "Type", every: "all", state: "State",
    states: { all: "all", muted: "muted", draft: "draft", superseded: "superseded", undated: "without a date", hidden: "with hidden text" },
    muted: "muted", draft: "draft", superseded: "superseded", retracted: "retracted",
    supersededBy: "In its place stands",
    page: (k: number, all: number) => `Page ${n(k)} of ${n(all)}`, previous: "Previous", next: "Next",
    back: "All documents", gone: "This document is no longer in the index.",
    mute: "Mute", unmute: "Unmute",
    muteHint: "No question reads a muted document; it stays in the index.",
    edit: "Edit", save: "Save", saved: "Saved.", replace: "Replace",
    replaceHint: "The newer file is read, and stated to replace this document, which stays for questions about the past.",
    replaced: "The newer file is read, and stands in the place of this one.",
    remove: "Delete", removed: (name: string) => `“${name}” is deleted.`, putBack: (name: string) => `“${name}” is back.`, undo: "Undo",
    removeHint: "It can be undone for 30 days.",
    fields: {
      title: "Title", date: "Date", source: "Source", owner: "Owner", authority: "Authority", status: "Status", replaces: "Replaces",
    },
    fieldHints: { date: "2021, 2021-05 or 2021-05-31", replaces: "name of a file, or a document's id" },
    authorities: { "": "not stated", binding: "binding", official: "official", primary: "primary", secondary: "secondary", informal: "informal" },
    statuses: { "": "not stated", current: "current", corrected: "corrected", concern: "expression of concern", retracted: "retracted" },
    stands: "What you state here stands above what the document says. An empty field takes it back.",
    facts: "About it", file: "File", unrecorded: "This index keeps no size, hash or time of reading, so the original cannot be opened.", history: "What people stated", noHistory: "Nothing was stated about it.",
    takeBack: "Take back", takenBack: "taken back",
    says: (field: string, value: string) => `${field}: ${value || "taken back"}`,
    by: { http: "on the page", cli: "on the command line", python: "in Python" } as Record<string, string>,
    answers: "Answers that cite it", noAnswers: "No kept answer cites it.",
    against: "What it contradicts", noAgainst: "Nothing that is in the index contradicts it.", checking: "Comparing documents…",
    changes: "Changes", what: {
      deleted: "Deleted", stated: "Stated", "taken back": "Taken back", uploaded: "Uploaded", accepted: "Conflict accepted", reopened: "Conflict opened again",
    } as Record<string, string>,
    undone: "undone",
    /** Why a file was refused, and whether that is all there is to say; empty where the server's own message is in this language. */
    refusal: (_code: string, _data: Readonly<Record<string, string | number>>) => ({ text: "", whole: false }),
    /** What to do about a refused file, by the code of the refusal. */
    remedies: {
      unreadable: "Open it in the program that made it, save it anew, and drop it here again.",
      encrypted: "Save it without a password or other protection, and drop that here.",
      too_large: "Divide it into smaller files.",
      too_slow: "Divide it, or save it in a simpler format such as text or PDF.",
      no_text: "There is nothing to read in it: leave it out.",
      scan: "Run text recognition (OCR) over it, and drop the result here.",
      unknown_type: "Save it as text, PDF, DOCX, HTML or CSV, and drop that here.",
      encoding: "Save it as UTF-8, and drop it here again.",
      missing_package: "Ask whoever runs this server to install the package that the reason names.",
      missing_column: "Name its columns as they are, with “disputatio ingest --map”.",
      bad_row: "Correct the row in its file, and drop the file here again.",
      unsafe: "Unpack or copy it yourself, if you know where it comes from, and drop the files here.",
      not_found: "Check that the path is right and may be read.",
      changed: "Drop it here again once nothing writes to it.",
      not_fetched: "Check the address in a browser, or save the page and drop the file here.",
      unconfined: "Ask whoever runs this server to read it under Linux, macOS or WSL.",
    } satisfies Record<RefusalCode, string> as Record<RefusalCode, string>,
    refused: "Refused", refusedAgain: "Dropped again and read, a file leaves this list.", forget: "Clear the list",
    upload: {
      title: (k: number, all: number) => `${n(k)} of ${count(all, "file")} done`,
      states: { waiting: "waiting", sending: "sending", reading: "reading", read: "read", refused: "refused", failed: "failed" },
      done: (read: number, refused: number) => refused ? `${count(read, "file")} read, ${n(refused)} refused.` : `${count(read, "file")} read.`,
      result: (added: number, replaced: number, unchanged: number) => `${count(added, "document")} added, ${n(replaced)} replaced, ${n(unchanged)} unchanged.`,
      tooLarge: "is larger than 60 MB: put it in with “disputatio ingest”.",
      stop: "Stop after this", clear: "Close", files: "Files of this upload",
      more: (k: number) => `and ${n(k)} more`,
    },
  },
  conflictView: {
    title: "Conflicts",
    hint: "Statements of two documents that cannot both hold. No question and no model: code compares values.",
    compared: (documents: number, statements: number) => `${count(documents, "document")}, ${count(statements, "statement")} compared`,
    none: "The documents do not contradict each other, as far as code can tell.",
    noMatch: "None of this kind.", noTopic: "without a topic",
    count: (k: number, all: number) => `${n(k)} of ${count(all, "conflict")}`,
    least: "At least", by: "By",
    severities: { low: "low", medium: "medium", high: "high" },
    states: { open: "open", accepted: "accepted", all: "all" },
    groups: { topic: "topic", documents: "documents", severity: "severity" },
    kinds: {
      value: "different values", date: "different dates", negation: "one denies the other", definition: "different definitions", version: "versions differ",
    } as Record<string, string>,
    inForce: "in force", newer: "newer", higher: "higher authority", moreReliable: "more reliable", holds: "holds",
    also: (k: number) => `also in ${count(k, "other document")}`,
    scope: "Only one of them says:", toSettle: "To settle it:",
    /** What would settle it; the server words it in this language. */
    remedy: (each: Conflict): string => each.settled_by,
    decide: "Decide", why: "Why", sideHolds: (value: string) => `“${value}” holds`,
    accept: "Accept as it is", acceptHint: "It stays in the documents, and is no longer counted as new.",
    accepted: "accepted", settled: "settled", reopen: "Open again",
    forms: { html: "Web page", json: "JSON", sarif: "SARIF", baseline: "Baseline for disputatio check" },
  },
  source: {
    title: "What it says",
    pages: "Pages", text: "Text", save: "Save the original", cite: "Copy a citation", copied: "Citation copied",
    byHand: "The citation, to be copied by hand",
    forms: { plain: "Plain text", markdown: "Markdown", bibtex: "BibTeX", csl: "CSL-JSON" },
    earlier: "… the text before this is left out", later: "… the text after this is left out",
    table: "The table, with the row marked", row: "Row",
    missing: "The words were not found on the pages nearby.", showText: "Show the text that was read",
    broken: "This PDF cannot be drawn here.", marked: "Marked on this page:",
    toMark: (page: number) => `Back to the marked words on page ${n(page)}`,
    pageOf: (page: number, file: string) => `Page ${n(page)} of ${file}`,
    open: "Show it in its document",
  },
  runs: {
    title: "Runs",
    notAllowed: "This server shows no evaluations: start it with --runs DIR.",
    none: "There are no evaluation reports here. “disputatio eval run” makes them.",
    hint: "Evaluations that were run, and the rows where two strategies differ.",
    columns: {
      name: "Run", datasets: "Data sets", strategies: "Strategies", strategy: "Strategy", n: "Rows",
      abstained: "Abstained", failed: "Failed", cost: "Calls a row", seconds: "Seconds a row",
    },
    gold: "Right", better: "better",
    differing: (differ: number, shared: number) => `${n(differ)} of ${count(shared, "row")} differ`,
    differ: "Rows where two differ",
    row: (k: number) => `Row ${n(k)}`,
    noDifference: "These two strategies agree on every row.",
    back: "All runs",
    first: "First", second: "Second",
  },
  start: {
    title: "There is nothing to ask yet",
    hint: "The index is empty. Add documents that may disagree, or open the example.",
    readOnly: "The index is empty, and this server only reads. Put documents in with “disputatio ingest PATH”, or start it with --allow-writing to add them here.",
    drop: "Add documents",
    example: "Open the example",
    exampleHint: "The example is a small town: eleven files of eight sources that disagree about its ferry, its lighthouse and its people.",
    opening: "Reading the example",
    tryThese: "Questions to begin with",
    suggested: "Questions that these documents could answer",
    lead: "Ask your documents. Every answer shows what each source says, why an answer was accepted, and what would change it.",
    recent: "Asked before",
    verdicts: {
      accepted: "part of the answer",
      rejected: "not part of it, with the reason",
      unresolved: "nothing that was read settles it",
    },
  },
  engine: {
    /** What it waits for; the server's sentence follows. */
    downloading: "", waiting: "",
    bytes: (done: number, all: number | null) =>
      all ? `${(done / 1e6).toFixed(0)} of ${(all / 1e6).toFixed(0)} MB` : `${(done / 1e6).toFixed(0)} MB`,
  },
  token: { title: "This server needs a token", label: "Token", enter: "Enter" },
  help: {
    title: "Keys",
    open: "Keys and help",
    keys: [
      ["/", "write a question"], ["j  k", "next and previous quote"], ["1 – 9", "go to a position"],
      ["m", "mute the source of the quote"], ["p", "pin it"], ["Esc", "close the passage, or stop the answer"], ["?", "these keys"],
    ] as readonly (readonly [string, string])[],
    marks: "Marks",
    typefaces: "Sans serif text is from Disputatio; serif text is from documents.",
  },
};
