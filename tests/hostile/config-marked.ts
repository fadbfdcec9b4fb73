// Texts with a ▸ where the error must point to.
import type { Position } from "../../src/experiment/config/config-error.ts";

export interface Marked {
  readonly text: string;
  readonly position: Required<Pick<Position, "line" | "column">>;
}

export function marked(text: string): Marked {
  const before = text.split("▸")[0]!;
  if (text.split("▸").length !== 2) throw new Error(`a case has one mark: ${text}`);
  const lines = before.split("\n");
  return { text: text.replace("▸", ""), position: { line: lines.length, column: lines.at(-1)!.length + 1 } };
}
