// A confusion matrix as lines of text: a table, or, for many classes, the most frequent mistakes.
import { safeLine } from "../../../core/safe-text.ts";
import type { ConfusionCounts } from "./confusion-matrix.ts";

/** A wider table would be broken into lines that nobody can read. */
const MOST_COLUMNS = 100;
const LONGEST_NAME = 16;
const MISTAKES = 10;

export function matrixText(matrix: ConfusionCounts): string {
  const table = tableText(matrix);
  return table[0]!.length <= MOST_COLUMNS ? table.join("\n") : mistakesText(matrix).join("\n");
}

/** Whole numbers as they are, weighted counts with one decimal. */
const countText = (count: number): string => (Number.isInteger(count) ? String(count) : count.toFixed(1));

const shortName = (name: string): string => {
  const line = safeLine(name);
  return line.length <= LONGEST_NAME ? line : `${line.slice(0, LONGEST_NAME - 1)}…`;
};

function tableText({ counts, names }: ConfusionCounts): string[] {
  const heads = names.map(shortName);
  const size = names.length;
  const cells = names.map((_, row) => names.map((__, column) => countText(counts.data[row * size + column]!)));
  const widths = heads.map((head, column) => Math.max(head.length, ...cells.map((row) => row[column]!.length)));
  const first = Math.max("actual".length, ...heads.map((head) => head.length));
  const line = (head: string, row: readonly string[]): string =>
    [head.padEnd(first), ...row.map((cell, column) => cell.padStart(widths[column]!))].join("  ");
  const total = first + widths.reduce((sum, width) => sum + width + 2, 0);
  return ["predicted".padStart(total), line("actual", heads), ...cells.map((row, i) => line(heads[i]!, row))];
}

function mistakesText({ counts: { data }, names }: ConfusionCounts): string[] {
  const size = names.length;
  const total = data.reduce((sum, count) => sum + count, 0);
  const mistakes = Array.from(data, (count, at) => ({ count, row: Math.floor(at / size), column: at % size }))
    .filter(({ count, row, column }) => count > 0 && row !== column)
    .toSorted((a, b) => b.count - a.count);
  const wrong = mistakes.reduce((sum, { count }) => sum + count, 0);
  return [
    `${size} classes, ${countText(wrong)} of ${countText(total)} wrong; most often:`,
    ...mistakes
      .slice(0, MISTAKES)
      .map(
        ({ count, row, column }) =>
          `${shortName(names[row]!)} taken for ${shortName(names[column]!)}: ${countText(count)}`,
      ),
  ];
}
