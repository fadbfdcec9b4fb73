// Which parameters a training ends with: those that a hook put in place, the best checkpoint's, or the last.
import type { Hook } from "../core/hook.ts";
import type { HostTensors } from "../core/model.ts";
import { bestCheckpoint } from "../hooks/model-checkpoint/model-checkpoint.ts";

export interface BestParameters {
  /** For the trainer, beside its other hooks. */
  readonly hook: Hook;
  /** The weights to be put in place, averaged ones where a hook keeps some; undefined when they are in place already. */
  weights: HostTensors | undefined;
  /** The checkpoint of these weights. */
  checkpoint: string | undefined;
  /** The step of these weights. */
  step: number | undefined;
  /** The checkpoint of the end of the training. */
  ended: string | undefined;
  /** Whether a step was done, so that there is something to resume from. */
  trained: boolean;
}

/** Reads the best checkpoint at the end of the training, while the store is still open. */
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
        // After a failure, `ctx.step` is the step that failed.
        const failed = ctx.status === "error" ? 1 : 0;
        found.trained = ctx.step > failed || saved.some(({ step }) => step > 0);
        if (ctx.status === "interrupted" || ctx.status === "error") return;
        found.ended = saved.findLast(({ step }) => step === ctx.step)?.name;
        // A hook has chosen the parameters: earlyStopping with restoreBest, or an average.
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
