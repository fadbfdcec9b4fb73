// The two formats of the console log: columns for a terminal, `key=value` lines for everything else. Epochs count from 1,
// as in the progress bar.
import { safeLine, safeText } from "../../core/safe-text.ts";
import { formatDuration, howFar } from "../../terminal/eta.ts";
import { formatMetric, formatOf } from "../../terminal/format-number.ts";
import { type Paint, type Style, paint } from "../../terminal/style.ts";
import type { LogRecord, RunEnd } from "../../runs/types.ts";
import { textWidth } from "../../terminal/width.ts";

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

/** One line per record, easy to search: `step=10 epoch=1 loss=0.6931 val/accuracy=0.9`. */
export function keyValueForm(style: Style): Form {
  const { bold, red } = paint(style.color);
  // The last text of each metric: learning rates often stay the same, and formatting numbers is slow.
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

/** Whether a metric is the result of an evaluation or an epoch: its prefix has a loss and no learning rate. */
function isSummary(name: string, scalars: LogRecord["scalars"]): boolean {
  const slash = name.lastIndexOf("/");
  if (slash < 0) return false;
  const prefix = unmarked(name.slice(0, slash + 1));
  return Object.hasOwn(scalars, `${prefix}loss`) && !Object.hasOwn(scalars, `${prefix}lr`);
}

/** Columns for the metrics of steps, and a line for the results of each evaluation and epoch. */
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
      return resumedAt === undefined ? [] : [dim(`${safeLine(name)} resumes from step ${resumedAt}`)];
    },
    log(record, values) {
      const outcomes = values.filter(([name]) => isSummary(name, record.scalars));
      const rest = outcomes.length === 0 ? values : values.filter((each) => !outcomes.includes(each));
      const lines: string[] = [];
      // The end of an epoch logs its last step again.
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

/** The longest number: `-1.234e-10`. */
const NUMBER_WIDTH = 10;
const GAP = "  ";

interface Cell {
  readonly text: string;
  /** Not a number, or infinite. */
  readonly bad: boolean;
}

const EMPTY: Cell = { text: "", bad: false };

/** Rows of numbers under a header, which is repeated now and then. Columns never move. */
export class Table {
  readonly #paint: Paint;
  readonly #headerEvery: number;
  /** In the order of their first appearance. */
  readonly #columns = new Map<string, number>();
  /** The columns that fit. */
  #shown: readonly (readonly [name: string, width: number])[] = [];
  #fittedTo = { columns: 0, width: 0 };
  #rows = 0;

  /** `first` are the columns of every row. */
  constructor(first: readonly string[], headerEvery: number, style: Style) {
    for (const name of first) this.#columns.set(name, columnWidth(name));
    this.#headerEvery = headerEvery;
    this.#paint = paint(style.color);
  }

  /** The row, after a header if one is due. Columns that do not fit in `width` are left out and counted in the header. */
  row(cells: ReadonlyMap<string, Cell>, width: number): string[] {
    for (const name of cells.keys()) if (!this.#columns.has(name)) this.#columns.set(name, columnWidth(name));
    const changed = this.#fit(width);
    const { bold, red } = this.#paint;
    const texts = this.#shown.map(([name, columns]) => {
      const { text, bad } = cells.get(name) ?? EMPTY;
      const padded = text.padStart(columns);
      return bad ? bold(red(padded)) : padded;
    });
    const line = texts.join(GAP).trimEnd();
    if (!changed && this.#rows < this.#headerEvery) {
      this.#rows++;
      return [line];
    }
    this.#rows = 1;
    return [this.#header(), line];
  }

  /** True when the columns have changed. */
  #fit(width: number): boolean {
    const { columns, width: before } = this.#fittedTo;
    if (columns === this.#columns.size && width === before) return false;
    this.#fittedTo = { columns: this.#columns.size, width };
    const last = this.#shown.length;
    const all = [...this.#columns];
    let used = 0;
    const fits = all.findIndex(([, each]) => (used += each + GAP.length) > width);
    this.#shown = fits < 0 ? all : all.slice(0, Math.max(1, fits));
    // The header also counts the hidden columns.
    return this.#shown.length !== last || columns !== this.#columns.size;
  }

  #header(): string {
    const names = this.#shown.map(([name, columns]) => " ".repeat(columns - textWidth(name)) + name);
    const hidden = this.#columns.size - this.#shown.length;
    return this.#paint.dim(names.join(GAP) + (hidden > 0 ? ` +${hidden}` : ""));
  }
}

const columnWidth = (name: string): number =>
  name === "epoch" ? name.length : Math.max(name === "step" ? 7 : NUMBER_WIDTH, textWidth(name));
