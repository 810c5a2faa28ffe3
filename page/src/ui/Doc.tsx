/** Text of documents and models: React text nodes only, isolated in direction, its controls by name. */
import { Fragment, useState } from "react";

import { t } from "../texts";
import { pieces, webAddress, type Span } from "../model/text";

const LONG = 1200;

/** Untrusted text. `most` is how many characters are shown before it has to be asked for. */
export function Doc({ text, most = LONG, className = "" }: { text: string; most?: number; className?: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > most;
  return (
    <>
      <bdi dir="auto" className={`doc ${className}`}>
        <Pieces text={cut ? `${text.slice(0, most)}…` : text} />
      </bdi>
      {cut && most >= LONG && (
        <button type="button" className="plain" onClick={() => setWhole(true)}>
          {t.showAll(text.length)}
        </button>
      )}
    </>
  );
}

export function Pieces({ text }: { text: string }) {
  return pieces(text).map((piece, i) =>
    piece.named ? (
      <span key={i} className="unseen" data-point={piece.text} title={t.unseen(piece.text)} />
    ) : (
      <Fragment key={i}>{piece.text}</Fragment>
    ),
  );
}

/** A text with the characters of a span marked; around it at most `around` characters where given. */
export function Marked({ text, span, around, id }: { text: string; span: Span | null; around?: number; id?: string }) {
  if (!span) {
    const most = around === undefined ? text.length : around * 3;
    return <Doc text={text} most={Math.max(most, 1)} />;
  }
  const first = around === undefined ? 0 : wordAt(text, Math.max(0, span.start - around), 1, span.start);
  const last = around === undefined ? text.length : wordAt(text, Math.min(text.length, span.end + around), -1, span.end);
  return (
    <bdi dir="auto" className="doc">
      <Pieces text={(first > 0 ? "… " : "") + text.slice(first, span.start)} />
      <mark id={id} tabIndex={id ? -1 : undefined}>
        <Pieces text={text.slice(span.start, span.end)} />
      </mark>
      <Pieces text={text.slice(span.end, last) + (last < text.length ? " …" : "")} />
    </bdi>
  );
}

/** The nearest end of a word from `at` on, towards `towards`; `at` where words are very long. */
function wordAt(text: string, at: number, step: 1 | -1, towards: number): number {
  if (at === 0 || at === text.length) return at;
  for (let i = at, n = 0; n < 24 && i !== towards; i += step, n++)
    if (/\s/.test(text[step === 1 ? i - 1 : i] ?? "")) return i;
  return at;
}

/** A link to an original; the address alone, as text, where it may not be followed. */
export function Original({ url }: { url: string }) {
  const address = webAddress(url);
  if (!url) return null;
  if (!address) return <Doc text={url} most={120} className="address" />;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" className="address">
      {t.original}
      <span className="address-host"> <Doc text={new URL(address).host} most={60} /></span>
    </a>
  );
}
