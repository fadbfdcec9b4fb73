// What happens between steps, when it is due: logs, stops, commands and pauses.
import type { Limits } from "./counters.ts";
import { evaluateAll, type Evaluating } from "./evaluate.ts";
import { fire, LOG, scope } from "../registry/dispatch.ts";

/** Who is called at a boundary that logs: everyone, or only the hooks whose own cadence is due. */
export type Audience = "all" | "some";

interface Boundary extends Evaluating {
  readonly limits: Limits;
}

/** At the run's begin and end, and during a pause, where no boundary logs. */
export async function evaluateAndLog(loop: Evaluating): Promise<void> {
  loop.run.evalPending = !(await evaluateAll(loop));
  if (loop.hooks.listens("log") && loop.run.log.news) await log(loop, "all");
}

export async function log(loop: Evaluating, audience: Audience): Promise<void> {
  const { run, session } = loop;
  const { readings, step } = session;
  const { now } = run.clock;
  const wait = readings.settle();
  if (wait) await wait;
  const values: Record<string, number> = {};
  if (!run.skipped && now.step > 0) {
    values.loss = run.stepLoss ?? readings.loss;
    if (run.stepNorm !== undefined || step.plan.gradNorm) values.gradNorm = run.stepNorm ?? readings.gradNorm;
  }
  values.lr = session.optimizers.stepRate(0);
  values.epoch = now.epoch - 1;
  await scope(
    loop,
    LOG,
    () => run.log.begin(values, audience === "all"),
    () => run.log.end(),
  );
  run.clock.mark("log");
}

/** Carries out or refuses a hook's stop; a refused one is forgotten, so that only a reason that persists ends the run. */
export function actOnStop({ run, limits }: Boundary): void {
  const { stop } = run.requests;
  if (stop === undefined) return;
  run.requests.stop = undefined;
  // A run that a signal ends is not complete, whatever stops it now: it can be resumed.
  const refused = run.status === "training" ? limits.tooEarly(run.clock.now) : `the run is ${run.status} already`;
  if (refused !== undefined) return run.audit.refuse(stop.entry, refused);
  Object.assign(run, { status: "stopped", reason: stop.reason, requestedBy: stop.by });
}

/** Fires `command`. In a process group the main rank alone does; what hooks request reaches all at the next exchange. */
export async function command(loop: Evaluating): Promise<void> {
  loop.run.commandAt = Infinity;
  await fire(loop, "command");
}

/** How long a paused process waits at a time. Ranks also exchange requests then, so that none waits for long. */
const REST_MS = 1000;
const GROUP_REST_MS = 200;

/**
 * Waits until the pause ends: by a hook, from outside, by a stop or an interruption. Meanwhile commands are carried out:
 * evaluations and saves at once, and what they set holds from the next step on.
 */
export async function hold(loop: Boundary, ended: () => boolean): Promise<void> {
  const { run } = loop;
  run.stopTimer();
  run.settled = true;
  try {
    await fire(loop, "pause");
    while (run.requests.pause && !ended()) {
      await run.rest(run.group ? GROUP_REST_MS : REST_MS);
      if (run.commandAt <= run.clock.now.step) await command(loop);
      await run.exchange("hold");
      await carryOut(loop);
    }
    run.requests.pause = false;
    await fire(loop, "continue");
  } finally {
    run.settled = false;
    run.continueTimer();
  }
}

async function carryOut(loop: Boundary): Promise<void> {
  const { run, session, evals } = loop;
  const { requests } = run;
  const { saves } = session;
  if (requests.rollback) {
    await saves.rollback();
    // The other parameters have not been evaluated at this step.
    run.evaluatedAt = -1;
  }
  if (requests.eval) {
    requests.eval = false;
    if (evals.length > 0 && run.evaluatedAt !== run.clock.now.step) await evaluateAndLog(loop);
    await run.exchange("stepLog");
  }
  if (saves.pending) await saves.boundary();
  if (requests.stop) actOnStop(loop);
}
