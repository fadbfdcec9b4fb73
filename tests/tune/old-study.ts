// The study of tests/tune/fixtures: its journal was written at commit 52d9aba, whose journals had no checksums.
// Trials 0 to 4 have ended in every way there is; the controller was killed in trial 5, after its second report.
import type { Hook } from "../../src/core/hook.ts";
import { random } from "../../src/tune/samplers/random.ts";
import { uniform } from "../../src/tune/space/parameters.ts";
import { Study } from "../../src/tune/study.ts";
import type { Trial } from "../../src/tune/trial.ts";
import type { Scheduler } from "../../src/tune/types.ts";

const STEPS = 3;
const space = { x: uniform(-1, 1) };

const scheduler: Scheduler = {
  name: "prunes-trial-2",
  decide: ({ number }, { step }) =>
    number === 2 && step === 2 ? { kind: "prune", reason: "trial 2 is pruned" } : { kind: "continue" },
};

interface More {
  readonly hooks?: readonly Hook[];
  /** After each report: the controller of the fixture was killed here. */
  readonly onStep?: (trial: number, step: number) => void;
}

export function oldStudy(dir: string, { hooks = [], onStep }: More = {}): Study<typeof space> {
  return new Study({
    name: "old",
    space,
    sampler: random(space, { seed: 3 }),
    scheduler,
    objective: "loss",
    trials: 7,
    retries: 1,
    dir,
    hooks,
    signals: false,
    trial: async (trial: Trial<{ readonly x: number }>) => {
      if (trial.number === 3) throw new Error("trial 3 always fails");
      for (let step = Number(trial.resume ?? 0) + 1; step <= STEPS; step++) {
        const loss = trial.number === 1 ? NaN : (trial.params.x - 0.5) ** 2 / step;
        trial.stash["last"] = step;
        await trial.report({ loss, zero: -0 }, step);
        onStep?.(trial.number, step);
        await trial.checkpoint(String(step));
      }
      return undefined;
    },
  });
}
