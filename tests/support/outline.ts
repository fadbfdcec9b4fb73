// A trace as text that a person can check: one line per step, with what distinguishes one firing from another.
import type { TraceEntry } from "hookline/testing";

const NEW_LINE = new Set([
  "dataRead",
  "trainingComplete",
  "trainBegin",
  "epochBegin",
  "stepBegin",
  "evalBegin",
  "epochEnd",
  "log",
  "exception",
  "trainEnd",
]);

function label({ event, fields }: TraceEntry): string {
  const notes: string[] = [];
  if (event === "datasetCreated") {
    const folds = (fields.folds as readonly unknown[]).length;
    notes.push(...Object.keys(fields.datasets as object), ...(folds > 0 ? [`${folds} folds`] : []));
  }
  if (event === "trainingComplete") notes.push(String(fields.model));
  if (event === "evaluationComplete") notes.push(String(fields.model), Object.keys(fields.results as object).join(" "));
  if (event === "stepBegin") notes.push(`${fields.step}`);
  if (event === "epochBegin") notes.push(`${fields.epoch}`);
  if (event === "batchBegin" || event === "evalBegin") notes.push(String(fields.loaderName));
  if (event === "evalEnd") notes.push(Object.keys(fields.evalMetrics as object).join(" "));
  if (event === "log") notes.push(Object.keys(fields.logged as object).join(" "));
  if (fields.optimizerIdx !== undefined) notes.push(`optimizer ${fields.optimizerIdx}`);
  if (fields.skipped === true) notes.push("skipped");
  if (fields.partial === true) notes.push("partial");
  if (event === "trainEnd")
    notes.push(`${fields.status}: ${fields.reason}${fields.requestedBy ? ` by ${fields.requestedBy}` : ""}`);
  return notes.length > 0 ? `${event}(${notes.join(", ")})` : event;
}

export function outline(entries: readonly TraceEntry[]): string {
  const lines: string[][] = [[]];
  for (const entry of entries) {
    if (NEW_LINE.has(entry.event) && lines.at(-1)!.length > 0) lines.push([]);
    lines.at(-1)!.push(label(entry));
  }
  return `${lines.map((line) => line.join(" → ")).join("\n")}\n`;
}
