// The training loop. It reads from top to bottom like the drawing in events.ts: run, epoch, step, batch, update, boundary.
// Hot paths await only what is a promise: `if (p) await p` keeps a synchronous engine and synchronous hooks synchronous.
import type { CadenceRule } from "./cadence.ts";
import { samplesIn, toBatch } from "./batch.ts";
import { DataError, OptionError } from "./errors.ts";
import type { BuiltinEvent } from "./events.ts";
import { evaluateOnce, type EvalFeed, type Interruption } from "./evaluate.ts";
import type { MaybePromise } from "./loader.ts";
import type { Limits } from "./limits.ts";
import { messageOf } from "./maybe.ts";
import type { HostBatch } from "./model.ts";
import { show } from "./options.ts";
import type { HookRegistry } from "./registry.ts";
import type { Run } from "./run.ts";
import type { EvalWork, Feed, Work } from "./work.ts";

export interface LoopParts {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly work: Work;
  readonly evalWork: EvalWork;
  readonly feed: Feed;
  readonly evals: readonly EvalFeed[];
  readonly limits: Limits;
  readonly seed: number;
  readonly evalEvery: CadenceRule | undefined;
  readonly logEvery: CadenceRule;
  readonly evalAtStart: boolean;
  readonly limitBatches: number;
  readonly tokens: ((batch: HostBatch) => number) | undefined;
  /** Why the run must end now, from a signal or the caller's AbortSignal. */
  interrupted(): Interruption | undefined;
  /** Lets timers, signals and I/O run, when it is time. */
  breathe(): void | Promise<void>;
}

/** Runs epochs until a limit, a stop or an interruption; leaves the outcome in `run`. */
export async function runLoop(parts: LoopParts): Promise<void> {
  const { run, hooks, limits } = parts;
  await hooks.fire.trainBegin!();
  actOnStop(parts);
  if (parts.evalAtStart && run.clock.now.step === 0 && !ended(parts)) await evaluateAll(parts);
  while (!ended(parts)) await epoch(parts);
  if (lastEvalDue(parts)) await evaluateAll(parts);
  run.updateElapsed();
  if (run.status === "training") {
    run.status = "completed";
    run.reason = limits.reached(run.clock.now) ?? `${limits.epochs} ${limits.epochs === 1 ? "epoch" : "epochs"}`;
  }
}

async function epoch(parts: LoopParts): Promise<void> {
  const { run, hooks, work, feed } = parts;
  const reopened = run.epochOpen;
  if (!reopened) {
    run.clock.now.epoch++;
    run.epochOpen = true;
    run.batchIdx = -1;
    feed.begin(run.clock.now.epoch - 1, parts.seed);
    work.resetEpochMetrics();
  }
  run.requests.skip = undefined;
  await hooks.fire.epochBegin!();

  let next = await upcoming(parts);
  // An epoch that failed on its last batch has nothing left: it simply ends.
  if (next === undefined && !reopened) {
    throw new DataError(
      `The training data has no batch in epoch ${run.clock.now.epoch - 1}. Is the loader empty, or does dropLast drop its only batch?`,
    );
  }
  while (next !== undefined && !run.skips("epoch") && !ended(parts)) {
    await step(parts, next);
    const after = upcoming(parts);
    next = after instanceof Promise ? await after : after;
  }

  const cutShort = next !== undefined;
  // A skipped epoch is over; one that a limit, a stop or a signal cut short is continued by a later fit.
  run.epochOpen = cutShort && !run.skips("epoch");
  const { loss, metrics } = await work.epochMetrics();
  if (!Number.isNaN(loss)) run.merge({ "train/loss": loss, ...prefixed("train", metrics) });
  if (!cutShort && run.status !== "interrupted" && evalDue(parts, "epoch")) await evaluateAll(parts);
  run.partial = cutShort;
  run.remember({ ...run.metrics });
  await hooks.fire.epochEnd!();
  run.requests.skip = undefined;
  if (hooks.listens("log")) await log(parts);
  run.clock.mark("epoch");
  actOnStop(parts);
  // Also here: epochs whose steps are all skipped must not starve signals and timers.
  await parts.breathe();
}

/** The losses of a step's kept micro-batches. */
interface StepTotal {
  /** Sum of loss × samples. */
  loss: number;
  weight: number;
  /** The last one alone: a step of one micro-batch has exactly its loss. */
  last: number;
}

async function step(parts: LoopParts, loader: number): Promise<void> {
  const { run, hooks, work } = parts;
  const { fire } = hooks;
  // Asked for in the middle of a step, another number of micro-batches holds from the next one on.
  const microBatches = run.accumulate;
  run.clock.now.step++;
  run.skipped = false;
  run.stepLoss = undefined;
  run.optimizerIdx = 0;
  run.requests.skip = undefined;
  work.beginStep(run.clock.now.step, run.clock.now.epoch - 1, microBatches);
  let wait = fire.stepBegin!();
  if (wait) await wait;

  const total: StepTotal = { loss: 0, weight: 0, last: Number.NaN };
  let open = false;
  for (let micro = 0; micro < microBatches; micro++) {
    // With optimizers tied to loaders, all micro-batches of a step come from the loader of its first.
    const from = micro > 0 && work.tied ? loader : undefined;
    const source = micro === 0 ? loader : await upcoming(parts, from);
    if (source === undefined) break;
    if (open) {
      wait = fire.batchEnd!();
      if (wait) await wait;
    }
    run.batchIdx++;
    open = run.skips("step") ? await passOver(parts, from) : await batch(parts, micro, source, from, total);
  }

  let updated = work.plan.kind === "fused" && total.weight > 0 && work.finite;
  if (work.kept > 0) {
    updated = await update(parts, total);
    if (updated) await work.commit();
    else work.abandon();
  }
  const skipped = !updated;
  if (open) {
    run.skipped ||= skipped;
    wait = fire.batchEnd!();
    if (wait) await wait;
  }
  run.skipped = skipped;
  if (skipped) run.skippedSteps++;
  run.updateElapsed();
  wait = fire.stepEnd!();
  if (wait) await wait;
  wait = boundary(parts);
  if (wait) await wait;
}

/** Uses up a batch of a skipped step, or the next step would meet it again. No batch has begun: false. */
async function passOver({ feed }: LoopParts, from: number | undefined): Promise<false> {
  await feed.skip(from);
  return false;
}

/** One micro-batch, up to but not including its `batchEnd`; false when it was skipped before it was fetched. */
async function batch(
  parts: LoopParts,
  micro: number,
  source: number,
  from: number | undefined,
  total: StepTotal,
): Promise<boolean> {
  const { run, hooks, work, feed } = parts;
  const { fire } = hooks;
  run.loaderIdx = source;
  run.loaderName = feed.names[source]!;
  run.requests.batch = undefined;
  run.requests.scale = 1;
  if (run.requests.skip === "batch") run.requests.skip = undefined;
  run.skipped = false;
  let wait = fire.beforeFetch!();
  if (wait) await wait;
  if (run.skips("step")) return passOver(parts, from);
  let next = feed.next(from);
  if (next instanceof Promise) next = await next;
  run.batch = toBatch(next, () => `Loader \`${run.loaderName}\``);
  run.clock.mark("batch");
  run.clock.now.batches++;
  run.clock.now.samples += samplesIn(run.batch);
  if (parts.tokens) run.clock.now.tokens += countTokens(parts.tokens, run.batch);

  wait = fire.batchBegin!();
  if (wait) await wait;
  if (!run.skips("batch")) {
    wait = fire.beforeForward!();
    if (wait) await wait;
  }
  if (run.requests.batch) run.batch = run.requests.batch;
  if (run.skips("batch")) return skipBatch(parts);

  const weight = work.takeBatch(run.batch, run.loaderName, micro);
  if (work.plan.kind === "fused") {
    wait = work.fusedStep(run.requests.scale);
    if (wait) await wait;
    wait = settled(parts, "batchEnd", "stepEnd");
    if (wait) await wait;
    total.weight = weight;
    return true;
  }
  if (work.plan.kind === "forwardFirst") {
    await work.forward();
    await settled(parts, "afterForward", "beforeBackward");
    await fire.afterForward!();
    if (!run.skips("batch")) await fire.beforeBackward!();
    if (run.skips("batch")) return skipBatch(parts);
  }
  await work.backward(run.requests.scale);
  await work.settle();
  await fire.afterBackward!();
  if (run.skips("batch")) return skipBatch(parts);
  await work.keepBatch();
  total.last = run.loss;
  total.loss += total.last * weight;
  total.weight += weight;
  return true;
}

/** Reads what these events show, if someone listens and the engine cannot read on demand. */
function settled({ hooks, work }: Pick<LoopParts, "hooks" | "work">, ...events: BuiltinEvent[]): void | Promise<void> {
  return work.syncRead || !hooks.listens(...events) ? undefined : work.settle();
}

/** Leaves the batch out of the step; `batchEnd` shows it as skipped. */
function skipBatch({ run, work }: LoopParts): true {
  work.dropBatch();
  run.skipped = true;
  return true;
}

/** Optimizer by optimizer; until the first parameter moves a hook may still skip the step: false. */
async function update({ run, hooks, work }: LoopParts, total: StepTotal): Promise<boolean> {
  const { fire } = hooks;
  if (run.skips("step")) return false;
  run.stepLoss = work.kept > 1 ? total.loss / total.weight : total.last;
  await work.gatherGrads();
  for (const index of work.due) {
    run.optimizerIdx = index;
    await fire.beforeOptimizerStep!();
  }
  if (run.skips("step") || !work.finite) return false;
  if (work.clips) {
    await work.clip();
    await settled({ hooks, work }, "gradientClip", "afterOptimizerStep", "stepEnd");
    for (const index of work.due) {
      run.optimizerIdx = index;
      await fire.gradientClip!();
    }
    if (run.skips("step")) return false;
  }
  for (const index of work.due) {
    run.optimizerIdx = index;
    await work.update(index);
    await fire.afterOptimizerStep!();
  }
  run.optimizerIdx = 0;
  return true;
}

/** After a step: at most one evaluation, then one log, then the stop if one was asked for. */
function boundary(parts: LoopParts): void | Promise<void> {
  const evaluates = evalDue(parts, "step");
  return evaluates || logDue(parts) ? report(parts, evaluates) : closeStep(parts);
}

async function report(parts: LoopParts, evaluates: boolean): Promise<void> {
  if (evaluates) await evaluateAll(parts);
  if (logDue(parts)) await log(parts);
  await closeStep(parts);
}

function closeStep(parts: LoopParts): void | Promise<void> {
  parts.run.clock.mark();
  actOnStop(parts);
  return parts.breathe();
}

function logDue(parts: LoopParts): boolean {
  const { run, hooks, logEvery } = parts;
  return hooks.listens("log") && logEvery.unit !== "epoch" && logEvery.due(run.moment);
}

function evalDue({ run, evals, evalEvery }: LoopParts, at: "step" | "epoch"): boolean {
  const asked = run.requests.eval;
  run.requests.eval = false;
  if (evals.length === 0 || run.evaluatedAt === run.clock.now.step) return false;
  if (asked) return true;
  if (evalEvery === undefined || (evalEvery.unit === "epoch") !== (at === "epoch")) return false;
  return evalEvery.due(run.moment);
}

/** Does the cadence ask for an evaluation at the end that has not just been done? */
function lastEvalDue({ run, evals, evalEvery }: LoopParts): boolean {
  const wanted = evalEvery?.atEnd === true && evals.length > 0 && run.status !== "interrupted";
  return wanted && run.evaluatedAt !== run.clock.now.step;
}

async function evaluateAll(parts: LoopParts): Promise<void> {
  const { run, work, evals } = parts;
  run.phase = "eval";
  run.evaluatedAt = run.clock.now.step;
  const atHand = { batch: run.batch, batchIdx: run.batchIdx, loaderIdx: run.loaderIdx, loaderName: run.loaderName };
  for (const feed of evals) {
    await evaluateOnce(parts, feed);
  }
  Object.assign(run, atHand);
  run.clock.mark("eval");
  run.phase = "train";
  // An evaluation that was cut off has no news for a schedule.
  if (!run.partial) work.observe(run.metrics);
}

async function log({ run, hooks, work }: LoopParts): Promise<void> {
  const { now } = run.clock;
  await work.settle();
  const loss: Record<string, number> = run.skipped || now.step === 0 ? {} : { loss: run.loss };
  run.logged = { ...loss, lr: work.lr(0), epoch: now.epoch - 1, ...run.unlogged };
  run.unlogged = {};
  await hooks.fire.log!();
  run.clock.mark("log");
}

/** Carries out or refuses a hook's stop; a refused one is forgotten, so that only a reason that persists ends the run. */
function actOnStop({ run, limits }: LoopParts): void {
  const { stop } = run.requests;
  if (stop === undefined) return;
  run.requests.stop = undefined;
  const early = limits.tooEarly(run.clock.now, run.epochsDone);
  if (early !== undefined) {
    stop.entry.refused = early;
    return;
  }
  Object.assign(run, { status: "stopped", reason: stop.reason, requestedBy: stop.by });
}

/** Is the run over, for whatever reason? */
function ended({ run, limits, interrupted }: LoopParts): boolean {
  if (run.status !== "training") return true;
  const interruption = interrupted();
  if (interruption !== undefined) {
    Object.assign(run, { status: "interrupted", ...interruption });
    return true;
  }
  return limits.reached(run.clock.now) !== undefined || run.epochsDone >= limits.epochs;
}

/** The loader of the next batch, or undefined when the epoch is over. */
function upcoming({ feed, run, limitBatches }: LoopParts, from?: number): MaybePromise<number | undefined> {
  return run.batchIdx + 1 < limitBatches ? feed.peek(from) : undefined;
}

/** What the user's `tokens` counts in a batch. */
function countTokens(tokens: (batch: HostBatch) => number, batch: HostBatch): number {
  let count: unknown;
  try {
    count = tokens(batch);
  } catch (cause) {
    throw new OptionError(
      `\`tokens\` failed on a batch with fields ${Object.keys(batch).join(", ")}: ${messageOf(cause)}`,
      { cause },
    );
  }
  if (typeof count === "number" && count >= 0 && Number.isFinite(count)) return count;
  throw new OptionError(`Expected \`tokens\` to return a number ≥ 0, got ${show(count)}.`);
}

export const prefixed = (prefix: string, metrics: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${prefix}/${name}`, value]));
