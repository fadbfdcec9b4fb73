// What a study must be for its trials to run in other processes: a trial named by its module, and hooks that miss nothing.
import { HookRegistrationError, OptionError } from "../../core/errors.ts";
import { levelOf } from "../../core/events.ts";
import { readHook } from "../../core/hook-facts.ts";
import type { Hook } from "../../core/hook.ts";
import type { RunnerStudy } from "./runner.ts";

/** The trial's module and export, once nothing speaks against it. */
export function checkElsewhere(runner: string, { trial, hooks }: RunnerStudy): string {
  if (typeof trial !== "string") {
    throw new OptionError(
      `${runner}: trials run in other processes, which cannot have this function. Export it from a module and name that: trial: "./trial.ts#train".`,
      { option: "trial" },
    );
  }
  for (const hook of hooks) checkHere(hook);
  return trial;
}

/** A method that would never be called is a mistake, and what it would keep would be missing elsewhere. */
function checkHere(hook: Hook): void {
  const { name, methods } = readHook(hook);
  const deaf = [...methods.keys()].find((event) => levelOf(event) !== "tune");
  if (deaf === undefined) return;
  throw new HookRegistrationError(
    `Hook \`${name}\` listens to \`${deaf}\`, but trials run in processes of their own. Give it to the trainer in the trial's function; what both sides need to know goes through reports and \`trial.stash\`.`,
  );
}
