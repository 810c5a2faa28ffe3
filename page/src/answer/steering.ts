/** What a view of an answer lets its reader do. */
import type { WhatIf } from "../model/whatif";

export interface Opened {
  passage: string;
  /** The citation's number, 0 where the passage is not cited. */
  n: number;
}

export interface Steering {
  whatIf: WhatIf;
  /** Whether anything can be muted and pinned here. */
  steer: boolean;
  open: Opened | null;
  show: (passage: string, n: number) => void;
  /** Mute or pin by name, or take that back. */
  toggle: (kind: "muted" | "pinned" | "documents" | "passages", name: string) => void;
}
