// Which hooks of a study are for the trainers of its trials too.
import { levelOf } from "../core/events.ts";
import { readHook } from "../core/hook-facts.ts";
import type { Hook } from "../core/hook.ts";

/** Whether a trainer or an experiment has something to call. */
export const listensToTraining = (hook: Hook): boolean =>
  [...readHook(hook).methods.keys()].some((event) => levelOf(event) !== "tune");
