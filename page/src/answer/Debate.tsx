/** The debate by round: who kept, who yielded, on what quote. */
import type { Answer, Passage, Position } from "../api/types";
import { debate, same, type Word } from "../model/evidence";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";

const FIRST = 12;

export function Debate({ answer, onShow }: { answer: Answer; onShow: (passage: string) => void }) {
  const { rounds, speakers } = debate(answer);
  if (!speakers.length) return answer.passages.length ? <p className="quiet">{t.debate.none}</p> : null;
  const speaking = speakers.filter(({ words }) => words.some((word) => word.reply.answer || word.reply.fault));
  if (!speaking.length) return null;
  return (
    <>
      <p className="hint">{t.debate.hint}</p>
      <div className="scroll" tabIndex={0} role="region" aria-label={t.debate.title}>
        <table className="debate">
          <thead>
            <tr><th scope="col">{t.debate.witness}</th>{rounds.map((round) => <th scope="col" key={round}>{t.debate.round(round)}</th>)}</tr>
          </thead>
          <tbody>
            {speaking.slice(0, FIRST * 5).map(({ passages, words }) => (
              <tr key={passages.map((each) => each.id).join()}>
                <th scope="row"><Speakers passages={passages} onShow={onShow} /></th>
                {rounds.map((round) => (
                  <td key={round}><Said word={words.find((word) => word.round === round)} positions={answer.conflict.positions} /></td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Speakers({ passages, onShow }: { passages: Passage[]; onShow: (passage: string) => void }) {
  const [first] = passages;
  if (!first) return null;
  return (
    <>
      <button type="button" className="plain" onClick={() => onShow(first.id)}><Doc text={first.source || first.id} most={60} /></button>
      {passages.length > 1 && <span className="quiet"> +{passages.length - 1}</span>}
    </>
  );
}

function Said({ word, positions }: { word: Word | undefined; positions: readonly Position[] }) {
  if (!word) return <span className="quiet" aria-hidden="true">·</span>;
  const { reply, change } = word;
  if (change === "fault" || !reply.answer) return <span className="quiet">{t.debate.changes[change]}</span>;
  const position = positions.find(
    (each) => same(each.answer, reply.answer) || each.aliases.some((alias) => same(alias, reply.answer)),
  ) ?? positions.find((each) => reply.passages.some((id) => each.passages.includes(id)));
  return (
    <div className="said">
      {position && <VerdictMark verdict={position.verdict} size={14} />}
      <div>
        <span className="said-answer"><Doc text={reply.answer} most={120} /></span>
        {change !== "first" && <span className={`change ${change}`}>{t.debate.changes[change]}</span>}
        {reply.quote && <q className="said-quote"><Doc text={reply.quote} most={180} /></q>}
      </div>
    </div>
  );
}
