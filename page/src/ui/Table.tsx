/** A table that is sorted by its heads; on a phone each row is a card. Columns in which nothing stands are left out. */
import { useMemo, useState, type ReactNode } from "react";

export interface Column<Row> {
  id: string;
  name: string;
  number?: boolean;
  /** What it is sorted by; columns without it are not. */
  by?: (row: Row) => string | number | null;
  cell: (row: Row) => ReactNode;
}

interface Props<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  idOf: (row: Row) => string;
  selected?: string;
  first?: string;
}

export function Table<Row>({ label, columns: all, rows, idOf, selected, first }: Props<Row>) {
  const columns = all.filter((column, i) => i === 0 || !rows.length || rows.some((row) => !isEmpty(column.cell(row))));
  const [sort, setSort] = useState<{ id: string; down: boolean }>({ id: first ?? all[0]?.id ?? "", down: false });
  const sorted = useMemo(() => {
    const by = all.find((column) => column.id === sort.id)?.by;
    return by ? [...rows].sort((a, b) => (sort.down ? -1 : 1) * compare(by(a), by(b))) : rows;
  }, [rows, all, sort]);
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table className="rows">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={column.number ? "number" : undefined}
                aria-sort={column.by && sort.id === column.id ? (sort.down ? "descending" : "ascending") : undefined}>
                {column.by ? (
                  <button type="button" className="sort"
                    onClick={() => setSort({ id: column.id, down: sort.id === column.id ? !sort.down : Boolean(column.number) })}>
                    {column.name}
                    <svg width="8" height="6" viewBox="0 0 8 6" aria-hidden="true"><path d="M1 1l3 4 3-4" className="stroke" /></svg>
                  </button>
                ) : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={idOf(row)} aria-selected={selected === undefined ? undefined : selected === idOf(row)}>
              {columns.map((column, i) => i === 0
                ? <th key={column.id} scope="row">{column.cell(row)}</th>
                : <Cell key={column.id} column={column} row={row} />)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const shown = column.cell(row);
  const classes = [column.number && "number", isEmpty(shown) && "empty"].filter(Boolean).join(" ");
  return <td className={classes || undefined} data-label={column.name}>{shown}</td>;
}

function isEmpty(cell: ReactNode): boolean {
  return cell === "" || cell === null || cell === undefined || cell === false;
}

/** What is not known comes last. */
function compare(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}
