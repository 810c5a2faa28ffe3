/** What people state of a document: a field each, of which only those that were changed are sent. */
import { useState } from "react";

import { t } from "../texts";
import { Choice } from "../ui/Choice";
import type { Row } from "./DocumentList";

const FIELDS = ["title", "date", "source", "owner", "replaces"] as const;
type Field = (typeof FIELDS)[number] | "authority" | "status";

function valueOf(row: Row, field: Field): string {
  if (field === "replaces" || field === "status") return row.by_people[field] ?? "";
  return row[field];
}

export function EditDocument({ row, rows, onSave }: {
  row: Row; rows: readonly Row[]; onSave: (fields: Record<string, string>) => Promise<void>;
}) {
  const [changed, setChanged] = useState<Partial<Record<Field, string>>>({});
  const value = (field: Field) => changed[field] ?? valueOf(row, field);
  const set = (field: Field, text: string) => setChanged({ ...changed, [field]: text });
  const fields = Object.fromEntries(Object.entries(changed).filter(([field, text]) => text !== valueOf(row, field as Field)));
  return (
    <form className="edit card" onSubmit={(event) => { event.preventDefault(); void onSave(fields); }}>
      <p className="hint">{t.documents.stands}</p>
      {FIELDS.map((field) => (
        <label className="edit-field" key={field}><span className="field-label">{t.documents.fields[field]}</span>
          <input className="field-input" value={value(field)} dir="auto" maxLength={2000} list={field === "replaces" ? "replaceable" : undefined}
            placeholder={field === "date" || field === "replaces" ? t.documents.fieldHints[field] : undefined}
            onChange={(event) => set(field, event.target.value)} /></label>
      ))}
      <datalist id="replaceable">
        {[...new Set(rows.filter((each) => each.id !== row.id).map((each) => each.file))].slice(0, 300).map((file) => <option key={file} value={file} />)}
      </datalist>
      <Choice label={t.documents.fields.authority} value={value("authority") || "none"} onChange={(id) => set("authority", id === "none" ? "" : id)}
        options={Object.entries(t.documents.authorities).map(([id, name]) => ({ id: id || "none", name }))} />
      <Choice label={t.documents.fields.status} value={value("status") || "none"} onChange={(id) => set("status", id === "none" ? "" : id)}
        options={Object.entries(t.documents.statuses).map(([id, name]) => ({ id: id || "none", name }))} />
      <p><button type="submit" className="button strong" disabled={Object.keys(fields).length === 0}>{t.documents.save}</button></p>
    </form>
  );
}
