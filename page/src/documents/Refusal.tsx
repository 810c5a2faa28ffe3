/** Why a file was refused: in the page's language, and else or where it tells more the server's own message, which is English. */
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { Said } from "../ui/Said";

export interface Why {
  code: string;
  reason: string;
  data: Readonly<Record<string, string | number>>;
}

export function Refusal({ code, reason, data }: Why) {
  const { text, whole } = t.documents.refusal(code, data);
  return whole ? <Doc text={text} most={400} /> : <Said own={text} server={reason} />;
}
