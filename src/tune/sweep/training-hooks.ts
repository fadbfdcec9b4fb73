// The hooks of a sweep that listen to the training of each trial.
import type { Hook } from "../../core/hook.ts";
import { listensToTraining } from "../listens-to-training.ts";
import { ModuleHooks } from "../module-hooks.ts";
import type { StudyPlan } from "../study-options.ts";

/** Hooks that are named by their module's export are made once more, to know their names and events. */
export async function trainingHooks({ hooks, hookSources }: StudyPlan, directory: string): Promise<readonly Hook[]> {
  const { hooks: made } = await ModuleHooks.make(hookSources, directory, "study");
  return [...hooks, ...made].filter(listensToTraining);
}
