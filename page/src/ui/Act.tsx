/** A button that does something on the server, and says beside it if that failed. */
import { useState, type ReactNode } from "react";

import { asFault, type Fault } from "../api/client";
import { SaidFault } from "./Said";

export function Act({ does, label, className = "act", children }: {
  does: () => Promise<unknown>; label?: string; className?: string; children: ReactNode;
}) {
  const [fault, setFault] = useState<Fault | null>(null);
  function act(): void {
    setFault(null);
    does().catch((error: unknown) => setFault(asFault(error)));
  }
  return (
    <>
      <button type="button" className={className} aria-label={label} onClick={act}>{children}</button>
      {fault && <span className="notice" role="alert"><SaidFault fault={fault} /></span>}
    </>
  );
}
