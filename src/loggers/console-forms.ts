// The two forms of a console log: columns for a terminal, `key=value` lines for everything else. People read both, so
// epochs count from 1, as in the progress bar.
import { safeLine, safeText } from "../core/safe-text.ts";
import { howFar } from "../terminal/ending.ts";
import { formatDuration } from "../terminal/eta.ts";
import { formatMetric, formatOf } from "../terminal/format-number.ts";
import { paint, type Style } from "../terminal/paint.ts";
import type { LogRecord, RunEnd } from "../runs/types.ts";
import { Table, type Cell } from "./console-table.ts";

/** How the lines look. */
interface Form {
  open(name: string, resumedAt: number | undefined): string[];
  log(record: LogRecord, values: readonly (readonly [name: string, value: number])[]): string[];
  close(end: RunEnd): string[];
}

/** Smoothed metrics are marked. */
const unmarked = (name: string): string => (name.startsWith("~") ? name.slice(1) : name);

const quoted = (text: string): string => safeText(JSON.stringify(text));

const MOST_NAMES = 10_000;

/** One line for each log, to be searched: `step=10 epoch=1 loss=0.6931 val/accuracy=0.9`. */
export function keyValueForm(style: Style): Form {
  const { bold, red } = paint(style.color);
  // Of each name what it said last: learning rates and the like stay the same for long, and numbers are slow to format.
  const said = new Map<
    string,
    { readonly label: string; format: ReturnType<typeof formatOf>; value: number; text: string }
  >();
  const pair = (name: string, value: number): string => {
    let last = said.get(name);
    if (last === undefined) {
      if (said.size >= MOST_NAMES) said.clear();
      const label = `${name.replaceAll(/\s/g, "_")}=`;
      said.set(name, (last = { label, format: formatOf(unmarked(name)), value: Number.NaN, text: "" }));
    }
    if (value !== last.value) {
      last.value = value;
      const text = last.label + last.format(value);
      last.text = ` ${Number.isFinite(value) ? text : bold(red(text))}`;
    }
    return last.text;
  };
  return {
    open: (name, resumedAt) => (resumedAt === undefined ? [] : [`run=${quoted(name)} resumedAt=${resumedAt}`]),
    log({ step, epoch }, values) {
      let line = `step=${step} epoch=${epoch + 1}`;
      for (const [name, value] of values) line += pair(name, value);
      return [line];
    },
    close: ({ status, reason, step, elapsed }) => [
      `status=${status} reason=${quoted(reason)} step=${step} elapsed=${elapsed.toFixed(1)}`,
    ],
  };
}

/** What comes under one prefix with a loss of its own, and no rate, is the outcome of an evaluation or an epoch. */
function isSummary(name: string, scalars: LogRecord["scalars"]): boolean {
  const slash = name.lastIndexOf("/");
  if (slash < 0) return false;
  const prefix = unmarked(name.slice(0, slash + 1));
  return Object.hasOwn(scalars, `${prefix}loss`) && !Object.hasOwn(scalars, `${prefix}lr`);
}

/** Columns for what steps log, a line for what evaluations and epochs do. */
export function columnForm(style: Style, headerEvery: number, columns: () => number): Form {
  const table = new Table(["step", "epoch"], headerEvery, style);
  const { dim, bold, red, green, yellow } = paint(style.color);
  const marks = style.unicode ? { good: "✓", bad: "✗", cut: "■" } : { good: "+", bad: "x", cut: "!" };
  let lastRow = -1;
  const cell = (name: string, value: number): Cell => ({
    text: formatMetric(unmarked(name), value),
    bad: !Number.isFinite(value),
  });

  function summary({ step, epoch, elapsed }: LogRecord, values: readonly (readonly [string, number])[]): string {
    const whole = values.some(([name]) => unmarked(name).startsWith("train/"));
    const parts = values.map(([name, value]) => {
      const { text, bad } = cell(name, value);
      return `${dim(name)} ${bad ? bold(red(text)) : text}`;
    });
    const what = whole ? `epoch ${epoch + 1}` : `step ${step}`;
    return [`${style.unicode ? "──" : "--"} ${bold(what)}`, ...parts, dim(formatDuration(elapsed))].join("  ");
  }

  return {
    open(name, resumedAt) {
      lastRow = -1;
      return resumedAt === undefined ? [] : [dim(`${safeLine(name)} goes on from step ${resumedAt}`)];
    },
    log(record, values) {
      const outcomes = values.filter(([name]) => isSummary(name, record.scalars));
      const rest = outcomes.length === 0 ? values : values.filter((each) => !outcomes.includes(each));
      const lines: string[] = [];
      // The end of an epoch logs its last step once more.
      if (rest.length > 0 && record.step !== lastRow) {
        const cells = new Map<string, Cell>();
        cells.set("step", { text: String(record.step), bad: false });
        cells.set("epoch", { text: String(record.epoch + 1), bad: false });
        for (const [name, value] of rest) cells.set(name, cell(name, value));
        lines.push(...table.row(cells, columns()));
        lastRow = record.step;
      }
      if (outcomes.length > 0) lines.push(summary(record, outcomes));
      return lines;
    },
    close({ status, reason, step, elapsed }) {
      const mark = status === "completed" ? green(marks.good) : status === "error" ? red(marks.bad) : yellow(marks.cut);
      return [`${mark} ${bold(status)} ${howFar(status, step, elapsed)}: ${safeLine(reason.split("\n", 1)[0]!)}`];
    },
  };
}
