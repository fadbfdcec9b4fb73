// consoleLog: prints metrics: columns on a terminal, one `key=value` line per record elsewhere.
import { component } from "../../core/component.ts";
import { printLine } from "../../platform/print.ts";
import { safeLine } from "../../core/safe-text.ts";
import { selectNames, type NameFilter } from "../../core/names.ts";
import { OptionError } from "../../core/errors.ts";
import { is, show } from "../../core/options.ts";
import { type Style, canRedraw, isQuiet, surroundings, wantsColor, wantsUnicode } from "../../terminal/style.ts";
import { terminal } from "../../terminal/terminal.ts";
import type { LogRecord } from "../../runs/types.ts";
import { type LoggerBackend, inTimer } from "../backend.ts";
import { columnForm, keyValueForm } from "./forms.ts";

/** Options of `consoleLog`. */
export interface ConsoleOptions {
  /** Which metrics, by name or pattern: `["loss", "val/*"]`. Default: all. */
  readonly metrics?: NameFilter;
  /** Metrics to smooth, each with how much stays of the mean so far: `{ loss: 0.9 }`. They show as `~loss`. */
  readonly smoothing?: Readonly<Record<string, number>>;
  /** Rows between two headers. Default 25. */
  readonly headerEvery?: number;
  /** True: `key=value` lines on a terminal too; false: columns everywhere. Default: columns on a terminal, unless in CI. */
  readonly plain?: boolean;
  /** Default: on a terminal, unless NO_COLOR is set; FORCE_COLOR is respected. */
  readonly color?: boolean;
  /** Writes nothing. Default: what `--quiet` on the command line or HOOKLINE_QUIET say. */
  readonly quiet?: boolean;
  /** Gets the lines instead of stdout (in a browser: of the console), each with its line break. */
  readonly write?: (text: string) => void;
}

/** Milliseconds between two writes: lines that come faster are written together. */
const GAP = 50;
const MOST_TITLES = 10_000;

/**
 * Prints what is logged. On a terminal: columns, a line for each evaluation and epoch, and how the run ended.
 * @example logger([consoleLog({ metrics: ["loss", "val/*"], smoothing: { loss: 0.9 } })])
 */
export const consoleLog = /* @__PURE__ */ component(
  {
    kind: "logger",
    name: "console",
    takes: () => ({
      options: {
        metrics: is.or(is.name, is.arrayOf(is.name), is.function),
        smoothing: is.object,
        headerEvery: is.wholeFrom(1),
        plain: is.boolean,
        color: is.boolean,
        quiet: is.boolean,
        write: is.function,
      },
    }),
  },
  makeConsoleLog,
);

function makeConsoleLog(options: ConsoleOptions = {}): LoggerBackend {
  const { metrics, smoothing = {}, headerEvery = 25 } = options;
  for (const [metric, decay] of Object.entries(smoothing)) {
    if (!is.fraction.test(decay))
      throw new OptionError(
        `consoleLog: Expected \`smoothing.${metric}\` to be ${is.fraction.expected}, got ${show(decay)}`,
      );
  }
  const around = surroundings();
  const screen = terminal();
  const { quiet = around !== undefined && isQuiet(around), color = around !== undefined && wantsColor(around) } =
    options;
  const { plain = options.write !== undefined || around === undefined || !canRedraw(around) } = options;
  const style: Style = { color, unicode: around === undefined || wantsUnicode(around) };
  const write =
    options.write ?? (screen ? (text: string) => screen.print(text) : (text: string) => printLine(text.trimEnd()));
  const smoother = new Smoother(smoothing);
  const form = plain ? keyValueForm(style) : columnForm(style, headerEvery, () => screen?.columns ?? 80);
  const titles = new Map<string, string>();
  let waiting: LogRecord[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wroteAt = -Infinity;
  let forget: (() => void) | undefined;
  /** Whether a progress bar reports how the run ended; it may be gone before the loggers are closed. */
  let isToldElsewhere = false;
  /** One for each run, so that each reports its first failure. */
  let flushInTimer = flush;

  function writeLines(lines: readonly string[]): void {
    if (lines.length > 0) write(`${lines.join("\n")}\n`);
  }

  /** The title of a metric; "" for one that every line has anyway. Cached, because names repeat at every step. */
  function titleOf(name: string): string {
    let title = titles.get(name);
    if (title === undefined) {
      // Also under a prefix.
      const isEpoch = name === "epoch" || name.endsWith("/epoch");
      title = isEpoch ? "" : safeLine(smoother.smooths(name) ? `~${name}` : name);
      if (titles.size < MOST_TITLES) titles.set(name, title);
    }
    return title;
  }

  function format(record: LogRecord): string[] {
    const values: [title: string, value: number][] = [];
    let names = Object.keys(record.scalars);
    if (metrics !== undefined) names = selectNames(metrics, names);
    for (const name of names) {
      const title = titleOf(name);
      if (title !== "") values.push([title, smoother.next(name, record.scalars[name]!)]);
    }
    return values.length === 0 ? [] : form.log(record, values);
  }

  function flush(): void {
    isToldElsewhere ||= screen?.isAnnounced === true;
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const records = waiting;
    waiting = [];
    wroteAt = performance.now();
    writeLines(records.flatMap(format));
  }

  if (quiet) return { name: "console", open: () => undefined, log: () => undefined, close: () => undefined };
  return {
    name: "console",
    open({ name, resumedAt }, warn) {
      flushInTimer = inTimer(flush, (problem) => warn?.(problem));
      smoother.clear();
      forget ??= screen?.beforeLast(flush);
      writeLines(form.open(name, resumedAt));
    },
    log(record) {
      waiting.push(record);
      // A single record is printed at once, in order with what others print.
      if (timer === undefined && performance.now() - wroteAt >= GAP) flush();
      else timer ??= setTimeout(flushInTimer, GAP);
    },
    flush,
    close(end) {
      flush();
      forget?.();
      forget = undefined;
      // A standalone evaluation ends without a reason, and a progress bar reports the end itself.
      if (end.reason !== "" && (options.write !== undefined || !isToldElsewhere)) writeLines(form.close(end));
      isToldElsewhere = false;
    },
  };
}

/** Exponential moving averages by name, with bias correction: the first average is the first value. */
export class Smoother {
  readonly #decays: Readonly<Record<string, number>>;
  readonly #means = new Map<string, { sum: number; weight: number }>();

  constructor(decays: Readonly<Record<string, number>>) {
    this.#decays = decays;
  }

  smooths(name: string): boolean {
    return Object.hasOwn(this.#decays, name);
  }

  /** The average including this value. A value that is not finite is returned as it is and left out of the average. */
  next(name: string, value: number): number {
    const decay = this.#decays[name];
    if (decay === undefined || !Number.isFinite(value)) return value;
    const { sum, weight } = this.#means.get(name) ?? { sum: 0, weight: 0 };
    const mean = { sum: decay * sum + (1 - decay) * value, weight: decay * weight + (1 - decay) };
    this.#means.set(name, mean);
    return mean.sum / mean.weight;
  }

  clear(): void {
    this.#means.clear();
  }
}
