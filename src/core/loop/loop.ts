// The training loop. It reads from top to bottom like the drawing in events.ts: run, epoch, step, batch, update.
// Hot paths await only what is a promise: `if (wait) await wait` keeps a synchronous engine and synchronous hooks synchronous.
import type { CadenceRule } from "../cadence.ts";
import { DataError } from "../errors.ts";
import { type EvalFeed, type EvalLoop, evaluateAll, firstEvalDue, lastEvalDue, prefixed } from "./evaluate.ts";
import type { BuiltinEvent } from "../events.ts";
import type { Limits } from "./counters.ts";
import type { MaybePromise } from "../model.ts";
import { chain } from "../maybe.ts";
import { BATCH, EPOCH, fire, REST_OF_EPOCH, scope, STEP } from "../registry/dispatch.ts";
import { actOnStop, type Audience, command, evaluateAndLog, hold, log } from "./boundary.ts";

/** What the loop runs on: the state of the run, the hooks, the session that computes, and the user's limits and cadences. */
export interface Loop extends EvalLoop {
  readonly evals: readonly EvalFeed[];
  readonly limits: Limits;
  readonly evalEvery: CadenceRule | undefined;
  readonly logEvery: CadenceRule;
  readonly evalAtStart: boolean;
  /** Batches of an epoch at most. */
  readonly limitBatches: number;
  readonly warn: (message: string) => void;
}

/** Runs epochs until a limit, a stop or an interruption; leaves the outcome in `run`. */
export async function runLoop(loop: Loop): Promise<void> {
  const { run, session, limits } = loop;
  await fire(loop, "trainBegin");
  await session.saves.begin();
  if (run.requests.stop) actOnStop(loop);
  if (run.requests.pause) await hold(loop, () => ended(loop));
  if (firstEvalDue(loop) && !ended(loop)) await evaluateAndLog(loop);
  await epochs(loop);
  if (lastEvalDue(loop)) await evaluateAndLog(loop);
  // A signal may have interrupted that evaluation.
  if (run.evalPending) ended(loop);
  await run.exchange("end");
  run.updateElapsed();
  await settled(loop, "trainEnd");
  if (run.status === "training") {
    run.status = "completed";
    run.reason = limits.reached(run.clock.now) ?? `${limits.epochs} ${limits.epochs === 1 ? "epoch" : "epochs"}`;
  }
  await session.saves.end();
}

async function epochs(loop: Loop): Promise<void> {
  const { run, warn } = loop;
  // In a process group the main rank warns for all.
  let isSilent = !run.isMain;
  while (!ended(loop)) {
    const loss = await epoch(loop);
    // A hook that ends the run gives its own reason, and `nanGuard` keeps such steps out of the average.
    if (isSilent || loss === undefined || Number.isFinite(loss) || run.status !== "training") continue;
    isSilent = true;
    warn(
      `The average training loss of epoch ${run.clock.now.epoch} is ${loss}, and no hook deals with it: \`nanGuard\` says where it begins, and stops the run, skips such steps or rolls back to a checkpoint.`,
    );
  }
}

/** Resolves to the average loss; to undefined where every step was skipped. */
async function epoch(loop: Loop): Promise<number | undefined> {
  const { run, session } = loop;
  const { saves } = session;
  const isReopened = run.epochOpen;
  if (!isReopened) {
    saves.markInconsistent();
    run.clock.now.epoch++;
    run.epochOpen = true;
    run.batchIdx = -1;
    session.data.begin(run.clock.now.epoch - 1, loop.seed);
    session.readings.resetEpoch();
    saves.markConsistent();
  }
  let loss: number | undefined;
  await scope(loop, run.epochEntered ? REST_OF_EPOCH : EPOCH, async () => {
    run.epochEntered = true;
    const isWhole = await steps(loop, isReopened);
    loss = await closeEpoch(loop, isWhole);
  });
  run.epochEntered = false;
  await saves.rollback();
  // The epoch has ended: a hook that fails while it is logged does not make the resumed run end and log it again.
  saves.markConsistent();
  const audience = epochLogDue(loop);
  if (audience) await log(loop, audience);
  await run.exchange("epochLog");
  run.clock.mark("epoch");
  if (saves.pending) await saves.boundary();
  if (run.requests.stop) actOnStop(loop);
  // Also here: epochs whose steps are all skipped must not starve signals and timers.
  await session.breathe();
  return loss;
}

/** Steps until the data ends, the epoch is skipped or the run ends; false when data is left. */
async function steps(loop: Loop, isReopened: boolean): Promise<boolean> {
  const { run } = loop;
  let next = await upcoming(loop);
  // An epoch that failed on its last batch has nothing left: it simply ends.
  if (next === undefined && !isReopened) {
    throw new DataError(
      `The training data has no batch in epoch ${run.clock.now.epoch}. Is the loader empty, or does dropLast drop its only batch?`,
    );
  }
  while (next !== undefined && !run.skips("epoch") && !ended(loop)) {
    await step(loop, next);
    const after = upcoming(loop);
    next = after instanceof Promise ? await after : after;
  }
  return next === undefined;
}

/** Averages and evaluates before `epochEnd`. */
async function closeEpoch(loop: Loop, isWhole: boolean): Promise<number | undefined> {
  const { run, session } = loop;
  const { now } = run.clock;
  session.saves.markInconsistent();
  let isCutShort = !isWhole;
  // A skipped epoch counts as finished; an interrupted one is continued by the next `fit`.
  run.epochOpen = isCutShort && !run.skips("epoch");
  const { progress } = now;
  if (!run.epochOpen) now.progress = ++now.epochsDone;
  const averages = await session.readings.epochMetrics();
  // An epoch whose steps were all skipped has no average; one that went wrong has NaN, and shows it.
  if (averages) run.log.merge(prefixed("train", { loss: averages.loss, ...averages.metrics }));
  if (!isCutShort && run.status !== "interrupted" && evalDue(loop, "epoch") && !(await evaluateAll(loop))) {
    // A signal interrupted the evaluation, so the epoch has not ended: the next `fit` evaluates, and then ends it.
    isCutShort = ended(loop);
    run.epochOpen = true;
    now.epochsDone--;
    now.progress = progress;
  }
  run.partial = isCutShort;
  if (!isCutShort) session.optimizers.observe(run.metrics, "epoch");
  run.remember({ ...run.metrics });
  await settled(loop, "epochEnd");
  return averages?.loss;
}

/** A step, whose first batch comes from loader `first`, and the boundary after it. */
async function step(loop: Loop, first: number): Promise<void> {
  const { run, session } = loop;
  const { saves } = session;
  saves.markInconsistent();
  run.beginStep();
  session.step.beginStep(run.clock.now.step, run.clock.now.epoch - 1);
  let wait = scope(loop, STEP, () => microBatches(loop, first));
  if (wait) await wait;
  if (run.commandAt <= run.clock.now.step) await command(loop);

  // The boundary: a rollback, an evaluation, a log and a save, each where it is due, then a stop.
  wait = run.exchange("boundary", () => logDue(loop) !== undefined);
  if (wait) await wait;
  const evaluates = evalDue(loop, "step");
  if (saves.pending) await saves.rollback();
  if (evaluates) run.evalPending = !(await evaluateAll(loop));
  const audience = logDue(loop);
  if (audience) await log(loop, audience);
  wait = run.exchange("stepLog");
  if (wait) await wait;
  // A checkpoint holds the state after this boundary: a resumed run begins with the next step.
  run.clock.mark();
  if (saves.pending) await saves.boundary();
  if (run.requests.stop) actOnStop(loop);
  if (run.requests.pause) await hold(loop, () => ended(loop));
  wait = session.breathe();
  if (wait) await wait;
}

/** The micro-batches of a step. The update belongs to the last one, and comes before its `batchEnd`. */
function microBatches(loop: Loop, first: number): MaybePromise<void> {
  const { run, session } = loop;
  // `setAccumulate` after `stepBegin` takes effect in the next step.
  const count = run.accumulate;
  run.countProgress();
  session.step.planStep(count);
  const step: StepStart = { first, count, seen: run.clock.now.samples };
  const done = count === 1 ? microBatch(loop, step, 0, first) : severalBatches(loop, step);
  return chain(done, () => run.endStep(session.step.updated));
}

/** The loader of a step's first micro-batch, the number of its micro-batches, and the samples seen before it. */
interface StepStart {
  readonly first: number;
  readonly count: number;
  readonly seen: number;
}

async function severalBatches(loop: Loop, step: StepStart): Promise<undefined> {
  let source: number | undefined = step.first;
  for (let micro = 0; source !== undefined; micro++) source = await microBatch(loop, step, micro, source);
}

/** One micro-batch; returns the loader of the step's next one, or undefined after the last. */
function microBatch(loop: Loop, step: StepStart, micro: number, source: number): MaybePromise<number | undefined> {
  const { run, session } = loop;
  // With optimizers tied to loaders, all micro-batches of a step come from the loader of its first.
  const from = session.optimizers.tied ? step.first : undefined;
  let next: number | undefined;
  const closeBatch = (): MaybePromise<void> =>
    chain(micro + 1 < step.count ? upcoming(loop, from) : undefined, (found) => {
      next = found;
      return found === undefined ? update(loop, step.first, step.seen) : undefined;
    });
  run.batchIdx++;
  return chain(fetch(loop, source, micro === 0 ? undefined : from), (isFetched) => {
    // A batch skipped before its fetch fires neither `batchBegin` nor `batchEnd`.
    const done = isFetched ? scope(loop, BATCH, () => chain(compute(loop, micro), closeBatch)) : closeBatch();
    return chain(done, () => next);
  });
}

/** Fetches and counts a micro-batch; false when a hook skipped the step before the fetch. */
function fetch(loop: Loop, source: number, from: number | undefined): MaybePromise<boolean> {
  const { run, session } = loop;
  // The skipped batch is used up, or the next step would meet it again.
  const passOver = (): MaybePromise<boolean> => chain(session.data.skip(from), () => false);
  if (run.skips("step")) return passOver();
  run.beginBatch(source, session.data.names[source]!);
  return chain(fire(loop, "beforeFetch"), () => {
    if (run.skips("step")) return passOver();
    return chain(session.fetch(from), (fetched) => {
      run.takeBatch(fetched);
      return true;
    });
  });
}

/** Forward and backward pass of a micro-batch; in a fused step, the update too. */
function compute(loop: Loop, micro: number): MaybePromise<void> {
  const { run, session } = loop;
  return chain(run.skips("batch") ? undefined : fire(loop, "beforeForward"), () => {
    run.replaceBatch();
    const isTaken =
      !run.skips("batch") && session.step.takeBatch(run.batch, run.loaderName, micro, run.share) !== undefined;
    if (!isTaken) return skipBatch(loop);
    if (session.step.plan.kind !== "fused") return passes(loop);
    return chain(session.step.fusedStep(run.requests.scale), () => settled(loop, "batchEnd", "stepEnd"));
  });
}

/** The passes of a split step, with the events between them. */
async function passes(loop: Loop): Promise<void> {
  const { run, session } = loop;
  if (session.step.plan.kind === "forwardFirst") {
    await session.step.forward();
    await settled(loop, "afterForward", "beforeBackward");
    await fire(loop, "afterForward");
    if (!run.skips("batch")) await fire(loop, "beforeBackward");
    if (run.skips("batch")) return skipBatch(loop);
  }
  await session.step.backward(run.requests.scale);
  await session.readings.settle();
  await fire(loop, "afterBackward");
  if (run.skips("batch")) return skipBatch(loop);
  await session.step.keepBatch();
}

/** Leaves the batch out of the step; `batchEnd` shows it as skipped. */
function skipBatch({ run, session }: Loop): void {
  session.step.dropBatch();
  run.skipped = true;
}

/** Ends the step's computation: a split step is updated now, a fused one has been. */
function update(loop: Loop, first: number, seen: number): MaybePromise<void> {
  const { run, session } = loop;
  return chain(session.step.isOpen ? splitUpdate(loop, first, seen) : undefined, () => {
    session.saves.markConsistent();
    run.skipped ||= !session.step.updated;
  });
}

async function splitUpdate(loop: Loop, first: number, seen: number): Promise<void> {
  const { step } = loop.session;
  if (await optimize(loop, first, seen)) await step.commit();
  else step.abandon();
  // The averages have changed with the commit.
  await settled(loop, "batchEnd", "stepEnd");
}

/** Clips, and updates with each optimizer that is due. False if a hook skips the step before, or it is not finite. */
async function optimize(loop: Loop, first: number, seen: number): Promise<boolean> {
  const { run, session } = loop;
  const { step } = session;
  const skips = (): boolean => run.skips("step");
  const loss = await step.gatherGrads(session.data.names[first]!, run.clock.now.samples - seen, skips);
  if (loss === undefined) return false;
  run.stepLoss = loss;
  await fireForEach(loop, "beforeOptimizerStep");
  if (skips() || !step.finite) return false;
  if (step.clips) {
    await step.clip();
    await settled(loop, "gradientClip", "afterOptimizerStep", "stepEnd");
    await fireForEach(loop, "gradientClip");
    if (skips()) return false;
  }
  for (const index of step.due) {
    run.optimizerIdx = index;
    await step.update(index);
    await fire(loop, "afterOptimizerStep");
  }
  run.optimizerIdx = 0;
  return true;
}

/** Fires an event for each optimizer that updates in this step. */
async function fireForEach(loop: Loop, event: BuiltinEvent): Promise<void> {
  for (const index of loop.session.step.due) {
    loop.run.optimizerIdx = index;
    await fire(loop, event);
  }
}

/** Reads what these events show, if a hook listens and the engine cannot read on demand. */
function settled({ hooks, session }: Loop, ...events: BuiltinEvent[]): MaybePromise<void> {
  const { readings } = session;
  return readings.syncRead || !hooks.firstListener(...events) ? undefined : readings.settle();
}

/** The loader of the next batch; undefined when the epoch is over. */
function upcoming({ session, run, limitBatches }: Loop, from?: number): MaybePromise<number | undefined> {
  return run.batchIdx + 1 < limitBatches ? session.data.peek(from) : undefined;
}

function evalDue({ run, evals, evalEvery }: Loop, at: "step" | "epoch"): boolean {
  const isRequested = run.requests.eval;
  run.requests.eval = false;
  if (evals.length === 0 || run.evaluatedAt === run.clock.now.step) return false;
  if (isRequested) return true;
  if (evalEvery === undefined || (evalEvery.event === "epochEnd") !== (at === "epoch")) return false;
  return evalEvery.due(run.moment);
}

/** What hooks and evaluations logged is shown at the step where it belongs, whatever the cadence says. */
function logDue({ run, hooks, logEvery }: Loop): Audience | undefined {
  if (!hooks.listens("log")) return undefined;
  if (run.log.news || (logEvery.event === "stepEnd" && logEvery.due(run.moment))) return "all";
  return hooks.asksForLog("stepEnd") ? "some" : undefined;
}

/** Epochs always log, unless the cadence counts whole epochs itself. */
function epochLogDue({ run, hooks, logEvery }: Loop): Audience | undefined {
  if (!hooks.listens("log")) return undefined;
  if (run.log.news || logEvery.event === "stepEnd" || logEvery.due(run.moment)) return "all";
  return hooks.asksForLog("epochEnd") ? "some" : undefined;
}

/** Is the run over, for whatever reason? */
function ended({ run, limits }: Loop): boolean {
  if (run.status !== "training") return true;
  if (run.interruption !== undefined) {
    Object.assign(run, { status: "interrupted", ...run.interruption });
    return true;
  }
  return limits.reached(run.clock.now) !== undefined || run.clock.now.epochsDone >= limits.epochs;
}
