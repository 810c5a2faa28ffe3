/** Who is right how often: a table, who agrees, copies and owners, and the record of each source. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";

import { Fault, get } from "../api/client";
import type { Source, SourceRow } from "../api/types";
import { go, href, useRoute } from "../app/route";
import { useServer } from "../app/server";
import { named } from "../model/text";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Interval } from "../ui/marks";
import { Table, type Column } from "../ui/Table";
import { Trouble } from "../ui/Trouble";
import { Agreement } from "./Agreement";
import { Calibrate } from "./Calibrate";
import { Graph } from "./Graph";
import { Record } from "./Record";

const COLUMNS: readonly Column<SourceRow>[] = [
  {
    id: "name", name: t.sources.columns.name, by: (row) => row.name,
    cell: (row) => <a href={href("sources", row.name)}><Doc text={row.name} most={80} /></a>,
  },
  { id: "owner", name: t.sources.columns.owner, by: (row) => row.owner, cell: (row) => row.owner && <Doc text={row.owner} most={60} /> },
  {
    id: "reliability", name: t.sources.columns.reliability, by: (row) => row.reliability,
    cell: (row) => row.reliability !== null && (
      <span className="reliability-cell">
        <Interval source={asSource(row)} />
        <span>{t.percent(row.reliability)}</span>
        {row.stale && <span className="tag" title={t.sources.staleMeans}>{t.sources.stale}</span>}
      </span>
    ),
  },
  { id: "answered", name: t.sources.columns.answered, number: true, by: (row) => row.answered, cell: (row) => row.questions > 0 && `${t.n(Math.round(row.answered))} / ${t.n(row.questions)}` },
  { id: "agreed", name: t.sources.columns.agreed, number: true, by: (row) => row.agreed, cell: (row) => row.questions > 0 && t.n(Math.round(row.agreed)) },
  { id: "passages", name: t.sources.passages, number: true, by: (row) => row.passages, cell: (row) => t.n(row.passages) },
  { id: "updated", name: t.sources.columns.updated, by: (row) => row.updated, cell: (row) => row.updated ?? "" },
];

function asSource(row: SourceRow): Source {
  return { ...row, owner: row.owner ?? "", group: row.group ?? "", updated: row.updated ?? "" };
}

export default function SourcesScreen() {
  const route = useRoute();
  const server = useServer();
  const [filter, setFilter] = useState("");
  const sources = useQuery({ queryKey: ["sources"], queryFn: ({ signal }) => get<SourceRow[]>("/sources", signal) });
  const record = useRef<HTMLDivElement>(null);
  const rows = sources.data ?? [];
  const shown = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    return (sources.data ?? []).filter((row) => !wanted || `${row.name} ${row.owner ?? ""}`.toLowerCase().includes(wanted));
  }, [sources.data, filter]);
  useEffect(() => { if (route.name) record.current?.scrollIntoView({ block: "nearest" }); }, [route.name]);
  return (
    <>
      <div className="screen-head">
        <h1 className="screen-title">{t.sources.title}</h1>
        {rows.length > 0 && rows.every((row) => row.reliability === null) && <p className="hint">{t.sources.unknownAll}</p>}
        {rows.some((row) => row.reliability !== null) && <p className="hint">{t.sources.chance}</p>}
      </div>
      {sources.error instanceof Fault && <Trouble fault={sources.error} onRetry={() => void sources.refetch()} />}
      {sources.isPending && <p className="quiet" role="status">{t.loading}</p>}
      {sources.isSuccess && rows.length === 0 && <p className="quiet">{t.sources.none}</p>}
      {rows.length > 0 && (
        <>
          <div className="tools">
            <label className="field"><span className="field-label">{t.sources.filter}</span>
              <input className="field-input" type="search" placeholder={t.sources.filterHint} value={filter}
                onChange={(event) => setFilter(event.target.value)} /></label>
            <span className="quiet" role="status">{t.sources.shown(shown.length, rows.length)}</span>
          </div>
          <Table label={t.sources.title} columns={COLUMNS} rows={shown} idOf={(row) => row.name} selected={route.name} />
          <div ref={record}>
            {route.name && rows.some((row) => row.name === route.name) && (
              <Record name={route.name} writing={server.writing} onClose={() => go(href("sources"))} label={t.sources.record(named(route.name))} />
            )}
          </div>
          <Agreement />
          <Graph rows={rows} />
          <Calibrate writing={server.writing} />
        </>
      )}
    </>
  );
}
