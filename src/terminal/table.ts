// Tables of text: aligned columns, as wide as their widest cell, that give way where there is not enough room.
import { safeLine } from "../core/safe-text.ts";
import { textWidth, truncate } from "./width.ts";

type Row = readonly string[];

/** What gives way when a line has no room. Columns are named by their headings. */
export interface Narrow {
  /** How many columns of characters a line may take. */
  readonly room: number;
  /** A column of texts that are shortened before a column is left out. */
  readonly cut?: string;
  /** Left out as far as needed, the first one first. */
  readonly leaveOut: readonly string[];
}

export interface Table {
  /** The line of headings. */
  readonly head: string;
  readonly lines: readonly string[];
  /** Headings of the columns that were left out. */
  readonly hidden: readonly string[];
}

const GAP = "  ";
/** A cut text keeps this many characters, unless everything else is not enough. */
const SHORTEST = 16;

/**
 * Without `narrow`, lines are as long as they are.
 * @param right headings of the columns that are aligned to the right; default: those that begin with a space
 */
export function layoutTable(
  head: Row,
  rows: readonly Row[],
  narrow?: Narrow,
  right: readonly string[] = head.filter((heading) => heading.startsWith(" ")),
): Table {
  const cells = [head, ...rows].map((row) => row.map(safeLine));
  const full = head.map((_, column) => Math.max(...cells.map((row) => textWidth(row[column]!))));
  const widths = narrow ? fitted(head, full, right, narrow) : full;
  const shown = head.flatMap((heading, column) => {
    const width = widths[column]!;
    if (width === 0) return [];
    const cell = (row: Row): string => {
      const text = truncate(row[column]!, width);
      const space = " ".repeat(width - textWidth(text));
      return right.includes(heading) ? space + text : text + space;
    };
    return [cell];
  });
  const line = (row: Row): string =>
    shown
      .map((cell) => cell(row))
      .join(GAP)
      .trimEnd();
  const [first, ...lines] = cells.map(line);
  const hidden = head.filter((_, column) => widths[column] === 0 && full[column]! > 0).map((heading) => heading.trim());
  return { head: first!, lines, hidden };
}

/** Widths with which a line has room; 0 for a column that is left out. */
function fitted(head: Row, full: readonly number[], right: Row, { room, cut, leaveOut }: Narrow): number[] {
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
  // The last column left out may have made room for earlier ones, and for the text.
  for (const column of yielding.toReversed()) {
    const width = widths[column]!;
    widths[column] = full[column]!;
    if (excess() > 0) widths[column] = width;
  }
  if (cutColumn >= 0) {
    widths[cutColumn] = full[cutColumn]!;
    shorten(cutColumn, SHORTEST);
  }
  const texts = widths.map((width, column) => (right.includes(head[column]!) ? 0 : width));
  shorten(texts.indexOf(Math.max(...texts)), 1);
  return widths;
}
