// Boundaries: what happens between steps and between epochs. At most one evaluation, one log and one save, then a stop.
import { evaluateOnce } from "./evaluate.ts";
import type { LoopParts } from "./loop-parts.ts";

/** After a step: a rollback if one was asked for, at most one evaluation, one log and one save, then the stop. */
export function boundary(parts: LoopParts): void | Promise<void> {
  const evaluates = evalDue(parts, "step");
  return evaluates || logDue(parts) || parts.saves.pending ? report(parts, evaluates) : closeStep(parts);
}

async function report(parts: LoopParts, evaluates: boolean): Promise<void> {
  await parts.saves.rollback();
  if (evaluates) await evaluateAll(parts);
  if (logDue(parts)) await log(parts);
  // What is saved is the state after this boundary: a resumed run begins with the next step.
  parts.run.clock.mark();
  await parts.saves.boundary();
  await settle(parts);
}

function closeStep(parts: LoopParts): void | Promise<void> {
  parts.run.clock.mark();
  return settle(parts);
}

function settle(parts: LoopParts): void | Promise<void> {
  actOnStop(parts);
  return parts.breathe();
}

/** What hooks and evaluations logged is shown at the step where it belongs, whatever the cadence says. */
function logDue({ run, hooks, logEvery }: LoopParts): boolean {
  return hooks.listens("log") && (run.news || (logEvery.unit !== "epoch" && logEvery.due(run.moment)));
}

/** Epochs always log, unless the cadence counts epochs itself. */
export function epochLogDue({ run, hooks, logEvery }: LoopParts): boolean {
  return hooks.listens("log") && (run.news || logEvery.unit !== "epoch" || logEvery.due(run.moment));
}

export function evalDue({ run, evals, evalEvery }: LoopParts, at: "step" | "epoch"): boolean {
  const asked = run.requests.eval;
  run.requests.eval = false;
  if (evals.length === 0 || run.evaluatedAt === run.clock.now.step) return false;
  if (asked) return true;
  if (evalEvery === undefined || (evalEvery.unit === "epoch") !== (at === "epoch")) return false;
  return evalEvery.due(run.moment);
}

/** Does the cadence ask for an evaluation at the end that has not just been done? */
export function lastEvalDue({ run, evals, evalEvery }: LoopParts): boolean {
  const wanted = evalEvery?.atEnd === true && evals.length > 0 && run.status !== "interrupted";
  return wanted && run.evaluatedAt !== run.clock.now.step;
}

export async function evaluateAll(parts: LoopParts): Promise<void> {
  const { run, work, evals } = parts;
  run.phase = "eval";
  run.evaluatedAt = run.clock.now.step;
  const atHand = { batch: run.batch, batchIdx: run.batchIdx, loaderIdx: run.loaderIdx, loaderName: run.loaderName };
  for (const feed of evals) await evaluateOnce(parts, feed);
  Object.assign(run, atHand);
  run.clock.mark("eval");
  run.phase = "train";
  // An evaluation that was cut off has no news for a schedule.
  if (!run.partial) work.observe(run.metrics);
}

export async function log({ run, hooks, work }: LoopParts): Promise<void> {
  const { now } = run.clock;
  await work.shown.settle();
  const shows = !run.skipped && now.step > 0;
  // Known where someone needs it or gradients are clipped; it comes with the step's own report.
  const knowsNorm = shows && (run.stepNorm !== undefined || work.plan.gradNorm);
  run.beginLog({
    ...(shows && { loss: run.loss }),
    ...(knowsNorm && { gradNorm: run.gradNorm }),
    lr: work.lr(0),
    epoch: now.epoch - 1,
  });
  try {
    await hooks.fire.log!();
  } finally {
    run.endLog();
  }
  run.clock.mark("log");
}

/** Carries out or refuses a hook's stop; a refused one is forgotten, so that only a reason that persists ends the run. */
export function actOnStop({ run, limits }: LoopParts): void {
  const { stop } = run.requests;
  if (stop === undefined) return;
  run.requests.stop = undefined;
  const early = limits.tooEarly(run.clock.now);
  if (early !== undefined) {
    stop.entry.refused = early;
    return;
  }
  Object.assign(run, { status: "stopped", reason: stop.reason, requestedBy: stop.by });
}

/** Is the run over, for whatever reason? */
export function ended({ run, limits, interrupted }: LoopParts): boolean {
  if (run.status !== "training") return true;
  const interruption = interrupted();
  if (interruption !== undefined) {
    Object.assign(run, { status: "interrupted", ...interruption });
    return true;
  }
  return limits.reached(run.clock.now) !== undefined || run.clock.now.epochsDone >= limits.epochs;
}
