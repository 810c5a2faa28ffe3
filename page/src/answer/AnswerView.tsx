/** An answer, whole: the verdict, what if, a column a position, the passage, the debate, the cost. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState, type ReactNode } from "react";

import { Fault, post } from "../api/client";
import type { Answer, Passage } from "../api/types";
import { allPassages, citations, ordered } from "../model/evidence";
import { isCounted, isSet, left, toggled, type WhatIf } from "../model/whatif";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { useNarrow } from "../ui/media";
import { Debate } from "./Debate";
import { EachSource } from "./EachSource";
import { ExportMenu } from "./ExportMenu";
import { useAnswerKeys } from "./keys";
import { Cost, LookedFor } from "./LookedFor";
import { PassagePanel } from "./PassagePanel";
import { PositionColumn } from "./PositionColumn";
import type { Opened, Steering } from "./steering";
import { Timeline } from "./Timeline";
import { Claims, VerdictStrip } from "./VerdictStrip";
import { WhatIfBar } from "./WhatIfBar";
import { WhatIfNotice } from "./WhatIfNotice";

interface Props {
  answer: Answer;
  /** The answer's id at the server; empty where it has none, and then nothing can be muted. */
  id: string;
  whatIf: WhatIf;
  onWhatIf: (whatIf: WhatIf) => void;
  onAskAgain: ((passages: Passage[]) => void) | null;
  /** The next question of the conversation, which stands below the answer's words. */
  talk?: ReactNode;
}

export function AnswerView({ answer, id, whatIf, onWhatIf, onAskAgain, talk }: Props) {
  const narrow = useNarrow();
  const [open, setOpen] = useState<Opened | null>(() => (narrow ? null : firstQuote(answer)));
  const without = useMemo(() => (isSet(whatIf) ? left(whatIf, answer) : null), [whatIf, answer]);
  const decision = useQuery({
    queryKey: ["without", id, without],
    queryFn: ({ signal }) => post<Answer>(`/answers/${encodeURIComponent(id)}/without`, without, signal),
    enabled: Boolean(id && without),
    placeholderData: keepPreviousData, // the last columns stay until the next are there
    retry: false,
    staleTime: Infinity,
  });
  const decided = without ? (decision.isError ? null : (decision.data ?? null)) : answer;
  const shown = decided ?? answer;
  const show = useCallback((passage: string, n = 0) => setOpen({ passage, n }), []);
  const steering: Steering = {
    whatIf,
    steer: Boolean(id),
    open,
    show,
    toggle: (kind, name) => onWhatIf({ ...whatIf, [kind]: toggled(whatIf[kind], name) }),
  };
  useAnswerKeys(answer, steering, () => setOpen(null));
  const positions = ordered(shown.conflict.positions);
  const fault = decision.error instanceof Fault ? decision.error : null;
  return (
    <div className="answer-grid">
      <div className="answer-main">
        <VerdictStrip answer={shown} changed={isSet(whatIf)} />
        <div className="answer-bar">
          <p className="quiet">{readLine(shown)}</p>
          <ExportMenu answer={shown} />
        </div>
        <Claims answer={shown} onCitation={show} />
        {talk}
        <EachSource answer={shown} onShow={show} />
        {positions.length > 0 && (
          <section aria-label={t.answer.positions}>
            <div className="positions">
              {positions.map((position, i) => (
                <PositionColumn key={`${position.answer}-${position.passages[0] ?? i}`} answer={shown} position={position}
                  number={i + 1} steering={steering} />
              ))}
            </div>
          </section>
        )}
        {!positions.length && shown.passages.length > 0 && <Nearest answer={shown} onShow={show} />}
        <Timeline answer={shown} onShow={show} />
        {id && <WhatIfBar answer={answer} whatIf={whatIf} onChange={onWhatIf} />}
        <Folded title={t.debate.title} open={answer.rounds > 1}><Debate answer={shown} onShow={show} /></Folded>
        <Folded title={t.looked.title} open={!shown.answers.length}><LookedFor answer={shown} onShow={show} /></Folded>
        <Folded title={t.cost.title} open={false}><Cost answer={shown} /></Folded>
        {id && isSet(whatIf) && (
          <WhatIfNotice
            answer={answer} decided={decided} whatIf={whatIf} fault={fault}
            busy={decision.isFetching} onChange={onWhatIf}
            onAskAgain={onAskAgain && (() => onAskAgain(allPassages(answer).filter((passage) => isCounted(whatIf, passage))))}
          />
        )}
      </div>
      <PassagePanel answer={answer} open={open} onClose={() => setOpen(null)} />
    </div>
  );
}

/** What stands beside the answer at first: its first quote. */
function firstQuote(answer: Answer): Opened | null {
  const [first] = citations(answer);
  return first ? { passage: first.passage, n: first.n } : null;
}

function readLine(answer: Answer): string {
  const sources = new Set(answer.passages.map((passage) => passage.source || passage.id));
  const lines = [t.answer.read(answer.passages.length, sources.size)];
  if (answer.read?.failed) lines.push(t.answer.notRead(answer.read.failed));
  const unsearched = answer.read?.unsearched ?? []; // answers that were kept before have none
  if (unsearched.length) lines.push(t.answer.notSearched(unsearched.map((each) => each.index)));
  return lines.map((line) => `${line}.`).join(" ");
}

function Folded({ title, open, children }: { title: string; open: boolean; children: ReactNode }) {
  return (
    <details className="folded" open={open}>
      <summary><h2 className="section-title">{title}</h2></summary>
      <div className="folded-body">{children}</div>
    </details>
  );
}

/** Where nothing answers: what came nearest to the question. */
function Nearest({ answer, onShow }: { answer: Answer; onShow: (passage: string) => void }) {
  return (
    <section className="nearest">
      <h2 className="section-title">{t.answer.nearest}</h2>
      <ul>
        {answer.passages.slice(0, 6).map((passage) => (
          <li key={passage.id}>
            <button type="button" className="quote" onClick={() => onShow(passage.id)}><Doc text={passage.text} most={220} /></button>
            <p className="quiet"><Doc text={passage.source || passage.id} most={80} /></p>
          </li>
        ))}
      </ul>
    </section>
  );
}
