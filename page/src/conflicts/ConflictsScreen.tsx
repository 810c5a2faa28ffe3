/** Where the documents contradict each other: by topic, by documents or by severity; accepted or settled here, and saved. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";

import { asFault, asJson, Fault, send } from "../api/client";
import { allConflicts } from "../api/pages";
import type { Conflict, Conflicts } from "../api/types";
import { go, href, placeHref, useRoute } from "../app/route";
import { useServer } from "../app/server";
import { find, named } from "../model/text";
import { saveAs } from "../source/original";
import { t } from "../texts";
import { Choice } from "../ui/Choice";
import { Doc, Marked } from "../ui/Doc";
import { Act } from "../ui/Act";
import { SaidFault } from "../ui/Said";
import { Trouble } from "../ui/Trouble";

type Decision = Conflicts["decisions"][string];
type Side = "first" | "second";
const STEP = 40;
const GRAVITY = ["low", "medium", "high"] as const;
const FORMS = ["html", "json", "sarif", "baseline"] as const;

const topicOf = (each: Conflict): string => each.about.trim() || t.conflictView.noTopic;
const nameOf = (each: Conflict, side: Side): string => each[side].title || each[side].path.split("/").at(-1) || each[side].source;
const documentsOf = (each: Conflict): string => [nameOf(each, "first"), nameOf(each, "second")].sort().join(" · ");
const GROUPS: Record<string, (each: Conflict) => string> = {
  topic: topicOf, documents: documentsOf, severity: (each) => t.conflictView.severities[each.severity],
};

export default function ConflictsScreen() {
  const { query } = useRoute();
  const server = useServer();
  const [fault, setFault] = useState<Fault | null>(null);
  const found = useQuery({ queryKey: ["conflicts"], queryFn: ({ signal }) => allConflicts(signal), retry: false, staleTime: 60_000 });
  const least = query.get("severity") ?? "medium";
  const state = query.get("state") ?? "open";
  const by = query.get("by") ?? "topic";
  const wanted = query.get("q") ?? "";
  const set = (change: Record<string, string>) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries({ page: "", ...change })) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    go(href("conflicts", "", next), { replace: true });
  };
  const data = found.data;
  const matching = useMemo(() => {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const most = GRAVITY.indexOf(least as (typeof GRAVITY)[number]);
    return (data?.contradictions ?? []).filter((each) => {
      if (GRAVITY.indexOf(each.severity) < most) return false;
      if (state !== "all" && each.new !== (state === "open")) return false;
      const text = `${each.about} ${documentsOf(each)} ${each.first.quote} ${each.second.quote}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [data, least, state, wanted]);
  const ordered = useMemo(() => grouped(matching, GROUPS[by] ?? topicOf), [matching, by]);
  const pages = Math.max(1, Math.ceil(ordered.length / STEP));
  const page = Math.min(pages, Math.max(1, Number(query.get("page")) || 1));
  const shown = ordered.slice((page - 1) * STEP, page * STEP);

  async function save(form: string): Promise<void> {
    setFault(null);
    try {
      const reply = await send(`/conflicts/export?format=${form}&severity=${least}`);
      const name = /filename\*=UTF-8''([\w.]+)/.exec(reply.headers.get("content-disposition") ?? "")?.[1] ?? "contradictions";
      saveAs(name, await reply.arrayBuffer());
    } catch (error) {
      setFault(asFault(error));
    }
  }
  return (
    <>
      <div className="screen-head">
        <h1 className="screen-title">{t.conflictView.title}</h1>
        {data && <span className="quiet">{t.conflictView.compared(data.documents, data.statements)}</span>}
        <p className="hint">{t.conflictView.hint}</p>
      </div>
      {found.isLoading && <p className="quiet" role="status">{t.documents.checking}</p>}
      {found.error instanceof Fault && <Trouble fault={found.error} onRetry={() => void found.refetch()} />}
      {data && (
        <>
          <div className="tools">
            <label className="field"><span className="field-label">{t.documents.search}</span>
              <input className="field-input" type="search" value={wanted} onChange={(event) => set({ q: event.target.value })} /></label>
            <Choice label={t.conflictView.least} value={least} onChange={(id) => set({ severity: id })}
              options={GRAVITY.map((id) => ({ id, name: t.conflictView.severities[id] })).reverse()} />
            <Choice label={t.documents.state} value={state} onChange={(id) => set({ state: id })}
              options={Object.entries(t.conflictView.states).map(([id, name]) => ({ id, name }))} />
            <Choice label={t.conflictView.by} value={by} onChange={(id) => set({ by: id })}
              options={Object.entries(t.conflictView.groups).map(([id, name]) => ({ id, name }))} />
            <span className="quiet" role="status">{t.conflictView.count(matching.length, data.contradictions.length)}</span>
            <MenuTrigger>
              <Button className="button quiet-button push">{t.exports.title}
                <svg width="10" height="6" viewBox="0 0 10 6" aria-hidden="true"><path d="M1 1l4 4 4-4" className="stroke" /></svg></Button>
              <Popover className="popover">
                <Menu className="options" onAction={(key) => void save(String(key))}>
                  {FORMS.map((form) => <MenuItem key={form} id={form} className="option">{t.conflictView.forms[form]}</MenuItem>)}
                </Menu>
              </Popover>
            </MenuTrigger>
          </div>
          {fault && <p className="notice" role="alert"><SaidFault fault={fault} /></p>}
          {matching.length === 0 && <p className="quiet section">{data.contradictions.length ? t.conflictView.noMatch : t.conflictView.none}</p>}
          <div className="conflict-groups">
            {shown.map(({ each, head }, i) => (
              <div key={each.id}>
                {(i === 0 || head !== shown[i - 1]?.head) && <h2 className="section-title conflict-head"><Doc text={head} most={160} /></h2>}
                <Card each={each} decision={data.decisions[each.id] ?? null} writing={server.writing} />
              </div>
            ))}
          </div>
          {pages > 1 && (
            <nav className="pages section" aria-label={t.documents.page(page, pages)}>
              <button type="button" className="button quiet-button" disabled={page <= 1} onClick={() => set({ page: String(page - 1) })}>{t.documents.previous}</button>
              <span className="quiet">{t.documents.page(page, pages)}</span>
              <button type="button" className="button quiet-button" disabled={page >= pages} onClick={() => set({ page: String(page + 1) })}>{t.documents.next}</button>
            </nav>
          )}
        </>
      )}
    </>
  );
}

/** Contradictions with the head of their group, groups in the order of their gravest. */
function grouped(all: readonly Conflict[], groupOf: (each: Conflict) => string): { each: Conflict; head: string }[] {
  const groups = new Map<string, Conflict[]>();
  for (const each of all) groups.set(groupOf(each), [...(groups.get(groupOf(each)) ?? []), each]);
  return [...groups].flatMap(([head, some]) => some.map((each) => ({ each, head })));
}

function Card({ each, decision, writing }: { each: Conflict; decision: Decision | null; writing: boolean }) {
  return (
    <article className={`conflict ${each.severity}`} data-conflict={each.id}>
      <p className="conflict-kind"><Severity severity={each.severity} /> {t.conflictView.severities[each.severity]} · {t.conflictView.kinds[each.kind] ?? each.kind}
        {decision && <span className="tag">{decision.holds ? t.conflictView.settled : t.conflictView.accepted}</span>}</p>
      <div className="conflict-sides">
        {(["first", "second"] as const).map((side) => <SideOf key={side} each={each} side={side} holds={decision?.holds === side} />)}
      </div>
      {each.scope.length > 0 && <p className="quiet">{t.conflictView.scope} <Doc text={each.scope.join(", ")} most={200} /></p>}
      {decision ? <Decided each={each} decision={decision} writing={writing} /> : (
        <>
          {each.settled_by && <p className="quiet">{t.conflictView.toSettle} <Doc text={t.conflictView.remedy(each)} most={300} /></p>}
          {writing && <Decide each={each} />}
        </>
      )}
    </article>
  );
}

/** Three bars for high, two for medium, one for low: told apart without colour. */
function Severity({ severity }: { severity: Conflict["severity"] }) {
  return (
    <svg className="gravity" width="14" height="12" viewBox="0 0 14 12" aria-hidden="true">
      {[0, 1, 2].map((k) => <rect key={k} x={k * 5} y={8 - 4 * k} width="3" height={4 + 4 * k} className={k <= GRAVITY.indexOf(severity) ? "on" : "off"} />)}
    </svg>
  );
}

function SideOf({ each, side, holds }: { each: Conflict; side: Side; holds: boolean }) {
  const own = each[side];
  const marks = [
    each.holds === side && t.conflictView.inForce, each.newer === side && t.conflictView.newer, each.higher === side && t.conflictView.higher,
    each.more_reliable === side && t.conflictView.moreReliable, own.gives_orders && t.answer.orders,
  ].filter(Boolean) as string[];
  return (
    <div className={holds ? "conflict-side holds" : "conflict-side"}>
      <p className="conflict-value"><Doc text={own.value} most={160} />{holds && <span className="tag">{t.conflictView.holds}</span>}</p>
      <blockquote dir="auto"><Marked text={own.quote} span={find(own.quote, own.value)} around={160} /></blockquote>
      <p className="passage-facts">
        {own.document ? <a href={placeHref(own.document, own.start, own.end)}><Doc text={nameOf(each, side)} most={100} /></a> : <Doc text={nameOf(each, side)} most={100} />}
        {own.page && <span>{t.passage.page(own.page)}</span>}
        {own.date && <span><Doc text={own.date} most={40} /></span>}
        {marks.map((mark) => <span className="tag" key={mark}>{mark}</span>)}
        {own.also.length > 0 && <span>{t.conflictView.also(own.also.length)}</span>}
      </p>
    </div>
  );
}

function Decide({ each }: { each: Conflict }) {
  const client = useQueryClient();
  const [why, setWhy] = useState("");
  const [fault, setFault] = useState<Fault | null>(null);
  async function decide(holds: Side | ""): Promise<void> {
    try {
      await send(`/conflicts/${encodeURIComponent(each.id)}`, asJson("PUT", { holds, why }));
      await client.invalidateQueries({ queryKey: ["conflicts"] });
    } catch (error) {
      setFault(asFault(error));
    }
  }
  const value = (side: Side) => named(each[side].value).slice(0, 40);
  return (
    <details className="decide">
      <summary>{t.conflictView.decide}</summary>
      <div className="decide-body">
        <label className="edit-field"><span className="field-label">{t.conflictView.why}</span>
          <input className="field-input" value={why} maxLength={500} dir="auto" onChange={(event) => setWhy(event.target.value)} /></label>
        <p className="document-acts">
          <button type="button" className="button" onClick={() => void decide("first")}>{t.conflictView.sideHolds(value("first"))}</button>
          <button type="button" className="button" onClick={() => void decide("second")}>{t.conflictView.sideHolds(value("second"))}</button>
          <button type="button" className="button" title={t.conflictView.acceptHint} onClick={() => void decide("")}>{t.conflictView.accept}</button>
        </p>
        {fault && <p className="notice" role="alert"><SaidFault fault={fault} /></p>}
      </div>
    </details>
  );
}

function Decided({ each, decision, writing }: { each: Conflict; decision: Decision; writing: boolean }) {
  const client = useQueryClient();
  return (
    <p className="quiet">
      {decision.at.slice(0, 10)} {decision.why && <Doc text={decision.why} most={300} />}{" "}
      {writing && <Act does={() => send(`/conflicts/${encodeURIComponent(each.id)}`, { method: "DELETE" })
        .then(() => client.invalidateQueries({ queryKey: ["conflicts"] }))}>{t.conflictView.reopen}</Act>}
    </p>
  );
}
