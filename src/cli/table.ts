// Aligned columns, as wide as their widest cell; on a terminal no wider than that, where a table says what gives way.
import { safeLine } from "../core/safe-text.ts";
import { terminal } from "../terminal/terminal.ts";
import { textWidth, truncate } from "../terminal/width.ts";
import { paint } from "./output.ts";

type Row = readonly string[];

/** What gives way on a terminal that is too narrow; columns by their headings. */
interface Narrow {
  /** A text that is cut before anything is left out. */
  readonly cut?: string;
  /** As many as it takes, the first one first. */
  readonly leaveOut: readonly string[];
}

const GAP = "  ";
/** So much stays of a text, unless all else is not enough. */
const SHORTEST = 16;

const isToTheRight = (heading: string): boolean => heading.startsWith(" ");

/** Columns whose heading begins with a space are set to the right. Without `narrow`, lines are as long as they are. */
export function table(head: Row, rows: readonly Row[], narrow?: Narrow): string {
  const cells = [head, ...rows].map((row) => row.map(safeLine));
  const full = head.map((_, column) => Math.max(...cells.map((row) => textWidth(row[column]!))));
  // A line that fills the terminal might wrap.
  const widths = narrow && process.stdout.isTTY ? fitted(head, full, narrow, terminal()!.columns - 1) : full;
  const shown = head.flatMap((heading, column) => {
    const width = widths[column]!;
    if (width === 0) return [];
    const cell = (row: Row): string => {
      const text = truncate(row[column]!, width);
      const space = " ".repeat(width - textWidth(text));
      return isToTheRight(heading) ? space + text : text + space;
    };
    return [cell];
  });
  const line = (row: Row): string =>
    shown
      .map((cell) => cell(row))
      .join(GAP)
      .trimEnd();
  const [first, ...rest] = cells.map(line);
  const hidden = head.filter((_, column) => widths[column] === 0).map((heading) => heading.trim());
  const note = hidden.length > 0 ? [`(no room for: ${hidden.join(", ")})`] : [];
  return [paint(process.stdout, "bold", first!), ...rest, ...note].join("\n");
}

/** Widths with which a line has room; 0 for a column that is left out. */
function fitted(head: Row, full: readonly number[], { cut, leaveOut }: Narrow, room: number): number[] {
  const widths = [...full];
  const excess = (): number =>
    widths.reduce((sum, width) => sum + (width > 0 ? width + GAP.length : 0), -GAP.length) - room;
  const shorten = (column: number, least: number): void => {
    const width = widths[column]!;
    widths[column] = Math.max(Math.min(least, width), width - Math.max(0, excess()));
  };
  const cutColumn = cut === undefined ? -1 : head.indexOf(cut);
  if (cutColumn >= 0) shorten(cutColumn, SHORTEST);
  const yielding = leaveOut.map((heading) => head.indexOf(heading));
  for (const column of yielding) if (excess() > 0) widths[column] = 0;
  // What was left out last may have made room for some that went before it, and for the text.
  for (const column of yielding.toReversed()) {
    const width = widths[column]!;
    widths[column] = full[column]!;
    if (excess() > 0) widths[column] = width;
  }
  if (cutColumn >= 0) {
    widths[cutColumn] = full[cutColumn]!;
    shorten(cutColumn, SHORTEST);
  }
  const texts = widths.map((width, column) => (isToTheRight(head[column]!) ? 0 : width));
  shorten(texts.indexOf(Math.max(...texts)), 1);
  return widths;
}
