/** Why a position has its verdict, in German: from its cause as data, never from the server's English. */
import type { Conflict, Position, RefusalCode, Remedy } from "../api/types";

/** What supports an answer (`Support` of Python). */
interface Support {
  passages: number | null;
  sources: number | null;
  groups: number | null;
  joined: string[];
  weight: number | null;
  date: string;
  probability: number | null;
  authority: string;
  declared: number | null;
}

interface Rival { answer: string; support: Support }

/** `Cause` of Python, without its kind. */
interface Cause {
  support: Support;
  rivals: Rival[];
  feature: string | null;
  strategy: string;
  options: number | null;
  notes: number | null;
  confidence: string | null;
  remembered: boolean;
  succession: string;
  quote: string;
  remark: string;
}

const NO_SUPPORT: Support = {
  passages: null, sources: null, groups: null, joined: [], weight: null, date: "", probability: null, authority: "", declared: null,
};
const NO_CAUSE: Omit<Cause, "support"> = {
  rivals: [], feature: null, strategy: "", options: null, notes: null, confidence: null, remembered: false, succession: "", quote: "", remark: "",
};
const LONGEST_QUOTE = 200;

const numbers = new Intl.NumberFormat("de");
const weights = new Intl.NumberFormat("de", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const shares = new Intl.NumberFormat("de", { style: "percent", maximumFractionDigits: 0 });

const counted = (k: number, one: string, many: string): string => `${numbers.format(k)} ${k === 1 ? one : many}`;
const passagesOf = (k: number): string => counted(k, "Textstelle", "Textstellen");
const sourcesOf = (k: number): string => counted(k, "Quelle", "Quellen");
const quoted = (text: string): string => `„${text}“`;

export const authorities = {
  binding: "bindend", official: "amtlich", primary: "aus erster Hand", secondary: "aus zweiter Hand", informal: "formlos",
};
const ranks: Record<string, string> = authorities;

export const joined: Record<string, string> = {
  publisher: "ein Herausgeber", copies: "Abschriften", alike: "einander sehr ähnlich", superseded: "abgelöst",
};

export const weaknesses: Record<string, string> = {
  votes: "keine andere Quelle stützt es",
  lead: "die Textstelle handelt von etwas anderem",
  certainty: "das Modell war unsicher, als es sie las",
  answered: "die Textstelle beantwortet die Frage kaum",
  kind: "es ist nicht von der Art, nach der gefragt ist",
  language: "kein Sprachmodell hat sie gelesen, und der Encoder kennt die Sprache der Frage nicht",
  thing: "die Textstelle spricht von einer anderen Sache als der, nach der gefragt ist",
  ground: "die Textstelle nennt zu wenig von dem, wonach gefragt ist",
  orders: "die Textstelle, oder was ihr Dokument verbirgt, gibt dem Leser Anweisungen",
  hearsay: "die Textstelle hat es nur vom Hörensagen",
  talk: "es ist nur in einem Gespräch gesagt",
  prose: "es steht zwischen Verweisen oder Zahlen, nicht in einem Text",
  kinship: "sonst stützt es nichts",
  resemblance: "sonst stützt es nichts",
};

export const successions: Record<string, (rival: string) => string> = {
  replaces: (rival) => `abgelöst: Was ${rival} sagt, ersetzt es`,
  amends: (rival) => `abgelöst: Was ${rival} sagt, ändert es`,
  corrects: (rival) => `abgelöst: Was ${rival} sagt, berichtigt es`,
  withdrawn: (rival) => `zurückgezogen, und ${rival} ist in Kraft`,
  draft: (rival) => `ein Entwurf, und ${rival} ist in Kraft`,
  version: (rival) => `abgelöst: Eine höhere Fassung sagt ${rival}`,
  date: (rival) => `abgelöst: Eine spätere Fassung sagt ${rival}`,
  expired: (rival) => `nicht mehr in Kraft, anders als ${rival}`,
  not_in_force: (rival) => `noch nicht in Kraft, anders als ${rival}`,
};

interface Facts {
  cause: Cause;
  supported: string;
  against: string;
  rival: string;
  rivals: string;
  rivalSupport: Support;
  weights: string;
  chances: string;
  votes: string;
}

const held = ({ supported, against, votes }: Facts): string => `${supported}${against}${votes}`;

/** The sentence of each kind of cause. */
export const sentences: Record<string, (facts: Facts) => string> = {
  unanimous: ({ supported, cause }) => `${supported}; keine ${cause.support.passages === null ? "Quelle" : "Textstelle"} sagt etwas anderes`,
  unopposed: ({ supported }) => `${supported}; keine andere Antwort dazu bleibt stehen`,
  most_votes: held,
  more_reliable: ({ supported, against, weights }) => `${supported}${against}; die eigenen Quellen sind verlässlicher (${weights})`,
  higher_authority: ({ supported, against, weights, cause }) =>
    `${supported}${against}; der eigene Rang ist ${rank(cause.support)} (${weights}, davon ${decimal(cause.support.declared ?? 0)} aus angegebenem Rang)`,
  newest: ({ supported, against, cause }) => `${supported}${against}; trägt das jüngste Datum (${cause.support.date})`,
  likeliest: ({ supported, against, chances }) => `${supported}${against}; ist eher richtig (${chances})`,
  fits_best: ({ supported, against }) => `${supported}${against}; beantwortet von allen Zitaten nebeneinander die Frage am besten`,
  met_first: ({ supported, rivals }) => `${supported}, ebenso gut gestützt wie ${rivals}, und kam zuerst`,
  kept: ({ supported }) => supported,
  cited: ({ cause }) => `${passagesOf(cause.support.passages ?? 0)} dafür zitiert`,
  picked: ({ cause }) => `unter ${counted(cause.options ?? 0, "Antwort", "Antworten")} gewählt (Notizen: ${numbers.format(cause.notes ?? 0)})`,
  off_topic: ({ supported, cause }) => `${supported}; beantwortet die Frage nicht: ${weaknesses[cause.feature ?? ""] ?? "zu wenig stützt es"}`,
  altered_copy: ({ supported, rivals }) => `${supported}; sieht aus wie die veränderte Abschrift einer Textstelle, die ${rivals} sagt`,
  outvoted: held,
  owner_or_copy: held,
  less_reliable: ({ supported, against, weights }) => `${supported}${against}; die Quellen dort sind verlässlicher (${weights})`,
  lower_authority: ({ supported, against, weights, rivalSupport }) => `${supported}${against}; der Rang dort ist ${rank(rivalSupport)} (${weights})`,
  retracted: ({ supported }) => `${supported}; zurückgezogen`,
  in_force: ({ supported, rivals }) => `${supported}; in Kraft, anders als ${rivals}`,
  superseded: ({ supported, rival, rivalSupport, cause }) => `${supported}; ${succeeded(cause, rival, rivalSupport)}`,
  compared: () => "zitiert, wo die Änderung steht",
  later: ({ supported, cause }) => `${supported}${cause.support.date && `, datiert ${cause.support.date}`}; später als das, wonach gefragt wurde`,
  older: ({ supported, rival, rivalSupport, cause }) =>
    `${supported}, zuletzt datiert ${cause.support.date}, älter als ${rival} (${rivalSupport.date || "neuer"})`,
  less_likely: ({ supported, rivals, chances }) => `${supported}, ebenso gut gestützt wie ${rivals}, aber weniger wahrscheinlich richtig (${chances})`,
  fits_less: ({ supported }) => `${supported}; von allen Zitaten nebeneinander beantworten andere die Frage besser`,
  disbelieved: ({ supported }) => `${supported}; das Modell selbst hält es für weniger wahrscheinlich als die anderen`,
  yielded: ({ supported }) => `${supported}; der eigene Leser gab es in der Debatte auf`,
  not_kept: ({ supported, against, cause }) => `${supported}${against}; nicht unter den Antworten, die ${cause.strategy || "das Verfahren"} behielt`,
  unresolved: ({ supported, rivals }) => `${supported}, ebenso gut gestützt wie ${rivals}: Nichts, was gelesen wurde, entscheidet es`,
  unsupported: ({ supported }) => `${supported}; was dafür zitiert wurde, stützt es nicht`,
  unsure: ({ supported }) => `${supported}; nicht wahrscheinlich genug richtig`,
};

const SIDES = { first: "die erste Aussage", second: "die zweite Aussage", "": "eine der Aussagen" };

/** What would settle a contradiction, by its kind. */
export const settlings: Record<Remedy, (each: Conflict) => string> = {
  find_writer: (each) => `${SIDES[each.first.gives_orders ? "first" : "second"]} gibt ihrem Leser Anweisungen: Finden Sie heraus, wer sie schrieb, bevor sie zählt`,
  state_scope: () => "Sagen Sie in beiden Dokumenten, wofür die Aussage gilt",
  correct_other: (each) => `${SIDES[each.holds]} ist in Kraft: Nehmen Sie die andere zurück, oder berichtigen Sie sie`,
  correct_both: () => "eine andere Fassung ist in Kraft: Nehmen Sie beide zurück, oder berichtigen Sie sie",
  state_version: () => "Sagen Sie in einer der Fassungen, dass sie die andere ersetzt, oder datieren Sie beide",
  correct_lower: (each) => `${SIDES[each.higher]} hat den höheren Rang: Berichtigen Sie die andere`,
  renew_higher: () => "die Aussage von höherem Rang ist die ältere: Lassen Sie sie bestätigen oder erneuern",
  confirm_older: (each) => `${SIDES[each.newer]} ist neuer: Lassen Sie die andere bestätigen oder berichtigen`,
  check_record: (each) => `die Quelle, von der ${SIDES[each.more_reliable]} stammt, war verlässlicher: Prüfen Sie die andere an einem Beleg`,
  ask_owner: () => "zwei Herausgeber, darum entscheidet kein Datum: Fragen Sie, wer es wissen muss, oder geben Sie einen Rang oder denselben Eigentümer an",
  date_both: () => "von keiner ist bekannt, dass sie neuer ist oder höheren Rang hat: Datieren Sie beide, oder fragen Sie, wer es wissen muss",
};

export function remedyOf(each: Conflict): string {
  return each.remedy ? settlings[each.remedy](each) : each.settled_by;
}

/** Why a file was refused, by its code; the server's own message has the particulars. */
export const refusals: Record<RefusalCode, string> = {
  unreadable: "Sie lässt sich nicht lesen.",
  encrypted: "Sie ist verschlüsselt.",
  too_large: "Sie ist zu groß.",
  too_slow: "Sie zu lesen dauerte zu lange.",
  no_text: "Sie enthält keinen Text.",
  scan: "Sie enthält Bilder von Seiten statt Text.",
  unknown_type: "Dateien dieser Art werden nicht gelesen.",
  encoding: "Ihre Zeichen sind anders kodiert als angegeben.",
  missing_package: "Zum Lesen fehlt dem Server ein Paket.",
  missing_column: "Ihr fehlt eine Spalte.",
  bad_row: "Eine Zeile ist fehlerhaft.",
  unsafe: "Sie zu lesen wäre nicht sicher.",
  not_found: "Sie ist nicht da oder darf nicht gelesen werden.",
  changed: "Sie wurde geändert, während sie gelesen wurde.",
  not_fetched: "Die Adresse ließ sich nicht abrufen.",
  unconfined: "Dieses System kann sie nicht abgeschirmt lesen.",
};

/** What a refusal names (`RefusalData` of Python): its limit, what there is of it, and the like. */
export type RefusalData = Readonly<Record<string, string | number>>;

const UNITS: Record<string, string> = { characters: "Zeichen", seconds: "Sekunden", files: "Dateien", chapters: "Kapitel" };

const TYPES: Record<string, string> = { "a folder": "Ordner", "a named pipe": "benannte Pipe", "a socket": "Socket", "a device": "Gerät", "something else": "unbekannt" };

function amount(value: string | number | undefined, unit: string): string {
  if (typeof value !== "number") return "";
  if (unit.startsWith("bytes")) return `${numbers.format(Math.ceil(value / 2 ** 20 * 100) / 100)} MB${unit === "bytes" ? "" : " Speicher"}`;
  return `${numbers.format(value)} ${UNITS[unit] ?? unit}`;
}

/** What a refusal names, as sentences; empty where it names nothing. */
function particulars(data: RefusalData): string {
  const unit = String(data.unit ?? "");
  const limit = amount(data.limit, unit);
  const size = amount(data.size, unit);
  return [
    limit && `Die Grenze liegt bei ${limit}${size ? `, hier sind es ${size}` : ""}.`,
    data.package && `Das Paket heißt ${data.package}.`,
    data.column && `Die Spalte heißt „${data.column}“.`,
    data.field && `Es geht um das Feld „${data.field}“.`,
    data.suffix && `Ihre Endung ist ${data.suffix}.`,
    data.type && `Sie ist von der Art „${TYPES[data.type] ?? data.type}“.`,
    data.status && `Der Server antwortete mit dem Status ${data.status}.`,
  ].filter(Boolean).join(" ");
}

/** Why a file was refused, and whether that is all that the server's own sentence says. */
export function refusalOf(code: string, data: RefusalData): { text: string; whole: boolean } {
  const named = particulars(data);
  const kind = refusals[code as RefusalCode] ?? "";
  return { text: [kind, named].filter(Boolean).join(" "), whole: Boolean(kind && named) };
}

const SURE: Record<string, string> = { high: "hohe Sicherheit", medium: "mittlere Sicherheit", low: "geringe Sicherheit" };

/** The reason of a position. An answer of an earlier version, which has no support as data, keeps the server's sentence. */
export function reasonOf({ cause: kind, details, reason }: Position): string {
  const given = details as Partial<Cause>;
  if (!given.support) return reason;
  const cause: Cause = {
    ...NO_CAUSE, ...given, support: { ...NO_SUPPORT, ...given.support },
    rivals: (given.rivals ?? []).map(({ answer, support }) => ({ answer, support: { ...NO_SUPPORT, ...support } })),
  };
  const first = cause.rivals[0];
  const rivalSupport = first?.support ?? NO_SUPPORT;
  const rivals = cause.rivals.map((each) => quoted(each.answer)).join(" und ") || "eine andere Antwort";
  const facts: Facts = {
    cause, rivals, rivalSupport,
    supported: stated(cause.support),
    against: cause.rivals.length ? `, gegen ${cause.rivals.map((each) => `${supportOf(each.support)} für ${quoted(each.answer)}`).join(", ")}` : "",
    rival: first ? quoted(first.answer) : "eine andere Antwort",
    weights: weighed(cause),
    chances: compared(cause, (support) => support.probability, (value) => shares.format(value)),
    votes: isNumber(cause) ? "" : `; die Stimmen wiegen ${weighed(cause)}`,
  };
  const before = [SURE[cause.confidence ?? ""], cause.remembered && "aus dem Gedächtnis des Modells"].filter(Boolean);
  const after = kind !== "off_topic" && cause.feature === "talk" && weaknesses.talk;
  return `${[...before, (sentences[kind] ?? held)(facts), after].filter(Boolean).join("; ")}${cause.remark && ` (${cause.remark})`}`;
}

function stated(support: Support): string {
  if (support.passages === null) return `gegeben von ${supportOf(support)}`;
  return support.passages ? `steht in ${supportOf(support)}` : "keine gelesene Textstelle sagt es mit diesen Worten";
}

function supportOf({ passages, sources, groups, joined: why }: Support): string {
  if (passages === null) {
    const all = sources ?? 0;
    if (groups === null || groups >= all) return sourcesOf(all);
    return `${sourcesOf(all)} (${numbers.format(groups)} unabhängig, ${counted(all - groups, "Abschrift", "Abschriften")})`;
  }
  if (groups !== null) {
    if (groups >= passages) return passagesOf(passages);
    const because = why.map((each) => joined[each] ?? each).join(", ");
    return `${passagesOf(passages)}, die als ${numbers.format(groups)} ${passages === 1 ? "zählt" : "zählen"}${because && ` (${because})`}`;
  }
  return sources ? `${passagesOf(passages)} aus ${sourcesOf(sources)}` : passagesOf(passages);
}

function succeeded(cause: Cause, rival: string, { date }: Support): string {
  const text = successions[cause.succession]?.(rival) ?? `abgelöst von ${rival}`;
  const dates = cause.support.date && date > cause.support.date ? ` (${date} nach ${cause.support.date})` : "";
  const quote = cause.quote.replace(/\s+/g, " ").trim().slice(0, LONGEST_QUOTE);
  return `${text}${dates}${quote && `: ${quoted(quote)}`}`;
}

function decimal(value: number): string {
  return weights.format(value);
}

function rank(support: Support): string {
  return ranks[support.authority] ?? (support.authority || "nicht angegeben");
}

/** A figure of the position against that of its strongest rival. */
function compared(cause: Cause, of: (support: Support) => number | null, shown: (value: number) => string): string {
  const figures = [cause.support, ...cause.rivals.slice(0, 1).map((each) => each.support)].map(of).filter((each) => each !== null);
  return figures.map(shown).join(" gegen ") || "nicht bekannt";
}

function weighed(cause: Cause): string {
  return compared(cause, (support) => support.weight, decimal);
}

/** Whether the votes weigh just as many as they are. */
function isNumber(cause: Cause): boolean {
  return [cause.support, ...cause.rivals.slice(0, 1).map((each) => each.support)]
    .every(({ weight, groups, passages, sources }) => weight === null || weight === (groups ?? passages ?? sources));
}
