/** Why a file was refused: by its code in the page's language, and the server's own message, which is English. */
import { t } from "../texts";
import { Doc } from "../ui/Doc";

export function Refusal({ code, reason }: { code: string; reason: string }) {
  const text = t.documents.refusals[code];
  return <>{text} <span lang={code ? "en" : undefined} className={text && "quiet"}><Doc text={reason} most={300} /></span></>;
}
