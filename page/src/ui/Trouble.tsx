/** What went wrong, in one line, and what can be done. */
import { UNREACHABLE, type Fault } from "../api/client";
import { t } from "../texts";
import { Doc } from "./Doc";

export function Trouble({ fault, onRetry, title = t.failed }: { fault: Fault; onRetry: (() => void) | null; title?: string }) {
  return (
    <div className="trouble" role="alert">
      <p className="trouble-title">{title}</p>
      {t.progress.faults[fault.kind] && <p>{t.progress.faults[fault.kind]}</p>}
      <p>{fault.kind === UNREACHABLE ? t.progress.unreachable : <Doc text={fault.message || fault.kind} most={500} />}</p>
      {fault.nearest && <p className="quiet"><Doc text={fault.nearest} most={120} /></p>}
      {onRetry && <button type="button" className="button" onClick={onRetry}>{t.retry}</button>}
    </div>
  );
}
