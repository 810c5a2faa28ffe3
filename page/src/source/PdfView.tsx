/** The pages of a PDF, one at a time, with the words of a quote marked on theirs. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { Fault } from "../api/client";
import { named } from "../model/text";
import { t } from "../texts";
import { Doc } from "../ui/Doc";
import { SaidFault } from "../ui/Said";
import { originalOf } from "./original";
import { boxesOf, openPdf, type Box } from "./pdf";

const NEAR = 3; // pages on either side that are looked through for the quote
const LARGEST = 4_000; // pixels of a side of the picture
type Looked = "looking" | "found" | "missing" | "";

export default function PdfView({ row, quote, page: first, onText }: {
  row: { id: string; file: string }; quote: string; page: number; onText: () => void;
}) {
  const opened = useQuery({
    queryKey: ["original", row.id], queryFn: async ({ signal }) => openPdf(await originalOf(row.id, signal)),
    retry: false, staleTime: Infinity, gcTime: 60_000, structuralSharing: false,
  });
  const pdf = opened.data;
  const [page, setPage] = useState(first);
  const [marks, setMarks] = useState<{ page: number; boxes: Box[] } | null>(null);
  const [looked, setLooked] = useState<Looked>("");
  const [painted, setPainted] = useState(0);
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);

  useEffect(() => setPage(first), [first]);
  useEffect(() => {
    let over = false;
    setMarks(null);
    if (!pdf || !quote) { setLooked(""); return; }
    setLooked("looking");
    void (async () => {
      const pages = [first];
      for (let k = 1; k <= NEAR; k++) pages.push(first + k, first - k);
      for (const number of pages.filter((each) => each >= 1 && each <= pdf.numPages)) {
        const sheet = await pdf.getPage(number);
        const boxes = await boxesOf(sheet, sheet.getViewport({ scale: 1 }), quote);
        if (over) return;
        if (boxes?.length) { setMarks({ page: number, boxes }); setPage(number); setLooked("found"); return; }
      }
      setLooked("missing");
    })().catch(() => { if (!over) setLooked("missing"); });
    return () => { over = true; };
  }, [pdf, quote, first]);

  useEffect(() => {
    if (!pdf || !canvas.current || !frame.current) return;
    let over = false;
    let task: { cancel: () => void; promise: Promise<void> } | null = null;
    const target = canvas.current;
    const room = frame.current.clientWidth;
    void (async () => {
      const sheet = await pdf.getPage(Math.min(Math.max(1, page), pdf.numPages));
      if (over) return;
      const plain = sheet.getViewport({ scale: 1 });
      const wanted = (room / plain.width) * Math.min(2, window.devicePixelRatio || 1);
      const viewport = sheet.getViewport({ scale: Math.min(wanted, LARGEST / Math.max(plain.width, plain.height)) });
      target.width = Math.floor(viewport.width);
      target.height = Math.floor(viewport.height);
      task = sheet.render({ canvas: target, viewport });
      await task.promise;
      if (!over) setPainted(page);
    })().catch(() => undefined); // a picture that was overtaken by another page
    return () => { over = true; task?.cancel(); };
  }, [pdf, page]);

  useEffect(() => {
    if (marks && painted === marks.page) frame.current?.querySelector(".pdf-mark")?.scrollIntoView({ block: "center" });
  }, [marks, painted]);

  if (opened.error) {
    return (
      <div className="notice" role="alert">
        <p>{opened.error instanceof Fault ? <SaidFault fault={opened.error} /> : t.source.broken}</p>
        <p><button type="button" className="plain" onClick={onText}>{t.source.showText}</button></p>
      </div>
    );
  }
  const pages = pdf?.numPages ?? 0;
  return (
    <div className="pdf">
      <div className="tools">
        <span className="pages">
          <button type="button" className="act" disabled={page <= 1} onClick={() => setPage(page - 1)}>{t.documents.previous}</button>
          <span className="quiet">{pages ? t.documents.page(page, pages) : t.loading}</span>
          <button type="button" className="act" disabled={page >= pages} onClick={() => setPage(page + 1)}>{t.documents.next}</button>
        </span>
        <span role="status" className="quiet">
          {looked === "missing" && <>{t.source.missing} <button type="button" className="plain" onClick={onText}>{t.source.showText}</button></>}
          {looked === "found" && marks && marks.page !== page && <button type="button" className="plain" onClick={() => setPage(marks.page)}>{t.source.toMark(marks.page)}</button>}
        </span>
      </div>
      <div className="pdf-page" ref={frame} data-painted={painted || undefined}>
        <canvas ref={canvas} role="img" aria-label={t.source.pageOf(page, named(row.file))} />
        {marks?.page === page && marks.boxes.map((box, i) => (
          <span key={i} className="pdf-mark" aria-hidden="true" ref={(element) => {
            for (const side of ["left", "top", "width", "height"] as const) element?.style.setProperty(side, `${100 * box[side]}%`);
          }} />
        ))}
      </div>
      {quote && <p className="visually-hidden">{t.source.marked} <Doc text={quote} most={2000} /></p>}
    </div>
  );
}
