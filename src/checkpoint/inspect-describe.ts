// An inspected checkpoint as text for people: what it is, what is wrong with it, and aligned tables of its contents.
import { safeLine } from "../core/safe-text.ts";
import type { InspectedCheckpoint } from "./inspect.ts";

/** A model may have thousands of tensors: each file's first ones say how they look. */
const MOST_ROWS = 100;

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

function showBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let [value, unit] = [bytes / 1000, 1];
  // What would round to 1000 is one of the next.
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${value.toPrecision(3)} ${UNITS[unit]}`;
}

/** A name from a file might fill a terminal. */
const short = (name: string): string => {
  const safe = safeLine(name);
  return safe.length > 80 ? `${safe.slice(0, 79)}…` : safe;
};

const showCount = (count: number): string => count.toLocaleString("en-US");

/** The manifest has all digits; people want a few. */
const brief = (value: number): string => (Number.isFinite(value) ? String(Number(value.toPrecision(5))) : `${value}`);

type Row = readonly string[];

/** Columns to the left, but those whose heading begins with a space to the right. */
function table(head: Row, rows: readonly Row[]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const cell = (text: string, i: number): string =>
    head[i]!.startsWith(" ") ? text.padStart(widths[i]!) : text.padEnd(widths[i]!);
  return all.map((row) => `  ${row.map(cell).join("  ")}`.trimEnd());
}

/** What `inspectCheckpoint` found, as text with aligned columns. */
export function describeCheckpoint(info: InspectedCheckpoint): string {
  const { path, kind, valid, problems, skipped, files, tensors, parameters, bytes } = info;
  const lines = [`${path}: ${kind}, ${valid ? "valid" : "DAMAGED"}`];
  if (info.step !== undefined) {
    // People count epochs from 1.
    const when = info.time === undefined ? "" : `, ${new Date(info.time).toISOString()}`;
    lines.push(`step ${info.step}, epoch ${info.epoch! + 1}, saved for ${info.reason}${when}`);
  }
  const metrics = Object.entries(info.metrics ?? {}).map(([name, value]) => `${name} ${brief(value)}`);
  if (metrics.length > 0) lines.push(`metrics: ${metrics.join(", ")}`);
  lines.push(
    `${showCount(parameters)} parameters, ${showBytes(bytes)} in ${files.length === 1 ? "1 file" : `${files.length} files`}`,
  );
  for (const problem of problems) lines.push(`problem: ${problem}`);
  for (const { name, file, reason } of skipped) lines.push(`newer, but damaged: ${name} (${file}: ${reason})`);
  if (files.length > 0) {
    const rows = files.map(({ name, bytes }) => [name, showBytes(bytes)]);
    lines.push("", ...table(["file", " size"], rows));
  }
  for (const file of new Set(tensors.map((tensor) => tensor.file))) {
    const own = tensors.filter((tensor) => tensor.file === file);
    const rows = own
      .slice(0, MOST_ROWS)
      .map(({ name, dtype, shape, bytes }) => [short(name), dtype, `[${shape.join(", ")}]`, showBytes(bytes)]);
    lines.push("", ...table([file, "type", "shape", " size"], rows));
    const rest = own.slice(MOST_ROWS);
    const restBytes = rest.reduce((sum, { bytes }) => sum + bytes, 0);
    if (rest.length > 0) lines.push(`  … and ${showCount(rest.length)} more, ${showBytes(restBytes)}`);
  }
  return lines.map(safeLine).join("\n");
}
