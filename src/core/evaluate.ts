// One evaluation over one loader: inside a run, or on its own.
import { toBatch } from "./batch.ts";
import { DataError } from "./errors.ts";
import type { Loader } from "./loader.ts";
import { showFilter } from "./probes.ts";
import type { HookRegistry } from "./registry.ts";
import type { Run } from "./run.ts";
import type { EvalWork } from "./work.ts";

/** A signal to the process, or the caller's AbortSignal. */
export interface Interruption {
  readonly reason: string;
  readonly requestedBy: string;
}

export interface EvalFeed {
  /** Prefix of its metrics: `val`, `test`, or the loader's name. */
  readonly name: string;
  readonly index: number;
  readonly loader: Loader;
  readonly limitBatches: number;
}

export interface EvalParts {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly evalWork: EvalWork;
  readonly seed: number;
  /** Why the run must end now, from a signal or the caller's AbortSignal. */
  interrupted(): Interruption | undefined;
  /** Lets timers, signals and I/O run, when it is time. */
  breathe(): void | Promise<void>;
}

/** Fires the evaluation's events, merges its metrics into the run and returns them. */
export async function evaluateOnce(parts: EvalParts, feed: EvalFeed): Promise<Record<string, number>> {
  const { run, hooks, evalWork } = parts;
  const { fire } = hooks;
  run.loaderName = feed.name;
  run.loaderIdx = feed.index;
  run.partial = false;
  evalWork.begin();
  try {
    await fire.evalBegin!();
    beginReplacing(parts, feed.name, "evalBegin");
    feed.loader.begin(0, parts.seed);
    for (run.batchIdx = 0; run.batchIdx < feed.limitBatches; run.batchIdx++) {
      // An interrupted evaluation is worth nothing to a monitor: it ends at once and its metrics are not merged.
      if (parts.interrupted() !== undefined && run.phase === "eval") {
        run.partial = true;
        break;
      }
      let batch = feed.loader.next();
      if (batch instanceof Promise) batch = await batch;
      if (batch === undefined) break;
      run.batch = toBatch(batch, () => `Loader \`${feed.name}\``);
      run.requests.batch = undefined;
      await fire.evalBatchBegin!();
      if (run.requests.batch) run.batch = run.requests.batch;
      const wait = evalWork.batch(run.batch, feed.name, run.batchIdx);
      if (wait) await wait;
      await fire.evalBatchEnd!();
      await parts.breathe();
    }
    if (run.batchIdx === 0 && !run.partial) throw new DataError(`Evaluation loader \`${feed.name}\` has no batches.`);
    const { loss, metrics } = await evalWork.end();
    run.evalMetrics = prefixed(feed.name, { loss, ...metrics });
    if (!run.partial) {
      if (run.phase === "eval") run.report(run.evalMetrics);
      run.remember(run.evalMetrics);
    }
    await fire.evalEnd!();
    return run.evalMetrics;
  } finally {
    evalWork.restore();
    await feed.loader.close?.();
  }
}

/** Lets hooks replace activations until `restore`. Decided once, so that an evaluation is of one model from end to end. */
export function beginReplacing(
  { run, hooks, evalWork }: Pick<EvalParts, "run" | "hooks" | "evalWork">,
  loader: string,
  event: string,
): void {
  const replacements = hooks.replacing(loader);
  evalWork.replace(replacements);
  const { step, epoch } = run.clock.now;
  for (const { hook, request } of replacements) {
    const what = `replace(${showFilter(request.match)}) in ${loader}`;
    run.audit.add({ who: hook, event, step, epoch: Math.max(0, epoch - 1), what });
  }
}

/** Metrics under a loader's name: `val/loss`. */
export const prefixed = (prefix: string, metrics: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}/${name}`, value]));
