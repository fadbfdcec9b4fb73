// Evaluations: when one is due, and one evaluation over one loader, inside a run or on its own.
import { epochIdx } from "./counters.ts";
import type { CadenceRule } from "../cadence.ts";
import { DataError } from "../errors.ts";
import type { ImageMedia } from "../media.ts";
import type { Figure, Loader } from "../model.ts";
import { showFilter } from "../inspection.ts";
import type { HookRegistry } from "../registry/registry.ts";
import type { Run } from "./run.ts";
import { EVALUATION, fire, scope } from "../registry/dispatch.ts";
import type { Session } from "./session.ts";

export interface EvalFeed {
  /** Prefix of its metrics: `val`, `test`, or the loader's name. */
  readonly name: string;
  readonly index: number;
  readonly loader: Loader;
  readonly limitBatches: number;
}

/** What an evaluation runs on. */
export interface EvalLoop {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly session: Session;
  readonly seed: number;
}

/** What decides when a run evaluates. */
export interface Evaluating extends EvalLoop {
  readonly evals: readonly EvalFeed[];
  readonly evalEvery: CadenceRule | undefined;
  readonly evalAtStart: boolean;
}

/** Before the first step, or because a signal interrupted the evaluation that the run ended with. */
export function firstEvalDue({ run, evals, evalAtStart }: Evaluating): boolean {
  return (evalAtStart && run.clock.now.step === 0) || (run.evalPending && evals.length > 0);
}

/** At the end: for a cadence with `atEnd`, or pending when the limits are reached already; unless it was just done. */
export function lastEvalDue({ run, evals, evalEvery }: Evaluating): boolean {
  const isWanted = evalEvery?.atEnd === true || run.evalPending;
  return isWanted && evals.length > 0 && run.status !== "interrupted" && run.evaluatedAt !== run.clock.now.step;
}

/** Evaluates all loaders. False when a signal interrupted it: then schedules do not see it, and it counts as not done. */
export async function evaluateAll(loop: Evaluating): Promise<boolean> {
  const { run, session, evals } = loop;
  const before = run.evaluatedAt;
  run.phase = "eval";
  run.evaluatedAt = run.clock.now.step;
  const { batch, batchIdx, loaderIdx, loaderName } = run;
  try {
    for (const feed of evals) await evaluateOnce(loop, feed);
  } finally {
    // A checkpoint that is written after a failure in here has the training's position.
    Object.assign(run, { batch, batchIdx, loaderIdx, loaderName });
  }
  run.phase = "train";
  if (run.partial) {
    run.evaluatedAt = before;
    return false;
  }
  run.clock.mark("eval");
  session.optimizers.observe(run.metrics, "eval");
  return true;
}

/** Fires the evaluation's events and returns its metrics; inside a run, merges them into it. */
export async function evaluateOnce(loop: EvalLoop, feed: EvalFeed): Promise<Record<string, number>> {
  const { run, session } = loop;
  const { evaluation } = session;
  Object.assign(run, { loaderName: feed.name, loaderIdx: feed.index, partial: false });
  evaluation.begin();
  try {
    await scope(
      loop,
      EVALUATION,
      async () => {
        beginReplacing(loop, feed.name, "evalBegin");
        await evaluateBatches(loop, feed);
        await finishEvaluation(loop, feed);
        // A standalone evaluation does not touch the run's metrics.
        if (run.partial || run.phase !== "eval") return;
        run.log.report({ ...run.evalMetrics, ...imagesOf(run.figures) });
        run.remember(run.evalMetrics);
      },
      () => evaluation.restore(),
    );
  } finally {
    await feed.loader.close?.();
  }
  return run.evalMetrics;
}

async function evaluateBatches(loop: EvalLoop, { name, loader, limitBatches }: EvalFeed): Promise<void> {
  const { run, session } = loop;
  const { evaluation } = session;
  loader.begin(0, loop.seed);
  for (run.batchIdx = 0; run.batchIdx < limitBatches; run.batchIdx++) {
    // An interrupted evaluation is worth nothing to a monitor: it ends at once and its metrics are not merged.
    if (run.interruption !== undefined && run.phase === "eval") {
      run.partial = true;
      break;
    }
    let fetched = evaluation.fetch(loader, name);
    if (fetched instanceof Promise) fetched = await fetched;
    if (!fetched) break;
    run.show(fetched.batch, fetched.share);
    run.requests.batch = undefined;
    await fire(loop, "evalBatchBegin");
    run.replaceBatch();
    const wait = evaluation.batch(run.batch, name, run.batchIdx, run.share?.empty);
    if (wait) await wait;
    await fire(loop, "evalBatchEnd");
    await session.breathe();
  }
  if (run.batchIdx === 0 && !run.partial) throw noBatches(name);
}

/** Sets the metrics of the evaluation and what metrics have drawn of it. */
async function finishEvaluation({ run, session }: EvalLoop, { name }: EvalFeed): Promise<void> {
  const found = await session.evaluation.end();
  if (!found && !run.partial) {
    throw new DataError(
      `Evaluation loader \`${name}\` has no batch that weighs anything, so there is no loss to average. Are all its labels ignored, or does \`weigh\` return 0 for every batch?`,
    );
  }
  run.evalMetrics = prefixed(name, found ? { loss: found.loss, ...found.metrics } : { loss: Number.NaN });
  run.figures = prefixed(name, found?.figures ?? {});
}

const imagesOf = (figures: Readonly<Record<string, Figure>>): Record<string, ImageMedia> =>
  Object.fromEntries(Object.entries(figures).map(([name, { image }]) => [name, image]));

export const noBatches = (loader: string): DataError =>
  new DataError(`Evaluation loader \`${loader}\` has no batches.`);

/** Lets hooks replace activations until `restore`. Decided once, so that an evaluation is of one model from end to end. */
export function beginReplacing(
  { run, hooks, session }: Pick<EvalLoop, "run" | "hooks" | "session">,
  loader: string,
  event: string,
): void {
  const replacements = hooks.replacing(loader);
  session.evaluation.replace(replacements);
  const { now } = run.clock;
  for (const { hook, request } of replacements) {
    const what = `replace(${showFilter(request.match)}) in ${loader}`;
    run.audit.add({ who: hook, event, step: now.step, epoch: epochIdx(now), what });
  }
}

/** Metrics or figures under a loader's name: `val/loss`. */
export const prefixed = <T>(prefix: string, metrics: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}/${name}`, value]));
