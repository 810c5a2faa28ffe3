/** Estimate how reliable the sources are: first what that costs, then how far it is. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Fault, post } from "../api/client";
import { faultOf, useJob } from "../api/jobs";
import type { Job } from "../api/types";
import { t } from "../texts";
import { SaidFault } from "../ui/Said";
import { Trouble } from "../ui/Trouble";

export function Calibrate({ writing }: { writing: boolean }) {
  const client = useQueryClient();
  const [questions, setQuestions] = useState(40);
  const [begun, setBegun] = useState<{ id: string; confirmed: boolean } | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const { job, stop } = useJob(begun?.id ?? "", () => void client.invalidateQueries({ queryKey: ["sources"] }));
  async function start(confirm: boolean): Promise<void> {
    try {
      setFault(null);
      const made = await post<Job>("/calibrate", { questions, confirm });
      setBegun({ id: made.id, confirmed: confirm });
    } catch (error) {
      if (error instanceof Fault) setFault(error);
    }
  }
  const failed = job && faultOf(job);
  const running = job?.state === "running";
  const plan = begun && !begun.confirmed && job?.state === "done" ? job.plan : null;
  return (
    <section className="section card">
      <h2 className="section-title">{t.sources.calibrate}</h2>
      <p className="hint">{t.sources.calibrateHint}</p>
      <form className="tools" onSubmit={(event) => { event.preventDefault(); void start(false); }}>
        <label className="field"><span className="field-label">{t.sources.questions}</span>
          <input className="field-input short" type="number" min={1} max={10000} value={questions} onChange={(event) => setQuestions(Number(event.target.value))} /></label>
        <button type="submit" className="button quiet-button" disabled={running}>{t.sources.cost}</button>
        {plan && writing && <button type="button" className="button" onClick={() => void start(true)}>{t.sources.start}</button>}
        {running && begun?.confirmed && <button type="button" className="button" onClick={() => void stop()}>{t.ask.stop}</button>}
      </form>
      <div role="status">
        {plan && <p>{t.sources.plan(plan.questions, plan.sources, plan.calls, plan.seconds)}</p>}
        {plan && !writing && <p className="quiet">{t.sources.calibrateNotAllowed}</p>}
        {running && begun?.confirmed && (
          <p className="tools"><span>{t.sources.estimating}</span>
            <progress max={Math.max(1, job.total)} value={job.done} aria-label={t.sources.estimating} /> {t.n(job.done)} / {t.n(job.total)}</p>
        )}
        {begun?.confirmed && job?.state === "done" && <p>{t.sources.done}</p>}
        {failed && <p><SaidFault fault={failed} /></p>}
      </div>
      {fault && <Trouble fault={fault} onRetry={null} />}
    </section>
  );
}
