// A bar, and a line that leaves out what has no room.
import { textWidth } from "../../terminal/width.ts";
import { paint, type Style } from "../../terminal/paint.ts";

/** A bar of `width` characters of which `share` is done. */
export function bar(share: number, width: number, { color, unicode }: Style): string {
  const done = Math.min(1, Math.max(0, share || 0));
  const { cyan, green, dim } = paint(color);
  const filled = done === 1 ? green : cyan;
  if (!unicode) {
    const inside = Math.max(1, width - 2);
    const cells = Math.floor(done * inside);
    const head = cells > 0 && cells < inside ? `${"=".repeat(cells - 1)}>` : "=".repeat(cells);
    return `[${filled(head)}${" ".repeat(inside - cells)}]`;
  }
  const halves = Math.floor(2 * width * done);
  const full = Math.floor(halves / 2);
  const half = halves % 2;
  return filled("━".repeat(full) + "╸".repeat(half)) + dim("─".repeat(width - full - half));
}

/** A part of a line. What is worth least gives way first: to a shorter form if it has one, then altogether. */
export interface Part {
  readonly text: string;
  readonly worth: number;
  /** From the longer to the shortest. */
  readonly shorter?: readonly string[];
}

/** The parts that have room in `columns`, in their order. */
export function fitted(parts: readonly Part[], columns: number, gap = "  "): string {
  const left = parts
    .filter(({ text }) => text !== "")
    .map((part) => ({ ...part, forms: [part.text, ...(part.shorter ?? [])] }));
  const line = (): string => left.map(({ forms }) => forms[0]).join(gap);
  while (left.length > 1 && textWidth(line()) > columns) {
    // Of equals the last one.
    const least = left.reduce((a, b) => (b.worth <= a.worth ? b : a));
    least.forms.shift();
    if (least.forms.length === 0) left.splice(left.indexOf(least), 1);
  }
  const last = left[0];
  if (left.length === 1 && last) while (last.forms.length > 1 && textWidth(line()) > columns) last.forms.shift();
  return line();
}
