// Whether the hooks of a sweep's trials have different names: those of the experiment, which are compared among each other
// when it is built, those of the sweep that listen to a training, and those that every trial adds.
import { readHook } from "../../core/hook-facts.ts";
import type { Hook } from "../../core/hook.ts";

export const TRIAL_HOOK = "trial";
export const CHECKS_HOOK = "sweep";

interface Duplicate {
  /** Which of the experiment's hooks it is. */
  readonly index: number;
  readonly message: string;
}

/** @param sweep hooks of the sweep that listen to a training */
export function duplicateHook(experiment: readonly Hook[], sweep: readonly Hook[]): Duplicate | undefined {
  const names = new Map<string, string>([
    [TRIAL_HOOK, "by every trial"],
    [CHECKS_HOOK, "by every trial"],
    ...sweep.map((hook) => [readHook(hook).name, "by a hook of the sweep"] as const),
  ]);
  for (const [index, hook] of experiment.entries()) {
    const { name } = readHook(hook);
    const taken = names.get(name);
    if (taken !== undefined)
      return { index, message: `The name \`${name}\` of this hook is used ${taken} too. Give it another \`name\`.` };
  }
  return undefined;
}
