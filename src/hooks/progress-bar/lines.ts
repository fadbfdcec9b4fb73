// The text of a progress bar: live lines for a terminal, plain lines for logs, and the summary of a finished run.
import { safeLine } from "../../core/safe-text.ts";
import { formatDuration, formatPace, formatRate, howFar } from "../../terminal/eta.ts";
import { formatMetric } from "../../terminal/format-number.ts";
import { sparkline } from "../../terminal/sparkline.ts";
import { paint, type Style } from "../../terminal/style.ts";
import { textWidth, truncate } from "../../terminal/width.ts";

export interface EvalProgress {
  readonly name: string;
  readonly batches: number;
  /** Undefined for data of unknown length. */
  readonly total: number | undefined;
  readonly seconds: number;
}

export interface Progress {
  /** From 1; 0 before the first. */
  readonly epoch: number;
  readonly epochs: number | undefined;
  readonly step: number;
  readonly totalSteps: number | undefined;
  readonly elapsed: number;
  readonly left: number | undefined;
  readonly secondsPerStep: number | undefined;
  /** Undefined where tokens are not counted. */
  readonly tokensPerSecond?: number | undefined;
  /** Bytes in use; undefined when they are not shown. */
  readonly memory?: number | undefined;
  readonly values: readonly (readonly [name: string, value: number])[];
  /** Seconds for which the engine has been compiling; undefined when it is not. */
  readonly compiling?: number | undefined;
  /** The losses so far; empty without a sparkline. */
  readonly curve: readonly number[];
}

export interface Ending {
  readonly status: string;
  readonly reason: string;
}

const LONGEST_CURVE = 24;
const SHORTEST_CURVE = 6;
const LONGEST_REASON = 100;

const cutMark = ({ unicode }: Style): string => (unicode ? "…" : "...");

/** One column less than the terminal has: a full line might wrap. */
const room = (columns: number): number => Math.max(1, columns - 1);

const SHORTEST_BAR = 8;
/** Depends on the terminal alone, so that the bar does not change its length with the numbers next to it. */
const barWidth = (columns: number): number => Math.min(40, Math.max(SHORTEST_BAR, Math.floor(columns / 5)));

const counted = (done: number, total: number | undefined): string =>
  total === undefined ? String(done) : `${String(done).padStart(String(total).length)}/${total}`;

const percent = (share: number): string => `${Math.floor(100 * Math.min(1, share))}%`;

/** Empty when they are not counted. */
const tokenRate = ({ tokensPerSecond: rate }: Progress): string =>
  rate === undefined ? "" : `${formatRate(rate)} tokens/s`;

/** Empty when it is not shown. */
const memoryOf = ({ memory: bytes }: Progress): string =>
  bytes === undefined ? "" : `${(bytes / 2 ** 30).toFixed(2)} GiB`;

const epochOf = ({ epoch, epochs }: Progress): string => (epochs === undefined ? `${epoch}` : `${epoch}/${epochs}`);

/** `loss 0.1234`; values that are not finite are highlighted. */
function metric(name: string, value: number, style: Style): string {
  const { dim, red, bold } = paint(style.color);
  const shown = formatMetric(name, value);
  return `${dim(safeLine(name))} ${Number.isFinite(value) ? shown : bold(red(shown))}`;
}

/** A shorter compilation would only flash. */
const SHORT_COMPILATION = 2;

function compileLine({ compiling = 0 }: Progress, style: Style): string[] {
  if (compiling < SHORT_COMPILATION) return [];
  return [`  ${paint(style.color).dim("compiling the program,")} ${Math.floor(compiling)} s`];
}

const metrics = ({ values }: Pick<Progress, "values">, style: Style): Part[] =>
  values.map(([name, value], i) => ({ text: metric(name, value, style), worth: 50 - i }));

/** Empty when the total is unknown. */
function barPart(share: number | undefined, columns: number, style: Style, worth: number): Part {
  if (share === undefined) return { text: "", worth };
  const text = percent(share);
  const drawn = (width: number): string => `${bar(share, width, style)} ${text.padStart(4)}`;
  return { text: drawn(barWidth(columns)), worth, shorter: [drawn(SHORTEST_BAR), text] };
}

function progressLine(progress: Progress, style: Style, columns: number): string {
  const { step, totalSteps, elapsed, left, secondsPerStep } = progress;
  const { dim } = paint(style.color);
  const share = totalSteps === undefined ? undefined : step / Math.max(1, totalSteps);
  const eta = share === undefined ? "" : `${dim("eta")} ${left === undefined ? "-:--" : formatDuration(left)}`;
  const parts: Part[] = [
    { text: `${dim("epoch")} ${epochOf(progress)}`, worth: 60, shorter: [epochOf(progress)] },
    barPart(share, columns, style, 70),
    {
      text: `${dim("step")} ${counted(step, totalSteps)}`,
      worth: 100,
      shorter: [counted(step, totalSteps), `${step}`],
    },
    { text: secondsPerStep === undefined ? "" : formatPace(secondsPerStep), worth: 40 },
    { text: tokenRate(progress), worth: 35 },
    { text: memoryOf(progress), worth: 25 },
    { text: formatDuration(elapsed), worth: 30 },
    { text: eta, worth: 90 },
  ];
  return fitted(parts, room(columns));
}

function metricsLine(progress: Progress, style: Style, columns: number): string[] {
  const line = fitted(metrics(progress, style), room(columns) - 2);
  const wide = Math.min(LONGEST_CURVE, room(columns) - 2 - (line === "" ? 0 : textWidth(line) + 2));
  const curve = style.unicode && wide >= SHORTEST_CURVE ? sparkline(progress.curve, wide) : "";
  const { cyan } = paint(style.color);
  const parts = [line, cyan(curve)].filter((part) => part !== "");
  return parts.length === 0 ? [] : [`  ${parts.join("  ")}`];
}

export function evalLine(progress: EvalProgress, style: Style, columns: number): string {
  const { batches, total, seconds } = progress;
  const name = safeLine(progress.name);
  const share = total === undefined ? undefined : batches / Math.max(1, total);
  const { dim } = paint(style.color);
  const parts: Part[] = [
    { text: `${dim("evaluating")} ${name}`, worth: 60, shorter: [name] },
    barPart(share, columns, style, 40),
    { text: `${dim("batch")} ${counted(batches, total)}`, worth: 100, shorter: [counted(batches, total)] },
    { text: formatDuration(seconds), worth: 30 },
  ];
  return `  ${fitted(parts, room(columns) - 2)}`;
}

/** Two lines, progress and metrics, and a third during an evaluation. None is wider than the terminal. */
export function liveLines(
  progress: Progress,
  evaluation: EvalProgress | undefined,
  style: Style,
  columns: number,
): string[] {
  const lines = [progressLine(progress, style, columns), ...metricsLine(progress, style, columns)];
  if (evaluation) lines.push(evalLine(evaluation, style, columns));
  lines.push(...compileLine(progress, style));
  return lines.map((line) => truncate(line, room(columns), cutMark(style)));
}

/** One line of plain text, for logs. */
export function plainLine(progress: Progress): string {
  const { step, totalSteps, elapsed, left, secondsPerStep, values } = progress;
  const share = totalSteps === undefined ? "" : ` (${percent(step / Math.max(1, totalSteps))})`;
  const parts = [
    `step ${totalSteps === undefined ? step : `${step}/${totalSteps}`}${share}`,
    `epoch ${epochOf(progress)}`,
    secondsPerStep === undefined ? "" : formatPace(secondsPerStep),
    tokenRate(progress),
    memoryOf(progress),
    `${formatDuration(elapsed)} elapsed`,
    totalSteps === undefined || left === undefined ? "" : `${formatDuration(left)} left`,
    ...words(values),
  ];
  return parts.filter((part) => part !== "").join(", ");
}

export function plainEvalLine({ name, batches, total, seconds }: EvalProgress): string {
  const share = total === undefined ? "" : ` (${percent(batches / Math.max(1, total))})`;
  return `evaluating ${safeLine(name)}: batch ${total === undefined ? batches : `${batches}/${total}`}${share}, ${formatDuration(seconds)}`;
}

const words = (values: Progress["values"]): string[] =>
  values.map(([name, value]) => `${safeLine(name)} ${formatMetric(name, value)}`);

/** Only the first line of an error: the caller prints all of it. */
const firstLine = (reason: string, style: Style): string =>
  truncate(safeLine(reason.split("\n", 1)[0]!), LONGEST_REASON, cutMark(style));

export function plainEnd(progress: Progress, { status, reason }: Ending): string {
  const why = firstLine(reason, { color: false, unicode: false });
  const outcome = `${status} ${howFar(status, progress.step, progress.elapsed)}`;
  return [`${outcome}${why === "" ? "" : ` (${why})`}`, ...words(progress.values)].join(", ");
}

export function plainEvalEnd({ name, batches, seconds }: EvalProgress, values: Progress["values"]): string {
  return [
    `evaluated ${safeLine(name)}: ${batches} ${batches === 1 ? "batch" : "batches"} in ${formatDuration(seconds)}`,
    ...words(values),
  ].join(", ");
}

function mark(status: string, { color, unicode }: Style): string {
  const { green, red, yellow } = paint(color);
  if (status === "completed") return green(unicode ? "✓" : "+");
  return status === "error" ? red(unicode ? "✗" : "x") : yellow(unicode ? "■" : "!");
}

/** Parts in a row, wrapped onto as many lines as they need. */
function flow(parts: readonly string[], columns: number, style: Style): string[] {
  const lines: string[] = [];
  for (const part of parts.filter((text) => text !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && textWidth(last) + 2 + textWidth(part) <= room(columns))
      lines.push(`${lines.pop()}  ${part}`);
    else lines.push(last === undefined ? part : `  ${part}`);
  }
  return lines.map((line) => truncate(line, room(columns), cutMark(style)));
}

/** A run that failed in a step may not have finished it. */
function stepsDone(status: string, step: number, total: number | undefined): string {
  const ofAll = total === undefined ? `${step}` : `${step}/${total}`;
  if (status === "error") return `step ${ofAll}`;
  return total === step ? `${step} steps` : `${ofAll} steps`;
}

/** The summary of a finished run: `✓ completed: 6 epochs  2580 steps  0:18  143 steps/s  loss 0.0213`. */
export function endLines(progress: Progress, { status, reason }: Ending, style: Style, columns: number): string[] {
  const { step, totalSteps, elapsed, secondsPerStep, values } = progress;
  const { bold } = paint(style.color);
  const why = firstLine(reason, style);
  const parts = [
    `${mark(status, style)} ${bold(status)}${why === "" ? "" : `: ${why}`}`,
    stepsDone(status, step, totalSteps),
    formatDuration(elapsed),
    secondsPerStep === undefined ? "" : formatPace(secondsPerStep),
    tokenRate(progress),
    ...values.map(([name, value]) => metric(name, value, style)),
  ];
  return flow(parts, columns, style);
}

/** The summary of a standalone evaluation. */
export function evalEndLines(
  { name, batches, seconds }: EvalProgress,
  values: Progress["values"],
  style: Style,
  columns: number,
): string[] {
  const { bold } = paint(style.color);
  const shown = values.map(([metricName, value]) => metric(metricName, value, style));
  const head = `${mark("completed", style)} ${bold(safeLine(name))}`;
  return flow([head, `${batches} batches`, formatDuration(seconds), ...shown], columns, style);
}

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

/** A part of a line. When room is short, the part with the lowest worth is shortened, then dropped. */
export interface Part {
  readonly text: string;
  readonly worth: number;
  /** Shorter forms, longest first. */
  readonly shorter?: readonly string[];
}

/** The parts that fit into `columns`, in order. */
export function fitted(parts: readonly Part[], columns: number, gap = "  "): string {
  const left = parts
    .filter(({ text }) => text !== "")
    .map((part) => ({ ...part, forms: [part.text, ...(part.shorter ?? [])] }));
  const line = (): string => left.map(({ forms }) => forms[0]).join(gap);
  while (left.length > 1 && textWidth(line()) > columns) {
    // The last of equals.
    const least = left.reduce((a, b) => (b.worth <= a.worth ? b : a));
    least.forms.shift();
    if (least.forms.length === 0) left.splice(left.indexOf(least), 1);
  }
  const last = left[0];
  if (left.length === 1 && last) while (last.forms.length > 1 && textWidth(line()) > columns) last.forms.shift();
  return line();
}
