/** The question, and how it is to be answered. */
import { lazy, Suspense } from "react";

import { t } from "../texts";
import type { ChoiceProps } from "../ui/Choice";
import type { Strategy } from "../api/types";
import { useGrowing } from "../ui/growing";
import { strategyOptions } from "./strategies";

const LazyChoice = lazy(() => import("../ui/Choice").then(({ Choice }) => ({ default: Choice })));

export interface Settings {
  strategy: string;
  model: string;
  expect: "auto" | "one" | "several";
  calls: string;
}

export interface Offer {
  strategies: readonly Strategy[];
  models: readonly string[];
  index: string;
}

interface Props {
  question: string;
  settings: Settings;
  offer: Offer;
  busy: boolean;
  onQuestion: (question: string) => void;
  onSettings: (settings: Settings) => void;
  onAsk: () => void;
  onStop: () => void;
}

export function QuestionBar({ question, settings, offer, busy, onQuestion, onSettings, onAsk, onStop }: Props) {
  const field = useGrowing(question);
  return (
    <form
      className="question"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && question.trim()) onAsk();
      }}
    >
      <label className="visually-hidden" htmlFor="question">{t.ask.question}</label>
      <div className="question-line">
        <textarea
          id="question" ref={field} rows={1} dir="auto" value={question} placeholder={t.ask.placeholder} maxLength={32000}
          onChange={(event) => onQuestion(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              if (!busy && question.trim()) onAsk();
            }
            if (event.key === "Escape") field.current?.blur();
          }}
        />
        {busy ? (
          <button type="button" className="button strong" onClick={onStop}>
            <span className="stop-glyph" aria-hidden="true" />{t.ask.stop}
          </button>
        ) : (
          <button type="submit" className="button strong" disabled={!question.trim()}>{t.ask.ask}</button>
        )}
      </div>
      <div className="question-options">
        {offer.index && (
          <span className="field"><span className="field-label">{t.ask.index}</span>
            <span className="field-value"><bdi>{offer.index}</bdi></span></span>
        )}
        <Choice
          label={t.ask.expect} value={settings.expect}
          options={(["auto", "one", "several"] as const).map((id) => ({ id, name: t.ask.expects[id] }))}
          onChange={(expect) => onSettings({ ...settings, expect: expect as Settings["expect"] })}
        />
        <Choice
          label={t.ask.strategy} value={settings.strategy}
          options={strategyOptions(offer.strategies.filter(({ name }) => name !== "oracle"), settings.model)}
          onChange={(strategy) => onSettings({ ...settings, strategy })}
        />
        {offer.models.length > 1 ? (
          <Choice
            label={t.ask.model} value={settings.model} options={offer.models.map((id) => ({ id, name: id }))}
            onChange={(model) => onSettings({ ...settings, model })}
          />
        ) : offer.models.length === 1 && (
          <span className="field"><span className="field-label">{t.ask.model}</span>
            <span className="field-value"><bdi>{offer.models[0]}</bdi></span></span>
        )}
        <label className="field">
          <span className="field-label">{t.ask.budget}</span>
          <input
            className="field-input short" type="number" min={1} inputMode="numeric" placeholder={t.ask.noBudget}
            value={settings.calls} onChange={(event) => onSettings({ ...settings, calls: event.target.value })}
          />
        </label>
      </div>
    </form>
  );
}

/** A list to choose from; until its code is there, what is chosen, so that the question need not wait for it. */
function Choice(props: ChoiceProps) {
  const chosen = props.options.find(({ id }) => id === props.value)?.name ?? "–";
  const fallback = (
    <span className="field"><span className="field-label">{props.label}</span>
      <span className="field-value pick"><bdi>{chosen}</bdi></span></span>
  );
  return <Suspense fallback={fallback}><LazyChoice {...props} /></Suspense>;
}
