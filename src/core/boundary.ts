// Boundaries: what happens between steps and between epochs. At most one evaluation, one log and one save, then a stop.
import { evaluateOnce } from "./evaluate.ts";
import type { LoopParts } from "./loop-parts.ts";
import type { Team } from "./team.ts";

/** After a step: a rollback if one was asked for, at most one evaluation, one log and one save, then the stop. */
export function boundary(parts: LoopParts): void | Promise<void> {
  if (parts.team) return sharedBoundary(parts, parts.team);
  const evaluates = evalDue(parts, "step");
  return evaluates || parts.saves.pending ? report(parts, evaluates) : logAndClose(parts);
}

/** The same where several processes train together: whatever one of them is asked, all do. */
async function sharedBoundary(parts: LoopParts, team: Team): Promise<void> {
  await team.compare();
  await team.agree(logDue(parts) !== undefined);
  const { logs } = team;
  const evaluates = evalDue(parts, "step");
  await parts.saves.rollback();
  if (evaluates) await evaluateOrOwe(parts);
  const audience = logDue(parts);
  if (audience) await log(parts, audience);
  // What loggers ask for, who may be on one process only, is part of this boundary too.
  if (logs || evaluates) await team.agree();
  return closeStep(parts);
}

async function report(parts: LoopParts, evaluates: boolean): Promise<void> {
  await parts.saves.rollback();
  if (evaluates) await evaluateOrOwe(parts);
  await logAndClose(parts);
}

function logAndClose(parts: LoopParts): void | Promise<void> {
  const audience = logDue(parts);
  const wait = audience && log(parts, audience);
  return wait ? wait.then(() => closeStep(parts)) : closeStep(parts);
}

function closeStep(parts: LoopParts): void | Promise<void> {
  // What is saved is the state after this boundary: a resumed run begins with the next step.
  parts.run.clock.mark();
  return parts.saves.pending ? parts.saves.boundary().then(() => settle(parts)) : settle(parts);
}

function settle(parts: LoopParts): void | Promise<void> {
  actOnStop(parts);
  return parts.breathe();
}

/** Who is called at a boundary that logs: everyone, or only the hooks whose own cadence is due. */
type Audience = "all" | "some";

/** What hooks and evaluations logged is shown at the step where it belongs, whatever the cadence says. */
function logDue({ run, hooks, logEvery }: LoopParts): Audience | undefined {
  if (!hooks.listens("log")) return undefined;
  if (run.log.news || (logEvery.event === "stepEnd" && logEvery.due(run.moment))) return "all";
  return hooks.asksForLog("stepEnd") ? "some" : undefined;
}

/** Epochs always log, unless the cadence counts whole epochs itself. */
export function epochLogDue({ run, hooks, logEvery }: LoopParts): Audience | undefined {
  if (!hooks.listens("log")) return undefined;
  if (run.log.news || logEvery.event === "stepEnd" || logEvery.due(run.moment)) return "all";
  return hooks.asksForLog("epochEnd") ? "some" : undefined;
}

export function evalDue({ run, evals, evalEvery }: LoopParts, at: "step" | "epoch"): boolean {
  const asked = run.requests.eval;
  run.requests.eval = false;
  if (evals.length === 0 || run.evaluatedAt === run.clock.now.step) return false;
  if (asked) return true;
  if (evalEvery === undefined || (evalEvery.event === "epochEnd") !== (at === "epoch")) return false;
  return evalEvery.due(run.moment);
}

/** Before the first step, or because a signal has cut off the one that the run ended with. */
export function firstEvalDue({ run, evals, evalAtStart }: LoopParts): boolean {
  return (evalAtStart && run.clock.now.step === 0) || (run.evalOwed && evals.length > 0);
}

/** Is there an evaluation at the end that has not just been done: for the cadence, or owed where the limits are reached already? */
export function lastEvalDue({ run, evals, evalEvery }: LoopParts): boolean {
  const asked = evalEvery?.atEnd === true || run.evalOwed;
  const wanted = asked && evals.length > 0 && run.status !== "interrupted";
  return wanted && run.evaluatedAt !== run.clock.now.step;
}

/** False when a signal has cut it off: then it has no news for a schedule, and does not count as done. */
export async function evaluateAll(parts: LoopParts): Promise<boolean> {
  const { run, work, evals, team } = parts;
  const before = run.evaluatedAt;
  run.phase = "eval";
  run.evaluatedAt = run.clock.now.step;
  const atHand = { batch: run.batch, batchIdx: run.batchIdx, loaderIdx: run.loaderIdx, loaderName: run.loaderName };
  try {
    for (const feed of evals) await evaluateOnce(parts, feed);
  } finally {
    // A checkpoint that is made after a failure in here has the training's position.
    Object.assign(run, atHand);
  }
  run.phase = "train";
  if (team) await team.agree();
  if (run.partial) {
    run.evaluatedAt = before;
    return false;
  }
  run.clock.mark("eval");
  work.observe(run.metrics, "eval");
  return true;
}

/** Where nothing follows that would do it again: one that is cut off is owed, and a resumed run begins with it. */
async function evaluateOrOwe(parts: LoopParts): Promise<void> {
  parts.run.evalOwed = !(await evaluateAll(parts));
}

/** Outside of a boundary, which logs by itself. */
export async function evaluateAndLog(parts: LoopParts): Promise<void> {
  await evaluateOrOwe(parts);
  if (parts.hooks.listens("log") && parts.run.log.news) await log(parts, "all");
}

/** Synchronous where the engine and the hooks are: some runs log at every step. */
export function log(parts: LoopParts, audience: Audience): void | Promise<void> {
  const wait = parts.work.shown.settle();
  return wait ? wait.then(() => logNow(parts, audience)) : logNow(parts, audience);
}

function logNow({ run, hooks, work }: LoopParts, audience: Audience): void | Promise<void> {
  const { now } = run.clock;
  const shows = !run.skipped && now.step > 0;
  const values: Record<string, number> = {};
  if (shows) values.loss = run.stepLoss ?? work.shown.loss;
  if (shows && (run.stepNorm !== undefined || work.plan.gradNorm))
    values.gradNorm = run.stepNorm ?? work.shown.gradNorm;
  values.lr = work.lr(0);
  values.epoch = now.epoch - 1;
  run.log.begin(values, audience === "all");
  let wait: void | Promise<void>;
  try {
    wait = hooks.fire.log!();
  } catch (error) {
    run.log.end();
    throw error;
  }
  if (wait) return wait.finally(() => run.log.end()).then(() => run.clock.mark("log"));
  run.log.end();
  run.clock.mark("log");
}

/** Carries out or refuses a hook's stop; a refused one is forgotten, so that only a reason that persists ends the run. */
export function actOnStop({ run, limits }: LoopParts): void {
  const { stop } = run.requests;
  if (stop === undefined) return;
  run.requests.stop = undefined;
  // A run that a signal ends is not done, whoever would stop it now: it is there to be resumed.
  const refused = run.status === "training" ? limits.tooEarly(run.clock.now) : `the run is ${run.status} already`;
  if (refused !== undefined) {
    stop.entry.refused = refused;
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
