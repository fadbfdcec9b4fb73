// Says so when a run that goes on has nothing left to train: it would else look like a training of a moment.
import type { Hook } from "../../core/hook.ts";
import { say } from "./output.ts";

export function nothingLeft(): Hook {
  let from = 0;
  return {
    name: "nothingLeft",
    stage: "progress",
    ranks: "main",
    onTrainBegin: ({ step }) => void (from = step),
    onTrainEnd({ step, epoch, status, reason }) {
      if (status !== "completed" || step === 0 || step > from) return;
      say(`Nothing was left to train: the run stood at step ${step}, in epoch ${epoch + 1}, and ends after ${reason}.`);
    },
  };
}
