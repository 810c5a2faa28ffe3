/** Who gives the same answers: a graph, and the same as a table. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { get } from "../api/client";
import type { Agreements } from "../api/types";
import { named } from "../model/text";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Table, type Column } from "../ui/Table";

type Pair = Agreements["pairs"][number];

const MOST = 14; // sources of the graph; the table has all
const WIDTH = 720;
const ROUND = 130; // radius
const OFTEN = 2 / 3; // from here on two sources agree; up to the rest they differ

const shareOf = (pair: Pair): number => pair.agreed / pair.shared;

const COLUMNS: readonly Column<Pair>[] = [
  { id: "first", name: t.sources.columns.name, by: (pair) => pair.first, cell: (pair) => <Doc text={pair.first} most={60} /> },
  { id: "second", name: t.sources.agree.second, by: (pair) => pair.second, cell: (pair) => <Doc text={pair.second} most={60} /> },
  { id: "share", name: t.sources.agree.share, by: shareOf, number: true, cell: (pair) => t.sources.agree.of(pair.agreed, pair.shared) },
];

export function Agreement() {
  const agreement = useQuery({ queryKey: ["sources", "agreement"], queryFn: ({ signal }) => get<Agreements>("/agreement", signal) });
  const pairs = agreement.data?.pairs;
  if (!agreement.data || !pairs?.length) return null; // too few questions so far
  return (
    <section className="section">
      <h2 className="section-title">{t.sources.agree.title}</h2>
      <p className="hint">{t.sources.agree.hint(agreement.data.questions)}</p>
      <div className="two agreement">
        <Circle pairs={pairs} />
        <Table label={t.sources.agree.title} columns={COLUMNS} rows={pairs} idOf={(pair) => `${pair.first}\n${pair.second}`} first="share" />
      </div>
    </section>
  );
}

function Circle({ pairs }: { pairs: readonly Pair[] }) {
  const names = useMemo(() => [...new Set(pairs.flatMap((pair) => [pair.first, pair.second]))].slice(0, MOST).sort(), [pairs]);
  const height = 2 * ROUND + 80;
  const at = new Map(names.map((name, i) => {
    const angle = 2 * Math.PI * (i + 0.5) / names.length - Math.PI / 2;
    return [name, { x: WIDTH / 2 + ROUND * Math.cos(angle), y: height / 2 + ROUND * Math.sin(angle), side: Math.cos(angle), down: Math.sin(angle) }];
  }));
  return (
    <figure>
      <svg className="graph" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={t.sources.agree.graph}>
        {pairs.map((pair) => {
          const first = at.get(pair.first);
          const second = at.get(pair.second);
          const share = shareOf(pair);
          if (!first || !second || (share < OFTEN && share > 1 - OFTEN)) return null;
          return (
            <line key={`${pair.first}\n${pair.second}`} className={share >= OFTEN ? "agree" : "differ"}
              x1={first.x} y1={first.y} x2={second.x} y2={second.y} />
          );
        })}
        {[...at].map(([name, { x, y, side, down }]) => {
          const top = Math.abs(side) < 0.2;
          return (
            <g key={name} transform={`translate(${x},${y})`}>
              <circle r="6" />
              <text x={top ? 0 : 12 * Math.sign(side)} y={top ? (down < 0 ? -14 : 24) : 5}
                textAnchor={top ? "middle" : side < 0 ? "end" : "start"}>{named(name).slice(0, 28)}</text>
            </g>
          );
        })}
      </svg>
      <figcaption className="hint legend">
        <span><svg width="24" height="8" className="graph-line" aria-hidden="true"><line x2="24" y1="4" y2="4" className="agree" /></svg>{t.sources.agree.often}</span>
        <span><svg width="24" height="8" className="graph-line" aria-hidden="true"><line x2="24" y1="4" y2="4" className="differ" /></svg>{t.sources.agree.seldom}</span>
      </figcaption>
    </figure>
  );
}
