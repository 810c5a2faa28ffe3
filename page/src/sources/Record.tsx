/** One source: on which questions it was right or not, and who owns it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { asJson, Fault, get, send } from "../api/client";
import type { SourceRecord } from "../api/types";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";
import { Trouble } from "../ui/Trouble";

const FIRST = 100;

export function Record({ name, writing, label, onClose }: {
  name: string; writing: boolean; label: string; onClose: () => void;
}) {
  const client = useQueryClient();
  const [owner, setOwner] = useState("");
  const [fault, setFault] = useState<Fault | null>(null);
  const path = `/sources/${name.split("/").map(encodeURIComponent).join("/")}`;
  const record = useQuery({ queryKey: ["source", name], queryFn: ({ signal }) => get<SourceRecord>(path, signal) });
  async function save(): Promise<void> {
    try {
      await send(path, asJson("PATCH", { owner: owner.trim() }));
      setFault(null);
      setOwner("");
      await client.invalidateQueries();
    } catch (error) {
      if (error instanceof Fault) setFault(error);
    }
  }
  const said = record.data?.said ?? [];
  return (
    <section className="card section" aria-label={label}>
      <div className="panel-head">
        <h2 className="section-title">{label}</h2>
        <button type="button" className="icon-button" onClick={onClose} aria-label={t.close}>
          <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d="M2 2l10 10M12 2L2 12" className="stroke" /></svg>
        </button>
      </div>
      {record.error instanceof Fault && <Trouble fault={record.error} onRetry={() => void record.refetch()} />}
      {writing && (
        <form className="tools" onSubmit={(event) => { event.preventDefault(); if (owner.trim()) void save(); }}>
          <label className="field"><span className="field-label">{t.sources.editOwner}</span>
            <input className="field-input" maxLength={500} placeholder={record.data?.source.owner ?? ""} value={owner}
              onChange={(event) => setOwner(event.target.value)} /></label>
          <button type="submit" className="button quiet-button" disabled={!owner.trim()}>{t.sources.save}</button>
        </form>
      )}
      {fault && <Trouble fault={fault} onRetry={null} />}
      {record.isSuccess && said.length === 0 && <p className="quiet">{t.sources.noRecord}</p>}
      {said.length > 0 && (
        <ul className="said-list">
          {said.slice(0, FIRST).map((each, i) => (
            <li key={i}>
              <VerdictMark verdict={each.right === null ? "unresolved" : each.right ? "accepted" : "rejected"} size={16} />
              <div>
                <p><Doc text={each.question} most={240} /></p>
                <p><span className="visually-hidden">{each.right === null ? t.verdicts.unresolved : each.right ? t.verdicts.accepted : t.verdicts.rejected} </span>
                  <span className="answer"><Doc text={each.said} most={200} /></span>
                  {each.right === false && each.winner && <span className="quiet"> {t.sources.others} <Doc text={each.winner} most={120} /></span>}
                  <span className="quiet"> {each.day}</span></p>
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
