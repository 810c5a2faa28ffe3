/** What stands in the way: no server, no token, a model that is being loaded. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { keepToken } from "../api/client";
import { t } from "../texts";
import { Said } from "../ui/Said";
import type { Server } from "./server";

export function Status({ server }: { server: Server }) {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  if (server.state === "token") {
    return (
      <form className="banner" onSubmit={(event) => { event.preventDefault(); keepToken(token.trim()); void client.invalidateQueries(); }}>
        <label className="field"><span className="field-label">{t.token.title}</span>
          <input className="field-input" type="password" autoComplete="off" value={token} onChange={(event) => setToken(event.target.value)} /></label>
        <button type="submit" className="button">{t.token.enter}</button>
      </form>
    );
  }
  if (server.state === "down") {
    return (
      <div className="banner" role="alert">
        <p>{t.progress.unreachable}</p>
        <button type="button" className="button" onClick={() => void client.invalidateQueries()}>{t.retry}</button>
      </div>
    );
  }
  const { notice } = server;
  if (!notice) return null;
  const own = notice.done === null ? t.engine.waiting : t.engine.downloading;
  return (
    <div className="banner" role="status">
      <p id="notice"><Said own={own} server={notice.message} most={200} /></p>
      {notice.done !== null && (
        <>
          {notice.total ? <progress max={notice.total} value={notice.done} aria-labelledby="notice" /> : null}
          <p className="quiet">{t.engine.bytes(notice.done, notice.total)}</p>
        </>
      )}
    </div>
  );
}
