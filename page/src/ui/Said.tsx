/** What the server says, after the same in the page's language: its sentences are English, its kinds and codes are not prose. */
import { NO_SERVER, type Fault } from "../api/client";
import { t } from "../texts";
import { Doc } from "./Doc";

export function Said({ own, server, most = 300 }: { own: string; server: string; most?: number }) {
  return <>{own && <><Doc text={own} most={400} /> </>}<span lang="en" className={own && "quiet"}><Doc text={server} most={most} /></span></>;
}

export function SaidFault({ fault }: { fault: Fault }) {
  if (fault.kind === NO_SERVER) return t.progress.unreachable;
  if (!fault.kind) return fault.message; // the page's own
  return <Said own={t.progress.faults[fault.kind] ?? ""} server={fault.message || fault.kind} most={500} />;
}
