/** One citation, in the forms that people paste: plain, Markdown, BibTeX and CSL-JSON. Texts stay text in each. */
import { line, md, tex } from "./exports";
import { webAddress } from "./text";

export interface Cited {
  title: string;
  source: string;
  date: string;
  url: string;
  page: string;
  quote: string;
  /** Where it stands here: the address of the place, for those who have this server. */
  here: string;
}

export const CITE_FORMS = ["plain", "markdown", "bibtex", "csl"] as const;
export type CiteForm = (typeof CITE_FORMS)[number];

export function cite(cited: Cited, form: CiteForm): string {
  switch (form) {
    case "plain": return parts(cited).map(line).join(". ").replace(/\.\./g, ".") + (cited.quote ? `: “${line(cited.quote)}”` : "");
    case "markdown": {
      const address = webAddress(cited.url) ?? cited.here;
      const name = `[${md(cited.title || cited.source)}](<${address.replace(/[<>\s]/g, "")}>)`;
      const rest = parts({ ...cited, title: "", url: "" }).map(md).join(", ");
      return `${cited.quote ? `> ${md(cited.quote)}\n>\n> ` : ""}${name}${rest ? `, ${rest}` : ""}`;
    }
    case "bibtex": return bibtex(cited);
    case "csl": return JSON.stringify([csl(cited)], null, 1);
  }
}

function parts(cited: Cited): string[] {
  const own = cited.source !== cited.title ? cited.source : "";
  return [cited.title, own, cited.date, cited.page && `p. ${cited.page}`, webAddress(cited.url) ?? ""].filter(Boolean);
}

function key(cited: Cited): string {
  const words = (cited.source || cited.title).match(/[a-z0-9]+/gi) ?? ["document"];
  return [words.slice(0, 4).join("-").slice(0, 40), cited.date.slice(0, 4)].filter((part) => /^[\w-]+$/.test(part)).join("-");
}

function bibtex(cited: Cited): string {
  const fields: [string, string][] = [
    ["title", tex(cited.title || cited.source)],
    ["organization", tex(cited.source)],
    ["date", /^[\d-]{4,10}$/.test(cited.date) ? cited.date : ""],
    ["url", webAddress(cited.url)?.replace(/[{}\\\s]/g, "") ?? ""],
    ["pages", tex(cited.page)],
    ["annotation", tex(cited.quote)],
  ];
  return `@online{${key(cited)},\n${fields.filter(([, value]) => value).map(([name, value]) => `  ${name} = {${value}},\n`).join("")}}\n`;
}

function csl(cited: Cited): Record<string, unknown> {
  const day = /^(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?/.exec(cited.date);
  const address = webAddress(cited.url);
  return {
    id: key(cited), type: address ? "webpage" : "document", title: line(cited.title || cited.source), publisher: line(cited.source),
    ...(day ? { issued: { "date-parts": [day.slice(1).filter(Boolean).map(Number)] } } : {}),
    ...(address ? { URL: address } : {}), ...(cited.page ? { page: line(cited.page) } : {}), ...(cited.quote ? { note: line(cited.quote) } : {}),
  };
}
