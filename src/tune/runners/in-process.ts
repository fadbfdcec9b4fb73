// inProcess: trials run in this process, so that closures work and one hook object listens to everything.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { runAttempt, type TrialFunction } from "../trial.ts";
import type { Hook } from "../../core/hook.ts";
import type { Runner } from "./runner.ts";

/** @example new Study({ …, runner: inProcess() }) // the default for a trial that is a function */
export const inProcess = /* @__PURE__ */ component({ kind: "runner", name: "inProcess" }, (): Runner => {
  let trial: TrialFunction<never> | undefined;
  let hooks: readonly Hook[] = [];
  return {
    name: "inProcess",
    open(study) {
      if (typeof study.trial === "string") {
        throw new OptionError(
          `inProcess: \`trial\` is a function here, got ${JSON.stringify(study.trial)}. Import it, or use local().`,
          { option: "trial" },
        );
      }
      trial = study.trial;
      hooks = [...study.hooks, ...study.moduleHooks];
    },
    run: (job, host) => runAttempt(trial!, job, host, hooks),
    close: () => Promise.resolve(),
  };
});
