/** pdf.js, loaded only when a PDF is opened. Its worker is the one script that the page's policy lets be named by text. */
import * as pdfjs from "pdfjs-dist/legacy/build/pdf.mjs";
import workerAddress from "pdfjs-dist/legacy/build/pdf.worker.min.mjs?url";
import type { PDFDocumentProxy, PDFPageProxy, PageViewport } from "pdfjs-dist";

interface Policies {
  createPolicy(name: string, rules: { createScriptURL: (text: string) => string }): { createScriptURL(text: string): string };
}

let worker: Worker | null = null;

function workerOf(): Worker {
  const policies = (window as { trustedTypes?: Policies }).trustedTypes;
  const address = new URL(workerAddress, window.location.href).href;
  const rule = { createScriptURL: (text: string) => { if (text !== address) throw new TypeError(text); return text; } };
  worker ??= new Worker(policies ? policies.createPolicy("pdf-worker", rule).createScriptURL(address) : address, { type: "module" });
  return worker;
}

/** Open a PDF: no scripts of it run, no address in it is asked for, and pictures are bounded. */
export async function openPdf(content: ArrayBuffer): Promise<PDFDocumentProxy> {
  pdfjs.GlobalWorkerOptions.workerPort = workerOf();
  return pdfjs.getDocument({
    data: new Uint8Array(content), enableXfa: false, useWasm: false, useWorkerFetch: false, maxImageSize: 1 << 25,
    disableAutoFetch: true, disableStream: true, stopAtErrors: false, verbosity: 0,
  }).promise;
}

export interface Box { left: number; top: number; width: number; height: number }

interface Letter { item: number; at: number }
interface TextPiece { str: string; transform: number[]; width: number; height: number; fontName: string }

/** Letters and digits alone, folded, so that line breaks, hyphens and ligatures do not matter. */
function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** Where a quote stands on a page, as shares of its width and height; null where it does not. */
export async function boxesOf(page: PDFPageProxy, viewport: PageViewport, quote: string): Promise<Box[] | null> {
  const wanted = folded(quote);
  if (!wanted) return null;
  const content = await page.getTextContent({ disableNormalization: false });
  const items = content.items.filter((item) => "str" in item) as TextPiece[];
  let text = "";
  const letters: Letter[] = [];
  for (const [item, { str }] of items.entries()) {
    let at = 0;
    for (const char of str) {
      const kept = folded(char);
      text += kept;
      for (let i = 0; i < kept.length; i++) letters.push({ item, at });
      at += char.length;
    }
  }
  const place = placeOf(text, wanted);
  if (!place) return null;
  const ranges = new Map<number, { from: number; to: number }>();
  for (const letter of letters.slice(place.start, place.end)) {
    const range = ranges.get(letter.item);
    ranges.set(letter.item, { from: range?.from ?? letter.at, to: letter.at + 1 });
  }
  const pen = document.createElement("canvas").getContext("2d");
  return [...ranges].flatMap(([number, { from, to }]) => {
    const item = items[number];
    if (!item || !pen) return [];
    const [a, b, , , x, y] = pdfjs.Util.transform(viewport.transform, item.transform) as number[];
    if (a === undefined || b === undefined || x === undefined || y === undefined || Math.abs(b) > Math.abs(a)) return [];
    const size = Math.hypot(item.transform[2] ?? 0, item.transform[3] ?? 0) * viewport.scale;
    pen.font = `100px ${content.styles[item.fontName]?.fontFamily ?? "sans-serif"}`;
    const whole = pen.measureText(item.str).width || 1;
    const width = item.width * viewport.scale;
    const left = x + (width * pen.measureText(item.str.slice(0, from)).width) / whole;
    const right = x + (width * pen.measureText(item.str.slice(0, to)).width) / whole;
    return [{
      left: left / viewport.width, top: (y - 0.86 * size) / viewport.height,
      width: (right - left) / viewport.width, height: (1.12 * size) / viewport.height,
    }];
  });
}

/** The place of the whole quote, or of its first or last half where it goes over the end of a page. */
function placeOf(text: string, wanted: string): { start: number; end: number } | null {
  const whole = text.indexOf(wanted);
  if (whole >= 0) return { start: whole, end: whole + wanted.length };
  if (wanted.length < 40) return null;
  for (let length = wanted.length - 1; length >= 24; length = Math.floor(length * 0.8)) {
    if (text.endsWith(wanted.slice(0, length))) return { start: text.length - length, end: text.length };
    const first = text.indexOf(wanted.slice(0, length));
    if (first >= 0) return { start: first, end: first + length };
    const last = text.indexOf(wanted.slice(-length));
    if (last >= 0) return { start: last, end: last + length };
  }
  return null;
}
