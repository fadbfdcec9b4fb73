// Which parameters a training ends with: those that a hook put in place, the best checkpoint's, or the last.
import type { Hook } from "../core/hook.ts";
import type { HostTensors } from "../core/model.ts";
import { bestCheckpoint } from "../hooks/model-checkpoint.ts";

export interface BestParameters {
  /** Goes with the other hooks of the trainer. */
  readonly hook: Hook;
  /** The weights to be put in place, averaged ones where a hook keeps some; undefined when they are in place already. */
  weights: HostTensors | undefined;
  /** The checkpoint that they are from. */
  checkpoint: string | undefined;
  /** The checkpoint of the very end. */
  ended: string | undefined;
}

/** Reads the best checkpoint while the run's store is open, as the last thing before it ends. */
export function bestParameters(): BestParameters {
  const found: BestParameters = {
    weights: undefined,
    checkpoint: undefined,
    ended: undefined,
    hook: {
      name: "best parameters of the experiment",
      stage: "progress",
      onError: "throw",
      async onTrainEnd(ctx) {
        if (ctx.status === "interrupted" || ctx.status === "error") return;
        const saved = ctx.checkpoints.list();
        found.ended = saved.findLast(({ step }) => step === ctx.step)?.name;
        // earlyStopping with restoreBest, or an average that takes the model's place: whoever asked for it knows best.
        if (ctx.interventions.some(({ event, what }) => event === "trainEnd" && what === "setParams")) return;
        const best = ctx.shared.get(bestCheckpoint);
        if (!best || !saved.some(({ name }) => name === best.name)) return;
        found.weights = await ctx.checkpoints.weights(best.name);
        found.checkpoint = best.name;
      },
    },
  };
  return found;
}
