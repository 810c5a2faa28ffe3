/** Marks that mean something: a verdict by shape and colour, an interval, a share. */
import type { Passage, Source, Verdict } from "../api/types";
import { ageOf } from "../model/text";
import { t } from "../texts";
import { Doc } from "./Doc";

/** When a passage is of and how old that is; whether its document is a draft, withdrawn, or gives orders to its reader. */
export function Standing({ passage }: { passage: Passage }) {
  const age = ageOf(passage.date);
  const states = (["draft", "withdrawn"] as const).filter((kind) => passage.relations.some((each) => each.kind === kind));
  return (
    <>
      <span>{passage.date ? <Doc text={passage.date} most={40} /> : t.answer.undated}
        {passage.date && passage.date_origin && <span className="quiet"> {t.answer.dateOrigin[passage.date_origin]}</span>}
        {age && <span className="quiet"> ({t.answer.age(age.number, age.unit)})</span>}</span>
      {states.map((kind) => <span className="tag" key={kind}>{t.answer[kind]}</span>)}
      {passage.gives_orders && <span className="tag only">{t.answer.orders}</span>}
    </>
  );
}

/** A circle for accepted, a square for rejected, a diamond for open: told apart without colour. */
export function VerdictMark({ verdict, size = 18 }: { verdict: Verdict; size?: number }) {
  return (
    <svg className={`verdict-mark ${verdict}`} width={size} height={size} viewBox="0 0 20 20" aria-hidden="true">
      {verdict === "accepted" && (
        <>
          <circle cx="10" cy="10" r="9" className="shape" />
          <path d="M5.6 10.4l3 3 5.8-6.4" className="sign" />
        </>
      )}
      {verdict === "rejected" && (
        <>
          <rect x="1.5" y="1.5" width="17" height="17" rx="2" className="shape" />
          <path d="M6.4 6.4l7.2 7.2M13.6 6.4l-7.2 7.2" className="sign" />
        </>
      )}
      {verdict === "unresolved" && (
        <>
          <path d="M10 .6L19.4 10 10 19.4.6 10z" className="shape" />
          <path d="M7.6 8.1c.2-3 5-2.8 4.8 0-.1 1.7-2.3 1.7-2.3 3.4M10.05 14.2v.2" className="sign" />
        </>
      )}
    </svg>
  );
}

/** A source's reliability with its 95 % interval, on a line from never to always right. */
export function Interval({ source, width = 112 }: { source: Source | null; width?: number }) {
  const reliability = source?.reliability ?? null;
  if (!source || reliability === null) return <span className="interval-none">{t.reliability.unknown}</span>;
  const x = (value: number) => 4 + value * (width - 8);
  const { low, high } = source;
  return (
    <svg className="interval" width={width} height={16} viewBox={`0 0 ${width} 16`} role="img"
      aria-label={t.reliability.words(reliability, low, high)}>
      <path d={`M4 8H${width - 4}`} className="axis" />
      <path d={`M${x(0.5)} 4v8`} className="chance" />
      {low !== null && high !== null && <path d={`M${x(low)} 8H${x(high)}`} className="range" />}
      <circle cx={x(reliability)} cy="8" r="4" className="point" />
    </svg>
  );
}

/** How likely, as a bar. The number stands beside it, so it is hidden from readers. */
export function Share({ value }: { value: number }) {
  return (
    <svg className="share" width="100%" height="4" preserveAspectRatio="none" viewBox="0 0 100 4" aria-hidden="true">
      <rect width="100" height="4" className="whole" />
      <rect width={Math.max(0.5, value * 100)} height="4" className="part" />
    </svg>
  );
}
