/** The searches, passages without an answer, and the cost. */
import { useServer } from "../app/server";
import type { Answer, Passage, Prices, Usage } from "../api/types";
import { lookedFor } from "../model/evidence";
import { t } from "../texts";
import { Doc } from "../ui/Doc";

/** The wider search in the details of the strategy `disputation`. */
interface WiderSearch { searches: number; read: number; answered: number; changed: boolean }

export function LookedFor({ answer, onShow }: { answer: Answer; onShow: (passage: string) => void }) {
  const { searches, unanswered, faulty, unread } = lookedFor(answer);
  const looked = answer.details.looked as WiderSearch | undefined;
  const aside = answer.read?.set_aside ?? 0;
  return (
    <div className="looked">
      <ul className="searches">
        {searches.map((search, i) => (
          <li key={i}>
            <span className="query"><Doc text={search.query} most={300} /></span>
            <span className={search.found ? "quiet" : "quiet nothing"}>{t.looked.search(search.found)}
              {search.elsewhere && `, ${t.looked.elsewhere}`}</span>
          </li>
        ))}
      </ul>
      {looked && (
        <p className="further">{t.looked.further(looked.searches, looked.read, looked.answered)}{" "}
          {looked.changed ? t.looked.changed : t.looked.unchanged}</p>
      )}
      <Named title={t.looked.unanswered} passages={unanswered} onShow={onShow} />
      <Named title={t.looked.faulty} passages={faulty} onShow={onShow} />
      <Named title={t.looked.unread} passages={unread} onShow={onShow} />
      {!unread.length && aside > 0 && <p className="quiet">{t.looked.aside(aside)}</p>}
    </div>
  );
}

function Named({ title, passages, onShow }: { title: string; passages: Passage[]; onShow: (passage: string) => void }) {
  if (!passages.length) return null;
  return (
    <details className="named" open={passages.length <= 6}>
      <summary>{title} <span className="quiet">{t.n(passages.length)}</span></summary>
      <ul>
        {passages.slice(0, 60).map((passage) => (
          <li key={passage.id}>
            <button type="button" className="plain" onClick={() => onShow(passage.id)}>
              <Doc text={passage.title || passage.source || passage.id} most={90} />
            </button>
            {passage.title && passage.source && <span className="quiet"> <Doc text={passage.source} most={60} /></span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

export function Cost({ answer }: { answer: Answer }) {
  const { usage } = answer;
  const { prices } = useServer();
  const figures: [string, string][] = [
    [t.n(usage.calls), t.cost.calls],
    [t.n(usage.prompt_tokens), t.cost.read],
    [t.n(usage.cached_tokens), t.cost.cached],
    [t.n(usage.completion_tokens), t.cost.written],
    [usage.seconds.toFixed(1), t.cost.seconds],
  ];
  return (
    <>
      <p className="hint"><bdi>{t.cost.by(answer.strategy, answer.model)}</bdi></p>
      {usage.calls === 0 ? <p className="quiet">{t.cost.free}</p> : (
        <ul className="cost">
          {figures.map(([value, name]) => <li key={name}><b>{value}</b> {name}</li>)}
          <Money usage={usage} prices={prices} model={answer.model} />
        </ul>
      )}
    </>
  );
}

/** What the calls cost in money, where the server knows what the model costs. */
function Money({ usage, prices, model }: { usage: Usage; prices: Prices | null; model: string }) {
  const price = prices?.models[model];
  if (!prices || !price) return null;
  const cached = price.cached ?? price.prompt;
  const sum = ((usage.prompt_tokens - usage.cached_tokens) * price.prompt + usage.cached_tokens * cached
    + usage.completion_tokens * price.completion) / 1e6;
  return <li data-money={sum}><b>{t.cost.money(sum, prices.currency)}</b> {sum ? t.cost.atPrices(prices.origin, prices.as_of) : t.cost.onThisMachine}</li>;
}
