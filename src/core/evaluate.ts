// One evaluation over one loader: inside a run, or on its own.
import { toBatch } from "./batch.ts";
import { epochIdx } from "./counters.ts";
import { DataError } from "./errors.ts";
import type { Loader, MaybePromise } from "./model.ts";
import { chain } from "./maybe.ts";
import { showFilter } from "./inspection.ts";
import type { HookRegistry } from "./registry.ts";
import type { Run } from "./run.ts";
import type { Team } from "./team.ts";
import type { EvalWork } from "./work.ts";

/** Batches of an evaluation after which several processes look for a signal that one of them was sent. */
const AGREE_EVERY = 8;

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
  /** The processes that train together; undefined for one alone. */
  readonly team: Team | undefined;
  /** Why the run must end now, from a signal or the caller's AbortSignal. */
  interrupted(): Interruption | undefined;
  /** Lets timers, signals and I/O run, when it is time. */
  breathe(): void | Promise<void>;
}

/** Fires the evaluation's events and returns its metrics; inside a run, merges them into it. */
export async function evaluateOnce(parts: EvalParts, feed: EvalFeed): Promise<Record<string, number>> {
  const { run, hooks, evalWork, team } = parts;
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
      let found = takeBatch(parts, feed);
      if (found instanceof Promise) found = await found;
      if (!found) break;
      run.requests.batch = undefined;
      await fire.evalBatchBegin!();
      run.replaceBatch();
      const wait = evalWork.batch(run.batch, feed.name, run.batchIdx, run.share?.empty);
      if (wait) await wait;
      await fire.evalBatchEnd!();
      if (team && run.phase === "eval" && run.batchIdx % AGREE_EVERY === AGREE_EVERY - 1) await team.agree();
      await parts.breathe();
    }
    if (run.batchIdx === 0 && !run.partial) throw noBatches(feed.name);
    const averages = await evalWork.end();
    if (!averages && !run.partial) {
      throw new DataError(
        `Evaluation loader \`${feed.name}\` has no batch that weighs anything, so there is no loss to average. Are all its labels ignored, or does \`weigh\` return 0 for every batch?`,
      );
    }
    run.evalMetrics = prefixed(
      feed.name,
      averages ? { loss: averages.loss, ...averages.metrics } : { loss: Number.NaN },
    );
    // One on its own is none of the run's business.
    if (!run.partial && run.phase === "eval") {
      run.log.report(run.evalMetrics);
      run.remember(run.evalMetrics);
    }
    await fire.evalEnd!();
    return run.evalMetrics;
  } finally {
    evalWork.restore();
    await feed.loader.close?.();
  }
}

export const noBatches = (loader: string): DataError =>
  new DataError(`Evaluation loader \`${loader}\` has no batches.`);

/** Shows the next batch, or this process's share of it; false at the end. Synchronous where the loader is. */
function takeBatch({ run, team }: EvalParts, { loader, name }: EvalFeed): MaybePromise<boolean> {
  if (!team) {
    return chain(loader.next(), (batch) => {
      if (batch !== undefined) run.show(toBatch(batch, () => `Loader \`${name}\``));
      return batch !== undefined;
    });
  }
  return chain(team.nextShare(loader, name), (share) => {
    if (share) run.show(share.batch, share);
    return share !== undefined;
  });
}

/** Lets hooks replace activations until `restore`. Decided once, so that an evaluation is of one model from end to end. */
export function beginReplacing(
  { run, hooks, evalWork }: Pick<EvalParts, "run" | "hooks" | "evalWork">,
  loader: string,
  event: string,
): void {
  const replacements = hooks.replacing(loader);
  evalWork.replace(replacements);
  const { now } = run.clock;
  for (const { hook, request } of replacements) {
    const what = `replace(${showFilter(request.match)}) in ${loader}`;
    run.audit.add({ who: hook, event, step: now.step, epoch: epochIdx(now), what });
  }
}

/** Metrics under a loader's name: `val/loss`. */
export const prefixed = (prefix: string, metrics: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}/${name}`, value]));
