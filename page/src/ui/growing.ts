/** A field that is as high as its text. */
import { useEffect, useRef, type RefObject } from "react";

const HIGHEST = 240; // pixels; a longer text scrolls

export function useGrowing(text: string): RefObject<HTMLTextAreaElement | null> {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const box = field.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, HIGHEST)}px`;
  }, [text]);
  return field;
}
