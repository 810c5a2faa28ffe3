/** What went wrong, in one line, and what can be done. */
import type { Fault } from "../api/client";
import { t } from "../texts";
import { Doc } from "./Doc";
import { SaidFault } from "./Said";

export function Trouble({ fault, onRetry, title = t.failed }: { fault: Fault; onRetry: (() => void) | null; title?: string }) {
  return (
    <div className="trouble" role="alert">
      <p className="trouble-title">{title}</p>
      <p><SaidFault fault={fault} /></p>
      {fault.nearest && <p className="quiet"><Doc text={fault.nearest} most={120} /></p>}
      {onRetry && <button type="button" className="button" onClick={onRetry}>{t.retry}</button>}
    </div>
  );
}
