// The tables that commands print: on a terminal no wider than it is, if the table says what gives way.
import { layoutTable, type Narrow } from "../terminal/table.ts";
import { terminal } from "../terminal/terminal.ts";
import { paint } from "./output.ts";

type Row = readonly string[];

/** Columns whose heading begins with a space are aligned to the right. Without `narrow`, lines are as long as they are. */
export function table(head: Row, rows: readonly Row[], narrow?: Omit<Narrow, "room">): string {
  // A line that fills the terminal might wrap.
  const fit = narrow && process.stdout.isTTY ? { ...narrow, room: terminal()!.columns - 1 } : undefined;
  const { head: first, lines, hidden } = layoutTable(head, rows, fit);
  const note = hidden.length > 0 ? [`(no room for: ${hidden.join(", ")})`] : [];
  return [paint(process.stdout, "bold", first), ...lines, ...note].join("\n");
}
