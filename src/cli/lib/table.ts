// Aligned columns, as wide as their widest cell.
import { paint } from "./paint.ts";

type Row = readonly string[];

/** What could steer a terminal is left out: names and reasons come from files. */
export const plain = (cell: string): string => cell.replace(/[\p{Cc}\p{Cf}]/gu, "?");

/** Columns whose heading begins with a space are set to the right. The last one is as long as it is. */
export function table(head: Row, rows: readonly Row[]): string {
  const cells = [head, ...rows].map((row) => row.map(plain));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const line = (row: Row): string =>
    row
      .map((text, i) => (head[i]!.startsWith(" ") ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)))
      .join("  ")
      .trimEnd();
  const [first, ...rest] = cells.map(line);
  return [paint(process.stdout, "bold", first!), ...rest].join("\n");
}
