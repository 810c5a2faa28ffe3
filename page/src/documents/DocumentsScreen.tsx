/** The documents of the index: a list that is searched, sorted and filtered; files to add; one document, opened. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { allDocuments, MOST_DOCUMENTS } from "../api/pages";
import { Fault, get, send } from "../api/client";
import type { components } from "../api/schema";
import { go, href, useRoute } from "../app/route";
import { useServer } from "../app/server";
import { named } from "../model/text";
import { t } from "../texts";
import { Act } from "../ui/Act";
import { Doc } from "../ui/Doc";
import { Trouble } from "../ui/Trouble";
import { DocumentList } from "./DocumentList";
import { OpenDocument } from "./OpenDocument";
import { Refusal } from "./Refusal";
import { UploadZone } from "./Upload";

type Change = components["schemas"]["ChangeRow"];

export default function DocumentsScreen() {
  const route = useRoute();
  const server = useServer();
  const client = useQueryClient();
  const [removed, setRemoved] = useState<Change | null>(null);
  const documents = useQuery({
    queryKey: ["documents"], queryFn: ({ signal }) => allDocuments(signal), placeholderData: keepPreviousData, staleTime: 60_000,
  });
  const data = documents.data;

  function onRemoved(change: Change): void {
    setRemoved(change);
    go(href("documents"));
    void client.invalidateQueries();
  }

  if (route.name) {
    return (
      <OpenDocument key={route.name} id={route.name} query={route.query} writing={server.writing} rows={data?.documents ?? []}
        onRemoved={onRemoved} />
    );
  }
  return (
    <>
      <div className="screen-head">
        <h1 className="screen-title">{t.documents.title}</h1>
        {data && <span className="quiet">{t.documents.count(data.total)}{data.total > MOST_DOCUMENTS && ` ${t.documents.first(MOST_DOCUMENTS)}`}</span>}
      </div>
      <div role="status">
        {removed && <Removed change={removed} onUndone={() => void client.invalidateQueries()} />}
      </div>
      {server.writing ? <UploadZone /> : server.state === "ready" && <p className="hint">{t.documents.notAllowed}</p>}
      {data && data.refused.length > 0 && <RefusedFiles refused={data.refused} writing={server.writing} />}
      {documents.error instanceof Fault && <Trouble fault={documents.error} onRetry={() => void documents.refetch()} />}
      {documents.isLoading && <p className="quiet section" role="status">{t.loading}</p>}
      {data?.total === 0 && <p className="quiet section">{t.documents.none}</p>}
      {data && data.total > 0 && <DocumentList rows={data.documents} query={route.query} />}
      <Changes />
    </>
  );
}

function Removed({ change, onUndone }: { change: Change; onUndone: () => void }) {
  const [back, setBack] = useState(false);
  return (
    <p className="notice undo-line">
      {back ? t.documents.putBack(named(change.title)) : t.documents.removed(named(change.title))}{" "}
      {!back && change.undoable && (
        <Act className="plain" does={() => undo(change.key).then(() => { setBack(true); onUndone(); })}>{t.documents.undo}</Act>
      )}
    </p>
  );
}

async function undo(key: number): Promise<void> {
  await send(`/changes/${key}/undo`, { method: "POST" });
}

function RefusedFiles({ refused, writing }: { refused: readonly components["schemas"]["Refused"][]; writing: boolean }) {
  const client = useQueryClient();
  return (
    <section className="section">
      <h2 className="section-title">{t.documents.refused}</h2>
      <ul className="refused">
        {refused.slice(0, 200).map((each) => (
          <li key={each.path}><b><Doc text={each.path} most={120} /></b>
            <div><p><Refusal code={each.code} reason={each.reason} data={each.data} /></p><p>{t.documents.remedies[each.code]}</p></div></li>
        ))}
      </ul>
      {writing && <p className="tools"><span className="quiet">{t.documents.refusedAgain}</span>
        <Act className="button quiet-button"
          does={() => send("/refused", { method: "DELETE" }).then(() => client.invalidateQueries({ queryKey: ["documents"] }))}>{t.documents.forget}</Act></p>}
    </section>
  );
}

/** What was changed by clients of this server, each deletion with its way back. */
function Changes() {
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const changes = useQuery({
    queryKey: ["changes"], queryFn: ({ signal }) => get<Change[]>("/changes?limit=100", signal), enabled: open,
  });
  return (
    <details className="folded section" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><h2 className="section-title">{t.documents.changes}</h2></summary>
      {changes.error instanceof Fault && <Trouble fault={changes.error} onRetry={() => void changes.refetch()} />}
      <ul className="changes">
        {(changes.data ?? []).map((each) => (
          <li key={each.key}>
            <time className="quiet" dateTime={each.at}>{each.at.slice(0, 16).replace("T", " ")}</time>
            <span>{t.documents.what[each.what] ?? each.what} <Doc text={[each.title || each.document, each.detail].filter(Boolean).join(" · ")} most={200} /></span>
            {each.undone ? <span className="quiet">{t.documents.undone}</span> : each.undoable && (
              <Act label={`${t.documents.undo}: ${named(each.title)}`} does={() => undo(each.key).then(() => client.invalidateQueries())}>{t.documents.undo}</Act>
            )}
          </li>
        ))}
        {changes.data?.length === 0 && <li className="quiet">–</li>}
      </ul>
    </details>
  );
}
