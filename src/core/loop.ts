// The training loop. It reads from top to bottom like the drawing in events.ts: run, epoch, step, batch, update.
// Hot paths await only what is a promise: `if (p) await p` keeps a synchronous engine and synchronous hooks synchronous.
import { measure, samplesIn, toBatch } from "./batch.ts";
import {
  actOnStop,
  boundary,
  ended,
  epochLogDue,
  evalDue,
  evaluateAll,
  evaluateAndLog,
  firstEvalDue,
  lastEvalDue,
  log,
} from "./boundary.ts";
import { DataError } from "./errors.ts";
import { prefixed } from "./evaluate.ts";
import type { BuiltinEvent } from "./events.ts";
import type { MaybePromise } from "./model.ts";
import type { LoopParts } from "./loop-parts.ts";
import { chain } from "./maybe.ts";
import type { Run } from "./run.ts";
import type { Team } from "./team.ts";

/** Runs epochs until a limit, a stop or an interruption; leaves the outcome in `run`. */
export async function runLoop(parts: LoopParts): Promise<void> {
  const { run, hooks, limits, team } = parts;
  await hooks.fire.trainBegin!();
  if (team) await team.agree();
  await parts.saves.begin();
  actOnStop(parts);
  if (firstEvalDue(parts) && !ended(parts)) await evaluateAndLog(parts);
  await epochs(parts);
  if (lastEvalDue(parts)) await evaluateAndLog(parts);
  // A signal has cut that one off.
  if (run.evalOwed) ended(parts);
  if (team) await team.agree();
  run.updateElapsed();
  if (team) await team.compare(true);
  await settled(parts, "trainEnd");
  if (run.status === "training") {
    run.status = "completed";
    run.reason = limits.reached(run.clock.now) ?? `${limits.epochs} ${limits.epochs === 1 ? "epoch" : "epochs"}`;
  }
  await parts.saves.end();
}

async function epochs(parts: LoopParts): Promise<void> {
  const { run, team, warn } = parts;
  // Of several processes the main one says it for all.
  let isSilent = team !== undefined && team.rank > 0;
  while (!ended(parts)) {
    const loss = await epoch(parts);
    // A hook that ends the run says why by itself, and `nanGuard` keeps such steps out of the average.
    if (isSilent || loss === undefined || Number.isFinite(loss) || run.status !== "training") continue;
    isSilent = true;
    warn(
      `The average training loss of epoch ${run.clock.now.epoch} is ${loss}, and no hook deals with it: \`nanGuard\` says where it begins, and stops the run, skips such steps or goes back to a checkpoint.`,
    );
  }
}

/** Resolves to the average loss; to undefined where every step was skipped. */
async function epoch(parts: LoopParts): Promise<number | undefined> {
  const { run, hooks, work, feed, team } = parts;
  const reopened = run.epochOpen;
  if (!reopened) {
    parts.saves.depart();
    run.clock.now.epoch++;
    run.epochOpen = true;
    run.batchIdx = -1;
    feed.begin(run.clock.now.epoch - 1, parts.seed);
    work.resetEpochMetrics();
    parts.saves.arrive();
  }
  run.requests.skip = undefined;
  // Resumed in the middle of an epoch, hooks have seen it begin.
  if (!run.epochEntered) await hooks.fire.epochBegin!();
  if (team) await team.agree();
  run.epochEntered = true;

  let next = await upcoming(parts);
  // An epoch that failed on its last batch has nothing left: it simply ends.
  if (next === undefined && !reopened) {
    throw new DataError(
      `The training data has no batch in epoch ${run.clock.now.epoch}. Is the loader empty, or does dropLast drop its only batch?`,
    );
  }
  while (next !== undefined && !run.skips("epoch") && !ended(parts)) {
    await step(parts, next);
    const after = upcoming(parts);
    next = after instanceof Promise ? await after : after;
  }

  parts.saves.depart();
  let cutShort = next !== undefined;
  // A skipped epoch is over; one that a limit, a stop or a signal cut short is continued by a later fit.
  run.epochOpen = cutShort && !run.skips("epoch");
  const { progress } = run.clock.now;
  if (!run.epochOpen) run.clock.now.progress = ++run.clock.now.epochsDone;
  const averages = await work.shown.epochMetrics();
  // An epoch whose steps were all skipped has no average; one that went wrong has NaN, and shows it.
  if (averages) run.log.merge(prefixed("train", { loss: averages.loss, ...averages.metrics }));
  if (!cutShort && run.status !== "interrupted" && evalDue(parts, "epoch") && !(await evaluateAll(parts))) {
    // A signal has cut the evaluation off, so the epoch has not ended: a later fit evaluates, and then ends it.
    cutShort = ended(parts);
    run.epochOpen = true;
    run.clock.now.epochsDone--;
    run.clock.now.progress = progress;
  }
  run.partial = cutShort;
  if (!cutShort) work.observe(run.metrics, "epoch");
  run.remember({ ...run.metrics });
  await settled(parts, "epochEnd");
  await hooks.fire.epochEnd!();
  if (team) await team.agree();
  run.epochEntered = false;
  run.requests.skip = undefined;
  await parts.saves.rollback();
  // The epoch has ended: a hook that fails while it is logged does not make the resumed run end and log it again.
  parts.saves.arrive();
  const audience = epochLogDue(parts);
  if (audience) await log(parts, audience);
  if (team) await team.agree();
  run.clock.mark("epoch");
  if (parts.saves.pending) await parts.saves.boundary();
  actOnStop(parts);
  // Also here: epochs whose steps are all skipped must not starve signals and timers.
  await parts.breathe();
  return averages?.loss;
}

/** The losses of a step's kept micro-batches. */
interface StepTotal {
  /** Sum of loss × weight. */
  loss: number;
  weight: number;
  /** Samples of the steps before this one. */
  readonly seen: number;
  /** The last one alone: a step of one micro-batch has exactly its loss. */
  last: number;
}

async function step(parts: LoopParts, loader: number): Promise<void> {
  const { run, hooks, work, team } = parts;
  const { fire } = hooks;
  parts.saves.depart();
  run.clock.now.step++;
  run.countProgress();
  run.skipped = false;
  run.inStep = true;
  run.stepLoss = undefined;
  run.stepNorm = undefined;
  run.optimizerIdx = 0;
  run.requests.skip = undefined;
  work.beginStep(run.clock.now.step, run.clock.now.epoch - 1);
  let wait = fire.stepBegin!();
  if (wait) await wait;
  if (team?.listens("stepBegin")) await team.agree();
  // Asked for later in the step, another number of micro-batches holds from the next one on.
  const microBatches = run.accumulate;
  run.countProgress();
  work.planStep(microBatches);

  const total: StepTotal = { loss: 0, weight: 0, last: Number.NaN, seen: run.clock.now.samples };
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
  if (work.kept > 0 || team) {
    updated = await update(parts, total, loader);
    if (updated) await work.commit();
    else work.abandon();
    // The averages have changed with the commit.
    await settled(parts, "batchEnd", "stepEnd");
  }
  parts.saves.arrive();
  const skipped = !updated;
  if (open) {
    run.skipped ||= skipped;
    wait = fire.batchEnd!();
    if (wait) await wait;
  }
  run.skipped = skipped;
  run.inStep = false;
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
  const { run, hooks, work, feed, team } = parts;
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
  wait = team && !parts.tokens ? fetchShare(parts, team, from) : fetch(parts, from);
  if (wait) await wait;

  wait = fire.batchBegin!();
  if (wait) await wait;
  if (!run.skips("batch")) {
    wait = fire.beforeForward!();
    if (wait) await wait;
  }
  run.replaceBatch();
  if (run.skips("batch")) return skipBatch(parts);

  const weight = work.takeBatch(run.batch, run.loaderName, micro, run.share);
  // Nothing in it counts. Its gradient is 0, but an optimizer would still apply momentum and decay. Of several ranks
  // one without anything takes part: all go through the same events.
  if (weight === 0 && !team) return skipBatch(parts);
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
  await work.shown.settle();
  await fire.afterBackward!();
  if (run.skips("batch")) return skipBatch(parts);
  await work.keepBatch();
  total.last = work.shown.loss;
  total.loss += total.last * weight;
  total.weight += weight;
  return true;
}

/** The next batch, counted. */
function fetch({ run, feed, team, tokens }: LoopParts, from: number | undefined): MaybePromise<void> {
  return chain(feed.next(from), (next) => {
    const batch = toBatch(next, () => `Loader \`${run.loaderName}\``);
    count(run, samplesIn(batch));
    if (tokens) run.clock.now.tokens += measure("tokens", batch, tokens);
    const share = team?.shareOf(batch);
    run.show(share?.batch ?? batch, share);
  });
}

/** The same for one of several processes, whose loader need not make the rows of the others. */
async function fetchShare({ run, feed }: LoopParts, team: Team, from: number | undefined): Promise<void> {
  const share = (await feed.nextShare(team, from))!;
  count(run, share.samples);
  run.show(share.batch, share);
}

function count({ clock }: Run, samples: number): void {
  clock.mark("batch");
  clock.now.batches++;
  clock.now.samples += samples;
}

/** Reads what these events show, if someone listens and the engine cannot read on demand. */
function settled({ hooks, work }: Pick<LoopParts, "hooks" | "work">, ...events: BuiltinEvent[]): void | Promise<void> {
  return work.shown.syncRead || !hooks.firstListener(...events) ? undefined : work.shown.settle();
}

/** Leaves the batch out of the step; `batchEnd` shows it as skipped. */
function skipBatch({ run, work }: LoopParts): true {
  work.dropBatch();
  run.skipped = true;
  return true;
}

/** Optimizer by optimizer; until the first parameter moves a hook may still skip the step: false. */
async function update(parts: LoopParts, total: StepTotal, loader: number): Promise<boolean> {
  const { run, hooks, work, team } = parts;
  const { fire } = hooks;
  if (!(await (team ? join(parts, loader, total.seen) : gather(parts, total)))) return false;
  for (const index of work.due) {
    run.optimizerIdx = index;
    await fire.beforeOptimizerStep!();
  }
  if (team?.listens("beforeOptimizerStep")) await team.agree();
  if (run.skips("step") || !work.finite) return false;
  if (work.clips) {
    await work.clip();
    await settled({ hooks, work }, "gradientClip", "afterOptimizerStep", "stepEnd");
    for (const index of work.due) {
      run.optimizerIdx = index;
      await fire.gradientClip!();
    }
    if (team?.listens("gradientClip")) await team.agree();
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

/** The step's loss and gradient; false when the step is skipped. */
async function gather({ run, work }: LoopParts, total: StepTotal): Promise<boolean> {
  if (run.skips("step")) return false;
  run.stepLoss = work.kept > 1 ? total.loss / total.weight : total.last;
  await work.gatherGrads();
  return true;
}

/** The same over all processes. One that skips the step still takes part, and the others learn of it here. */
async function join({ run, work, feed }: LoopParts, loader: number, seen: number): Promise<boolean> {
  const loss = await work.joinGrads(feed.names[loader]!, !run.skips("step"), run.clock.now.samples - seen);
  if (loss === undefined || run.skips("step")) return false;
  run.stepLoss = loss;
  await work.gatherGrads();
  return true;
}

/** The loader of the next batch, or undefined when the epoch is over. */
function upcoming({ feed, run, limitBatches }: LoopParts, from?: number): MaybePromise<number | undefined> {
  return run.batchIdx + 1 < limitBatches ? feed.peek(from) : undefined;
}
