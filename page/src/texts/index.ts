/** The one catalogue of what the page says. A translation is another object of the same type. */
import { en } from "./en";

export type Texts = typeof en;
export const t: Texts = en;
