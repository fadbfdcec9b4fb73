// The progress of a study: a live table of its trials on a terminal, elsewhere a line for each trial that ends.
import { safeLine } from "../../core/safe-text.ts";
import type { Hook } from "../../core/hook.ts";
import type { TrialInfo, TuneContexts } from "../../core/outer-events.ts";
import { formatDuration } from "../../terminal/eta.ts";
import { formatMetric } from "../../terminal/format-number.ts";
import { canRedraw, surroundings, wantsColor, wantsUnicode } from "../../terminal/style.ts";
import { terminal, type Live } from "../../terminal/terminal.ts";
import type { Space } from "../../tune/space/space.ts";
import { valueAtPath } from "../../tune/study-table.ts";
import { trialLines, type TrialsView } from "./trial-lines.ts";

/** Milliseconds between redraws: more than ten a second cannot be followed. */
const LEAST_GAP = 100;
/** Redraws at least this often, so that the clock advances. */
const TICK = 1000;
const DEFAULT_ROWS = 24;

type Setup = TuneContexts["tuneSetup"];

/** How long trials have run, as seen by this process. */
class Times {
  readonly #since = new Map<number, number>();
  readonly #spent = new Map<number, number>();

  start(number: number): void {
    this.#since.set(number, performance.now());
  }

  end(number: number): void {
    const seconds = this.secondsOf(number);
    this.#since.delete(number);
    if (seconds !== undefined) this.#spent.set(number, seconds);
  }

  readonly secondsOf = (number: number): number | undefined => {
    const [since, spent] = [this.#since.get(number), this.#spent.get(number)];
    if (since === undefined) return spent;
    return (spent ?? 0) + (performance.now() - since) / 1000;
  };
}

/** A hook for the study that shows its trials. */
export function trialTable(space: Space): Hook {
  const around = surroundings()!;
  return canRedraw(around) ? liveTable(space) : plainLines(space);
}

function liveTable(space: Space): Hook {
  const around = surroundings()!;
  const style = { color: wantsColor(around), unicode: wantsUnicode(around) };
  const screen = terminal()!;
  const times = new Times();
  const begun = performance.now();
  let setup: Setup | undefined;
  let live: Live | undefined;
  let tick: ReturnType<typeof setInterval> | undefined;
  let later: ReturnType<typeof setTimeout> | undefined;
  let drawnAt = 0;

  const view = ({ study, objectives, budget, trials }: Setup): TrialsView => ({
    name: study,
    space,
    objectives,
    trials,
    total: budget.trials,
    elapsed: (performance.now() - begun) / 1000,
    secondsOf: times.secondsOf,
  });
  const draw = (): void => {
    clearTimeout(later);
    later = undefined;
    drawnAt = performance.now();
    live?.draw();
  };
  const soon = (): void => {
    const wait = drawnAt + LEAST_GAP - performance.now();
    if (wait <= 0) draw();
    else later ??= setTimeout(draw, wait);
  };
  const ended = ({ trial }: { readonly trial: TrialInfo }): void => {
    times.end(trial.number);
    soon();
  };
  return {
    name: "trialTable",
    stage: "progress",
    onTuneSetup(ctx) {
      setup = ctx;
      const size = () => ({ columns: screen.columns, rows: process.stdout.rows || DEFAULT_ROWS });
      live = screen.open(() => trialLines(view(setup!), style, size()));
      tick = setInterval(soon, TICK);
      tick.unref();
    },
    onTrialStart({ trial }) {
      times.start(trial.number);
      soon();
    },
    // By then what was reported is known.
    onTuneStepEnd: soon,
    onTrialComplete: ended,
    onTrialRecover: ended,
    onTrialError: ended,
    onExperimentEnd() {
      clearInterval(tick);
      clearTimeout(later);
      live?.close();
    },
  };
}

function plainLines(space: Space): Hook {
  const times = new Times();
  const screen = terminal()!;
  let objectives: Setup["objectives"] = [];
  const say = (text: string): void => screen.print(`${text}\n`);
  const about = ({ number, reports, params, result }: TrialInfo): string => {
    const seconds = times.secondsOf(number);
    const paths = [...new Set(space.parameters.map(({ path }) => path))];
    const values = objectives.flatMap(({ metric }) =>
      result?.[metric] === undefined ? [] : [`${metric} ${formatMetric(metric, result[metric])}`],
    );
    const given = paths.map((path) => [path, valueAtPath({ params } as TrialInfo, path, space.parameters)] as const);
    const parts = [
      ...values,
      ...(reports.length > 0 ? [`step ${reports.at(-1)!.step}`] : []),
      ...(seconds === undefined ? [] : [formatDuration(seconds)]),
      ...given.filter(([, value]) => value !== "").map(([path, value]) => `${path} ${value}`),
    ];
    return safeLine(parts.join(", "));
  };
  return {
    name: "trialTable",
    stage: "progress",
    onTuneSetup(ctx) {
      ({ objectives } = ctx);
      const done = ctx.trials.filter(({ status }) => ["completed", "pruned", "failed"].includes(status)).length;
      if (ctx.resumed)
        say(`${safeLine(ctx.study)} resumes: ${done} of its trials ${done === 1 ? "has" : "have"} ended.`);
    },
    onTrialStart: ({ trial }) => times.start(trial.number),
    onTrialComplete({ trial }) {
      times.end(trial.number);
      say(`trial ${trial.number} ${trial.status}: ${about(trial)}`);
    },
    onTrialRecover({ trial, error }) {
      times.end(trial.number);
      say(`trial ${trial.number} is retried: ${safeLine(`${error.name}: ${error.message}`)}`);
    },
    onTrialError({ trial, error }) {
      times.end(trial.number);
      say(`trial ${trial.number} failed: ${safeLine(`${error.name}: ${error.message}`)}`);
    },
  };
}
