// local: trials run in processes of this machine, kept warm from one to the next.
import { HookRegistrationError, OptionError } from "../../core/errors.ts";
import { levelOf } from "../../core/events.ts";
import { readHook } from "../../core/hook-facts.ts";
import type { Hook } from "../../core/hook.ts";
import { checkOptions, is } from "../../core/options.ts";
import { builtin } from "../../platform/builtin.ts";
import { TrialChild } from "./child.ts";
import type { Runner } from "./runner.ts";

type Os = ReturnType<typeof process.getBuiltinModule<"node:os">>;

export interface LocalOptions {
  /** How many processes, each of which runs one trial at a time. Default: the study's `concurrency`. */
  readonly processes?: number;
  /** Megabytes that a trial may use; one that uses more is ended and has failed. Default: no limit. */
  readonly memory?: number;
  /** Seconds that an attempt at a trial may take. Default: no limit. */
  readonly timeout?: number;
  /** A process is replaced by a new one after so many trials. Default 50. */
  readonly recycle?: number;
  /** What the module of the trial is relative to. Default: where the process was started. */
  readonly directory?: string;
}

const CHECKS = {
  processes: is.wholeFrom(1),
  memory: is.positive,
  timeout: is.positive,
  recycle: is.wholeFrom(1),
  directory: is.name,
};

/** @example new Study({ …, trial: "./trial.ts#train", runner: local({ processes: 4, timeout: 600 }) }) */
export function local(options: LocalOptions = {}): Runner {
  checkOptions("local", options, CHECKS);
  const { processes, memory, timeout, recycle = 50 } = options;
  const idle: TrialChild[] = [];
  const all = new Set<TrialChild>();
  const queue: (() => void)[] = [];
  let trial = "";
  let size = 1;
  let threads = 1;

  /** One that is warm, or a new one; waits while all are busy. */
  const take = async (): Promise<TrialChild> => {
    while (idle.length === 0 && all.size >= size) await new Promise<void>((resolve) => void queue.push(resolve));
    const warm = idle.pop();
    if (warm?.alive) return warm;
    if (warm) all.delete(warm);
    const child = new TrialChild({ memory, timeout, threads });
    all.add(child);
    return child;
  };
  const giveBack = (child: TrialChild): void => {
    if (child.alive && child.runs < recycle) idle.push(child);
    else {
      child.kill("it is replaced by a new one");
      all.delete(child);
    }
    queue.shift()?.();
  };

  return {
    name: "local",
    ...(processes !== undefined && { size: processes }),
    open(study) {
      if (typeof study.trial !== "string") {
        throw new OptionError(
          'local: trials run in other processes, which cannot have this function. Export it from a module and name that: trial: "./trial.ts#train".',
          { option: "trial" },
        );
      }
      for (const hook of study.hooks) checkHere(hook);
      trial = study.trial;
      size = processes ?? study.concurrency;
      threads = Math.max(1, Math.floor(builtin<Os>("local", "node:os").availableParallelism() / size));
    },
    async run(job, host) {
      const child = await take();
      try {
        return await child.run(trial, options.directory ?? process.cwd(), job, host);
      } finally {
        giveBack(child);
      }
    },
    async close() {
      const gone = [...all].map((child) => child.gone());
      for (const child of all) child.kill("the study has ended");
      all.clear();
      idle.length = 0;
      await Promise.all(gone);
    },
  };
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
