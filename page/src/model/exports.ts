/** An answer as a file: Markdown, BibTeX, JSON and a web page without scripts. Texts are data in all of them. */
import type { Answer, Passage } from "../api/types";
import { language, t } from "../texts";
import { citations, ordered } from "./evidence";
import { named, webAddress } from "./text";

export type Format = "html" | "markdown" | "json" | "bibtex";

export interface File {
  name: string;
  type: string;
  text: string;
}

export function fileOf(answer: Answer, format: Format): File {
  const name = stem(answer.question);
  switch (format) {
    case "json": return { name: `${name}.json`, type: "application/json", text: `${JSON.stringify(answer, null, 1)}\n` };
    case "markdown": return { name: `${name}.md`, type: "text/markdown", text: markdown(answer) };
    case "bibtex": return { name: `${name}.bib`, type: "application/x-bibtex", text: bibtex(answer) };
    case "html": return { name: `${name}.html`, type: "text/html", text: html(answer) };
  }
}

function stem(question: string): string {
  const words = question.normalize("NFKD").toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.slice(0, 8).join("-").slice(0, 60) || "answer";
}

export function line(text: string): string {
  return named(text).replace(/\s+/g, " ").trim();
}

/** Text in Markdown that stays text: no link, image, heading or element. */
export function md(text: string): string {
  return line(text).replace(/[\\`*_{}[\]()#+\-.!|<>~&:@]/g, "\\$&");
}

function verdictLine(answer: Answer): string {
  return answer.answers.length ? answer.answers.map(line).join("; ") : t.answer.none;
}

function facts(answer: Answer): string[] {
  const made = [`${t.conflicts[answer.conflict.kind]?.name}: ${t.conflicts[answer.conflict.kind]?.means}`];
  if (answer.confidence !== null) made.unshift(`${t.answer.sure}: ${t.percent(answer.confidence)}`);
  if (answer.certificate?.owners)
    made.push(t.answer.certificate(answer.certificate.owners, answer.certificate.voters));
  return made;
}

function markdown(answer: Answer): string {
  const passages = new Map(answer.passages.map((passage) => [passage.id, passage]));
  const parts = [`# ${md(answer.question)}`, `**${md(verdictLine(answer))}**`, facts(answer).map((fact) => `- ${md(fact)}`).join("\n")];
  if (answer.text) parts.push(md(answer.text));
  for (const position of ordered(answer.conflict.positions)) {
    parts.push(`## ${t.verdicts[position.verdict]}: ${md(position.answer)}`, md(t.answer.reason(position)));
    const sources = position.sources.map(md).join(", ");
    if (sources) parts.push(sources);
  }
  const cited = citations(answer);
  if (cited.length) {
    parts.push(`## ${t.passage.title}`);
    for (const each of cited) {
      const passage = passages.get(each.passage);
      const address = passage ? webAddress(passage.url) : null;
      parts.push(`${each.n}\\. ${md(each.source)}: “${md(each.quote)}”${address ? ` <${encodeURI(decodeURI(address)).replace(/[<>\s]/g, "")}>` : ""}`);
    }
  }
  parts.push(md(t.cost.by(answer.strategy, answer.model)));
  return `${parts.join("\n\n")}\n`;
}

export function tex(text: string): string {
  const words: Record<string, string> = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  };
  return line(text).replace(/[\\{}~^#$%&_]/g, (char) => words[char] ?? `\\${char}`);
}

function bibtex(answer: Answer): string {
  const ids = new Set(citations(answer).map((each) => each.passage));
  const chosen = answer.passages.filter((passage) => ids.has(passage.id));
  return (chosen.length ? chosen : answer.passages).map((passage, i) => entry(passage, i)).join("\n");
}

function entry(passage: Passage, i: number): string {
  const fields: [string, string][] = [
    ["title", tex(passage.title || passage.source || passage.id)],
    ["organization", tex(passage.source)],
    ["date", /^[\d-]{4,10}$/.test(passage.date) ? passage.date : ""],
    ["url", webAddress(passage.url)?.replace(/[{}\\\s]/g, "") ?? ""],
    ["pages", tex(passage.page ?? "")],
    ["note", tex(passage.id)],
  ];
  const rows = fields.filter(([, value]) => value).map(([name, value]) => `  ${name} = {${value}},`);
  const key = `${(passage.source.match(/[a-z0-9]+/gi) ?? ["passage"]).join("-").slice(0, 40)}-${i + 1}`;
  return `@online{${key},\n${rows.join("\n")}\n}\n`;
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function esc(text: string): string {
  return named(text).replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}

function bdi(text: string): string {
  return `<bdi dir="auto">${esc(text)}</bdi>`;
}

function html(answer: Answer): string {
  const passages = new Map(answer.passages.map((passage) => [passage.id, passage]));
  const positions = ordered(answer.conflict.positions)
    .map((position) => `<section><h2>${t.verdicts[position.verdict]}: ${bdi(position.answer)}</h2><p>${bdi(t.answer.reason(position))}</p><p>${position.sources.map(bdi).join(", ")}</p></section>`)
    .join("\n");
  const notes = citations(answer)
    .map((each) => {
      const passage = passages.get(each.passage);
      const address = passage ? webAddress(passage.url) : null;
      const link = address ? ` <a rel="noopener noreferrer" href="${esc(address)}">${esc(address)}</a>` : "";
      return `<li value="${each.n}">${bdi(each.source)}: <q>${bdi(each.quote)}</q>${link}</li>`;
    })
    .join("\n");
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>${esc(line(answer.question))}</title>
<style>body{font:1rem/1.5 Georgia,serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}h1{font-size:1.2rem}h2{font-size:1rem}.a{font-size:1.6rem}bdi{overflow-wrap:anywhere}</style>
</head><body>
<h1>${bdi(answer.question)}</h1>
<p class="a">${answer.answers.length ? answer.answers.map(bdi).join("; ") : esc(t.answer.none)}</p>
<ul>${facts(answer).map((fact) => `<li>${esc(fact)}</li>`).join("")}</ul>
${answer.text ? `<p>${bdi(answer.text)}</p>` : ""}
${positions}
<ol>${notes}</ol>
<p>${bdi(t.cost.by(answer.strategy, answer.model))}</p>
</body></html>
`;
}
