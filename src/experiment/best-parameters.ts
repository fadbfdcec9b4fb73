// Which parameters a training ends with: those that a hook put in place, the best checkpoint's, or the last.
import type { Hook } from "../core/hook.ts";
import type { HostTensors } from "../core/model.ts";
import { bestCheckpoint } from "../hooks/model-checkpoint/model-checkpoint.ts";

export interface BestParameters {
  /** Goes with the other hooks of the trainer. */
  readonly hook: Hook;
  /** The weights to be put in place, averaged ones where a hook keeps some; undefined when they are in place already. */
  weights: HostTensors | undefined;
  /** The checkpoint that they are from. */
  checkpoint: string | undefined;
  /** The step that they are from. */
  step: number | undefined;
  /** The checkpoint of the very end. */
  ended: string | undefined;
  /** Whether there is anything to go on from: a step was done. */
  trained: boolean;
}

/** Reads the best checkpoint while the run's store is open, as the last thing before it ends. */
export function bestParameters(): BestParameters {
  const found: BestParameters = {
    weights: undefined,
    checkpoint: undefined,
    step: undefined,
    ended: undefined,
    trained: false,
    hook: {
      name: "best parameters of the experiment",
      stage: "progress",
      onError: "throw",
      async onTrainEnd(ctx) {
        const saved = ctx.checkpoints.list();
        // In a failure, `ctx.step` is the step that was at hand; one that was done after all has left a checkpoint, if any.
        const failed = ctx.status === "error" ? 1 : 0;
        found.trained = ctx.step > failed || saved.some(({ step }) => step > 0);
        if (ctx.status === "interrupted" || ctx.status === "error") return;
        found.ended = saved.findLast(({ step }) => step === ctx.step)?.name;
        // earlyStopping with restoreBest, or an average that takes the model's place: whoever asked for it knows best.
        if (ctx.interventions.some(({ event, what }) => event === "trainEnd" && what === "setParams")) return;
        const best = ctx.shared.get(bestCheckpoint);
        if (!best || !saved.some(({ name }) => name === best.name)) return;
        found.weights = await ctx.checkpoints.weights(best.name);
        found.checkpoint = best.name;
        found.step = best.step;
      },
    },
  };
  return found;
}
