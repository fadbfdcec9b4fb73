// trial.hook(): a trainer's evaluations and checkpoints, told to the study; and the study's will, done at a safe point.
import type { ContextOf } from "../core/context.types.ts";
import type { Hook } from "../core/hook.ts";
import { monitorValue } from "../core/monitor.ts";
import { checkOptions, is } from "../core/options.ts";
import { TrialPruned } from "./study-error.ts";
import type { Trial } from "./trial.ts";

/** Options of `trial.hook()`. */
export interface TrialHookOptions {
  /** Which metrics are reported. Default: all that there are. */
  readonly metrics?: readonly string[];
  /** Default `trial`. */
  readonly name?: string;
}

/** `objectives` are the study's metrics: an evaluation with one of them is reported at once, others with the epoch. */
export function trialHook(trial: Trial, objectives: readonly string[], options: TrialHookOptions = {}): Hook {
  checkOptions("trial.hook", options, { metrics: is.arrayOf(is.name), name: is.name });
  const { metrics, name = "trial" } = options;
  let reportedAt = 0;
  /** Checkpoints that the study knows of, which must stay: the newest, and the one before for who is just reading it. */
  let held: readonly string[] = [];

  const report = async (ctx: ContextOf<"evalEnd"> | ContextOf<"epochEnd">): Promise<void> => {
    if (ctx.step <= reportedAt) return;
    reportedAt = ctx.step;
    const values = { ...ctx.metrics };
    // An objective may be called by another system's name.
    for (const metric of objectives) {
      const value = monitorValue(values, metric);
      if (value !== undefined) values[metric] = value;
    }
    const wanted = Object.entries(values).filter(([metric]) => metrics === undefined || metrics.includes(metric));
    try {
      await trial.report(Object.fromEntries(wanted), ctx.step);
    } catch (error) {
      if (!(error instanceof TrialPruned)) throw error;
      // It will go on from here: let it have a checkpoint to do so.
      const goesOn = error.kind === "pause" || error.kind === "interrupt";
      if (goesOn && ctx.checkpoints.enabled) ctx.requestSave(error.kind);
      ctx.stop(error.message);
    }
  };

  return {
    name,
    stage: "monitor",
    onTrainBegin(ctx) {
      // Until there is a newer one, this is where the trial would go on from once more.
      const from = ctx.checkpoints.list().find(({ dir }) => dir !== undefined && dir === trial.resume);
      if (!from) return;
      held = [from.name];
      ctx.checkpoints.hold(held);
    },
    async onEvalEnd(ctx) {
      const isOurs = objectives.some((metric) => monitorValue(ctx.evalMetrics, metric) !== undefined);
      if (ctx.phase === "eval" && !ctx.partial && isOurs) await report(ctx);
    },
    async onEpochEnd(ctx) {
      if (!ctx.partial) await report(ctx);
    },
    async onAfterSave(ctx) {
      const { dir, name: saved } = ctx.saved;
      if (dir === undefined) return;
      ctx.checkpoints.hold([saved]);
      await trial.checkpoint(dir);
      const all = [...held.filter((other) => other !== saved), saved];
      ctx.checkpoints.release(all.slice(0, -2));
      held = all.slice(-2);
    },
  };
}
