// HTML that cannot be broken out of: what is put into a template is escaped, unless it came from one.
import { safeText } from "../../core/safe-text.ts";

/** Text that is markup already. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Markup | string | number | undefined | readonly Piece[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function textOf(piece: Piece): string {
  if (piece === undefined) return "";
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "object") return piece.map(textOf).join("");
  return safeText(String(piece)).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** @example html`<td>${trial.reason}</td>` // whatever the reason holds is text */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  // The lines are the source's: a page of a thousand trials needs no indentation.
  const parts = strings.map((string) => string.replace(/\s*\n\s*/g, " "));
  return new Markup(parts.map((part, i) => (i === 0 ? part : textOf(pieces[i - 1]) + part)).join(""));
}

/** A coordinate: a tenth of a pixel, or of a thousandth of the width, is all that shows. */
export const at = (coordinate: number): string => String(Math.round(coordinate * 10) / 10);
