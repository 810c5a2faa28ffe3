/** Text of documents and models: untrusted, cut by code points as the library does. */

/** The index in UTF-16 of a code point's index, which is what the library counts in. */
export function unitsAt(text: string, points: number): number {
  let unit = 0;
  for (let point = 0; point < points && unit < text.length; point++) {
    const code = text.codePointAt(unit) ?? 0;
    unit += code > 0xffff ? 2 : 1;
  }
  return unit;
}

export interface Span {
  start: number;
  end: number;
}

/** A citation's span in the text as JavaScript counts; null where the text is not long enough for it. */
export function spanOf(text: string, start: number, end: number): Span | null {
  if (!(start >= 0 && end > start)) return null;
  const span = { start: unitsAt(text, start), end: unitsAt(text, end) };
  return span.end > span.start ? span : null;
}

/** Where a quote stands in a text: as it is, or with other white space; null where it does not. */
export function find(text: string, quote: string): Span | null {
  const wanted = quote.trim();
  if (!wanted || wanted.length > 4000) return null;
  const start = text.indexOf(wanted);
  if (start >= 0) return { start, end: start + wanted.length };
  const words = wanted.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const match = new RegExp(words.join("\\s+"), "iu").exec(text);
  return match ? { start: match.index, end: match.index + match[0].length } : null;
}

/** The side from which a text is read, by its first letter. */
export function directionOf(text: string): "ltr" | "rtl" {
  const letter = /\p{L}/u.exec(text)?.[0] ?? "";
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(letter) ? "rtl" : "ltr";
}

export interface Piece {
  text: string;
  /** Whether it is a character without ink, named by its code point. */
  named: boolean;
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const KEPT = new Set(["\n", "\t", "\u200c", "\u200d"]);

/** A text in pieces, its controls and marks of direction by their code points.
 *  Joiners stay, which are parts of letters and emoji. */
export function pieces(text: string): Piece[] {
  if (!UNSEEN.test(text)) return [{ text, named: false }];
  const made: Piece[] = [];
  let plain = "";
  for (const char of text.replace(/\r\n?/g, "\n")) {
    if (KEPT.has(char) || !UNSEEN.test(char)) plain += char;
    else {
      if (plain) made.push({ text: plain, named: false });
      plain = "";
      const point = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      made.push({ text: `U+${point}`, named: true });
    }
  }
  if (plain) made.push({ text: plain, named: false });
  return made;
}

/** A text with its controls named, as one string: for attributes and files. */
export function named(text: string): string {
  return pieces(text)
    .map((piece) => (piece.named ? `[${piece.text}]` : piece.text))
    .join("");
}

/** An address that may be followed: http or https alone. */
export function webAddress(url: string): string | null {
  if (!/^https?:\/\//i.test(url.trim())) return null;
  try {
    const parsed = new URL(url.trim());
    return parsed.protocol === "http:" || parsed.protocol === "https:" ? parsed.href : null;
  } catch {
    return null;
  }
}

/** How old what is of an ISO date is, in whole years, or months below one; null for less, and for what is to come. */
export function ageOf(date: string, today = new Date()): { number: number; unit: "years" | "months" } | null {
  const known = /^(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?/.exec(date);
  if (!known) return null;
  const [year, month, day] = known.slice(1).map((part) => Number(part ?? 1)) as [number, number, number];
  const months = (today.getFullYear() - year) * 12 + today.getMonth() + 1 - month - (today.getDate() < day ? 1 : 0);
  return months < 1 ? null : months < 12 ? { number: months, unit: "months" } : { number: Math.floor(months / 12), unit: "years" };
}
