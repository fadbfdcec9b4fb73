// Where a progress bar is shown: live on a terminal, as plain lines, or nowhere.
import {
  type Ending,
  endLines,
  evalEndLines,
  evalLine,
  liveLines,
  plainEnd,
  plainEvalEnd,
  plainEvalLine,
  plainLine,
} from "./lines.ts";
import type { BarState } from "./state.ts";
import { type Style, canRedraw, isQuiet, surroundings, wantsColor, wantsUnicode } from "../../terminal/style.ts";
import { terminal, type Live, type Terminal } from "../../terminal/terminal.ts";
import type { ProgressBarOptions } from "./progress-bar.ts";

export interface BarOutput {
  /** Milliseconds between updates. */
  readonly gap: number;
  /** Milliseconds before an evaluation is shown. */
  readonly evalDelay: number;
  /** A run or a standalone evaluation begins. */
  begin(): void;
  show(): void;
  epochEnd(): void;
  end(ending: Ending): void;
  endEvaluation(metrics: Readonly<Record<string, number>>): void;
  /** Always called last, even if `end` was not. */
  close(): void;
}

/** The options of the bar that concern its output. */
export type OutputOptions = Omit<ProgressBarOptions, "metrics" | "sparkline" | "memory" | "name">;

/** Ten times a second: faster updates could not be read. */
const LIVE_GAP = 100;
/** Keeps the clock running during a long step. */
const TICK = 1000;
/** A shorter evaluation gets no line: it would only flash. */
const SHORT_EVALUATION = 0.3;
/** Short epochs share a plain line. */
const EPOCH_GAP = 1000;

/** Undefined when there is nowhere to show anything. */
export function barOutput(options: OutputOptions, state: BarState): BarOutput | undefined {
  const around = surroundings();
  const { quiet = around !== undefined && isQuiet(around), write } = options;
  if (quiet) return undefined;
  if (write) return plainOutput(options, state, write);
  const screen = terminal();
  if (around === undefined || screen === undefined) return undefined;
  if (!(options.live ?? canRedraw(around))) return plainOutput(options, state, (text) => screen.print(text), screen);
  const { color = wantsColor(around), ascii = !wantsUnicode(around) } = options;
  return liveOutput(screen, state, { color, unicode: !ascii }, options.width ?? Infinity);
}

function liveOutput(screen: Terminal, state: BarState, style: Style, width: number): BarOutput {
  let live: Live | undefined;
  let tick: ReturnType<typeof setInterval> | undefined;
  let unannounce: (() => void) | undefined;

  const columns = (): number => Math.min(screen.columns, width);

  function render(): readonly string[] {
    const { evaluation } = state;
    if (state.isAlone) return evaluation ? [evalLine(evaluation, style, columns())] : [];
    const long = evaluation !== undefined && evaluation.seconds >= SHORT_EVALUATION;
    return liveLines(state.progress, long ? evaluation : undefined, style, columns());
  }

  function close(last?: readonly string[]): void {
    clearInterval(tick);
    live?.close(last);
    live = undefined;
  }

  return {
    gap: LIVE_GAP,
    evalDelay: 0,
    begin() {
      close();
      unannounce ??= screen.announce();
      live = screen.open(render);
      tick = setInterval(() => live?.draw(), TICK);
      tick.unref?.();
    },
    show: () => live?.draw(),
    epochEnd: () => undefined,
    end: (ending) => close([...endLines(state.progress, ending, style, columns()), ...state.figureLines]),
    endEvaluation: (metrics) =>
      close([...evalEndLines(state.evaluation!, Object.entries(metrics), style, columns()), ...state.figureLines]),
    close() {
      close();
      unannounce?.();
      unannounce = undefined;
    },
  };
}

function plainOutput(
  { plainEvery = 5 }: OutputOptions,
  state: BarState,
  write: (text: string) => void,
  screen?: Terminal,
): BarOutput {
  let epochAt = -Infinity;
  let unannounce: (() => void) | undefined;
  const line = (text: string): void => write(`${text}\n`);
  return {
    gap: 1000 * plainEvery,
    evalDelay: 1000 * plainEvery,
    begin() {
      epochAt = -Infinity;
      unannounce ??= screen?.announce();
    },
    show() {
      const { evaluation } = state;
      line(evaluation ? plainEvalLine(evaluation) : plainLine(state.progress));
    },
    epochEnd() {
      const now = performance.now();
      if (now - epochAt < EPOCH_GAP) return;
      epochAt = now;
      line(plainLine(state.progress));
    },
    end: (ending) => [plainEnd(state.progress, ending), ...state.figureLines].forEach(line),
    endEvaluation: (metrics) =>
      [plainEvalEnd(state.evaluation!, Object.entries(metrics)), ...state.figureLines].forEach(line),
    close() {
      unannounce?.();
      unannounce = undefined;
    },
  };
}
