// local: trials run in processes of this machine, which are reused from one trial to the next.
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { ProcessPool } from "./trial-processes.ts";
import { type Runner, checkPortable } from "./runner.ts";

/** Options of `local`. */
export interface LocalOptions {
  /** How many processes; each runs one trial at a time. Default: the study's `concurrency`. */
  readonly processes?: number;
  /** Megabytes that a trial may use; a trial that uses more is killed and fails. Default: no limit. */
  readonly memory?: number;
  /** Seconds that an attempt at a trial may take. Default: no limit. */
  readonly timeout?: number;
  /** A process is replaced after this many trials. Default 50. */
  readonly recycle?: number;
  /** What the module of the trial is relative to. Default: the working directory. */
  readonly directory?: string;
}

/** @example new Study({ …, trial: "./trial.ts#train", runner: local({ processes: 4, timeout: 600 }) }) */
export const local = /* @__PURE__ */ component(
  {
    kind: "runner",
    name: "local",
    takes: () => ({
      options: {
        processes: is.wholeFrom(1),
        memory: is.positive,
        timeout: is.positive,
        recycle: is.wholeFrom(1),
        directory: is.name,
      },
      supplied: ["directory"],
    }),
  },
  (options: LocalOptions = {}): Runner => {
    const { processes, memory, timeout, recycle = 50 } = options;
    let trial = "";
    let pool: ProcessPool | undefined;

    return {
      name: "local",
      ...(processes !== undefined && { size: processes }),
      ...(options.directory !== undefined && { directory: options.directory }),
      open(study) {
        trial = checkPortable("local", study);
        pool = new ProcessPool({ size: processes ?? study.concurrency, memory, timeout, recycle });
      },
      resize: (concurrency) => pool!.resize(processes ?? concurrency),
      run: (job, host) => pool!.run(trial, options.directory ?? process.cwd(), job, host),
      close: () => pool!.close("the study has ended"),
    };
  },
);
