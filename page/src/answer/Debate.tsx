/** The debate by round: the reply of every agent, and whether it changed. */
import type { Answer, Passage, Position } from "../api/types";
import { debate, same, type RoundReply } from "../model/evidence";
import { directionOf } from "../model/text";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { VerdictMark } from "../ui/marks";

const MOST = 60; // rows that are shown

export function Debate({ answer, onShow }: { answer: Answer; onShow: (passage: string) => void }) {
  const { rounds: all, agents } = debate(answer);
  if (!agents.length) return answer.passages.length ? <p className="quiet">{t.debate.none}</p> : null;
  const answering = agents.filter(({ replies }) => replies.some((each) => each.reply.answer || each.reply.fault));
  if (!answering.length) return null;
  const rounds = all.filter((round) => answering.some(({ replies }) => replies.some((each) => each.round === round)));
  return (
    <>
      <p className="hint">{t.debate.hint}</p>
      <div className="scroll" tabIndex={0} role="region" aria-label={t.debate.title}>
        <table className="debate">
          <thead>
            <tr><th scope="col">{t.debate.passage}</th>{rounds.map((round) => <th scope="col" key={round}>{t.debate.round(round)}</th>)}</tr>
          </thead>
          <tbody>
            {answering.slice(0, MOST).map(({ passages, replies }) => (
              <tr key={passages.map((each) => each.id).join()}>
                <th scope="row"><Read passages={passages} onShow={onShow} /></th>
                {rounds.map((round) => (
                  <td key={round}><ReplyCell given={replies.find((each) => each.round === round)} positions={answer.conflict.positions} /></td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Read({ passages, onShow }: { passages: Passage[]; onShow: (passage: string) => void }) {
  const [first] = passages;
  if (!first) return null;
  return (
    <>
      <button type="button" className="plain" onClick={() => onShow(first.id)}><Doc text={first.source || first.id} most={60} /></button>
      {passages.length > 1 && <span className="quiet"> +{passages.length - 1}</span>}
    </>
  );
}

function ReplyCell({ given, positions }: { given: RoundReply | undefined; positions: readonly Position[] }) {
  if (!given) return <span className="quiet" aria-hidden="true">·</span>;
  const { reply, change } = given;
  if (change === "fault" || !reply.answer) return <span className="quiet">{t.debate.changes[change]}</span>;
  const position = positions.find(
    (each) => same(each.answer, reply.answer) || each.aliases.some((alias) => same(alias, reply.answer)),
  ) ?? positions.find((each) => reply.passages.some((id) => each.passages.includes(id)));
  return (
    <div className="reply">
      {position && <VerdictMark verdict={position.verdict} size={14} />}
      <div>
        <span className="reply-answer"><Doc text={reply.answer} most={120} /></span>
        {change !== "first" && <span className={`change ${change}`}>{t.debate.changes[change]}</span>}
        {reply.quote && <q className="reply-quote" dir={directionOf(reply.quote)}><Doc text={reply.quote} most={180} /></q>}
      </div>
    </div>
  );
}
