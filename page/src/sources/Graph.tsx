/** Sources that are not independent: a graph, and the same as a table. */
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from "d3-force";
import { useMemo } from "react";

import type { SourceRow } from "../api/types";
import { named } from "../model/text";
import { t } from "../texts";
import { Doc } from "../ui/Doc";

interface Node extends SimulationNodeDatum {
  id: string;
  name: string;
  kind: "source" | "owner" | "copies";
  /** Whether its name stands above it, where the one below would meet another. */
  above?: boolean;
}

interface Tie {
  because: string;
  kind: "owner" | "copies";
  names: string[];
}

const WIDTH = 960;
const COLUMNS = 3; // groups of sources that are tied, side by side
const ROW = 210;
const ROOM = 24_000; // for one source with its name
const MOST = 80;

/** Groups of two or more: of one owner, or of copies. */
function tiesOf(rows: readonly SourceRow[]): Tie[] {
  const owners = new Map<string, string[]>();
  const groups = new Map<string, string[]>();
  for (const { name, owner, group } of rows) {
    if (owner) owners.set(owner, [...(owners.get(owner) ?? []), name]);
    if (group) groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  return [
    ...[...owners].map(([owner, names]): Tie => ({ because: owner, kind: "owner", names })),
    ...[...groups].map(([group, names]): Tie => ({ because: group, kind: "copies", names })),
  ].filter(({ names }) => names.length > 1);
}

function placed(ties: readonly Tie[]): { nodes: Node[]; links: { source: Node; target: Node }[]; height: number } {
  const nodes = new Map<string, Node>();
  const links: { source: Node; target: Node }[] = [];
  for (const [i, tie] of ties.entries()) {
    const hub: Node = { id: `tie-${i}`, name: tie.kind === "owner" ? tie.because : "", kind: tie.kind };
    nodes.set(hub.id, hub);
    for (const name of tie.names.slice(0, MOST)) {
      const node = nodes.get(name) ?? { id: name, name, kind: "source" as const };
      nodes.set(name, node);
      links.push({ source: node, target: hub });
    }
  }
  const all = [...nodes.values()];
  const centres = centresOf(all, links);
  const groups = new Set(centres.values()).size;
  const columns = Math.min(COLUMNS, Math.max(1, groups));
  const cell = WIDTH / columns;
  const largest = Math.max(0, ...ties.map(({ names }) => Math.min(MOST, names.length)));
  const row = Math.max(ROW, (ROOM * largest) / cell);
  const x = (node: Node) => cell * ((centres.get(node) ?? 0) % columns) + cell / 2;
  const y = (node: Node) => row * Math.floor((centres.get(node) ?? 0) / columns) + row / 2;
  for (const [i, node] of all.entries()) {
    node.x = x(node) + 20 * Math.cos(i);
    node.y = y(node) + 20 * Math.sin(i);
  }
  forceSimulation(all)
    .force("link", forceLink<Node, { source: Node; target: Node }>(links).distance(Math.max(84, 11 * largest)).strength(largest > 6 ? 0.1 : 0.9))
    .force("charge", forceManyBody().strength(-420).distanceMax(cell / 2))
    .force("collide", forceCollide<Node>((node) => Math.max(36, 3.4 * Math.min(28, node.name.length))))
    .force("x", forceX<Node>(x).strength(0.12))
    .force("y", forceY<Node>(y).strength(0.3))
    .stop()
    .tick(240);
  const height = Math.max(1, Math.ceil(groups / columns)) * row;
  for (const node of all) {
    node.x = Math.min(WIDTH - 100, Math.max(100, node.x ?? 0));
    node.y = Math.min(height - 40, Math.max(36, node.y ?? 0));
  }
  const named = all.filter((node) => node.name).sort((a, b) => (a.x ?? 0) - (b.x ?? 0));
  for (const [i, node] of named.entries()) {
    node.above = node.kind === "owner" || named.slice(0, i).some((other) => !other.above && meets(other, node));
  }
  return { nodes: all, links, height };
}

/** Whether the names of two nodes would meet, both below. */
function meets(a: Node, b: Node): boolean {
  const room = 4 * (Math.min(28, a.name.length) + Math.min(28, b.name.length));
  return Math.abs((a.x ?? 0) - (b.x ?? 0)) < room && Math.abs((a.y ?? 0) - (b.y ?? 0)) < 20;
}

/** The number of each node's group: nodes that are tied, directly or by others. */
function centresOf(nodes: readonly Node[], links: readonly { source: Node; target: Node }[]): Map<Node, number> {
  const group = new Map<Node, number>(nodes.map((node, i) => [node, i]));
  for (let changed = true; changed; ) {
    changed = false;
    for (const { source, target } of links) {
      const low = Math.min(group.get(source) ?? 0, group.get(target) ?? 0);
      if (group.get(source) !== low || group.get(target) !== low) changed = true;
      group.set(source, low);
      group.set(target, low);
    }
  }
  const order = [...new Set(group.values())];
  return new Map(nodes.map((node) => [node, order.indexOf(group.get(node) ?? 0)]));
}

export function Graph({ rows }: { rows: readonly SourceRow[] }) {
  const ties = useMemo(() => tiesOf(rows), [rows]);
  const { nodes, links, height } = useMemo(() => placed(ties), [ties]);
  if (!ties.length && rows.every((row) => row.reliability === null)) return null; // nothing was compared yet
  return (
    <section className="section">
      <h2 className="section-title">{t.sources.graph}</h2>
      {ties.length === 0 ? <p className="quiet">{t.sources.noTies}</p> : (
        <div className="two">
          <figure>
            <svg className="graph" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={t.sources.graphHint}>
              {links.map(({ source, target }, i) => (
                <line key={i} x1={source.x} y1={source.y} x2={target.x} y2={target.y} />
              ))}
              {nodes.map((node) => (
                <g key={node.id} transform={`translate(${node.x},${node.y})`}>
                  {node.kind === "owner" ? <rect x="-7" y="-7" width="14" height="14" className="owner" /> : <circle r={node.kind === "source" ? 6 : 3} />}
                  <text textAnchor="middle" y={node.above ? -13 : 22}>{named(node.name).slice(0, 28)}</text>
                </g>
              ))}
            </svg>
            <figcaption className="hint">{t.sources.graphHint}</figcaption>
          </figure>
          <div className="scroll" tabIndex={0} role="region" aria-label={t.sources.asTable}>
            <table className="rows">
              <caption className="visually-hidden">{t.sources.asTable}</caption>
              <thead><tr><th scope="col">{t.sources.together}</th><th scope="col">{t.sources.because}</th></tr></thead>
              <tbody>
                {ties.map((tie, i) => (
                  <tr key={i}>
                    <th scope="row">{tie.names.slice(0, 20).map((name, k) => <span key={name}>{k > 0 && ", "}<Doc text={name} most={60} /></span>)}
                      {tie.names.length > 20 && ` +${tie.names.length - 20}`}</th>
                    <td>{tie.kind === "owner" ? <>{t.sources.ownedBy} <Doc text={tie.because} most={60} /></> : t.sources.copies}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
      )}
    </section>
  );
}
