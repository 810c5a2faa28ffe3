/** Why a file was refused: in the page's language, and else or where it tells more the server's own message, which is English. */
import { t } from "../texts";
import { Doc } from "../ui/Doc";

export interface Why {
  code: string;
  reason: string;
  data: Readonly<Record<string, string | number>>;
}

export function Refusal({ code, reason, data }: Why) {
  const { text, whole } = t.documents.refusal(code, data);
  if (whole) return <Doc text={text} most={400} />;
  return <><Doc text={text} most={400} /> <span lang={code ? "en" : undefined} className={text && "quiet"}><Doc text={reason} most={300} /></span></>;
}
