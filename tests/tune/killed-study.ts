// The study that is killed, and the same in this process, which is not.
import { inProcess } from "../../src/tune/runners/in-process.ts";
import { local } from "../../src/tune/runners/local.ts";
import { random } from "../../src/tune/samplers/random.ts";
import { tpe } from "../../src/tune/samplers/tpe.ts";
import { logUniform, uniform } from "../../src/tune/space/parameters.ts";
import { Study } from "../../src/tune/study.ts";
import type { Trial } from "../../src/tune/trial.ts";

export interface KilledStudy {
  readonly dir?: string;
  /** Where the trial's module is; in this process when there is none. */
  readonly home?: string;
  readonly trials: number;
  readonly concurrency: number;
  readonly sampler: "tpe" | "random";
}

export const STEPS = 4;

const space = { x: uniform(-2, 2), lr: logUniform(1e-4, 1) };
type Params = { readonly x: number; readonly lr: number };

const lossAt = ({ x, lr }: Params, step: number): number => (x - 1) ** 2 + Math.log10(lr) ** 2 / 9 + 1 / step;

export function killedStudy({ dir, home, trials, concurrency, sampler }: KilledStudy): Study<typeof space> {
  return new Study({
    space,
    sampler: sampler === "tpe" ? tpe(space, { seed: 3, startup: 4 }) : random(space, { seed: 3 }),
    objective: "loss",
    trials,
    concurrency,
    seed: 3,
    signals: home !== undefined,
    ...(dir !== undefined && { dir }),
    ...(home === undefined
      ? {
          runner: inProcess(),
          trial: async (trial: Trial<Params>) => {
            for (let step = 1; step <= STEPS; step++) await trial.report({ loss: lossAt(trial.params, step) }, step);
          },
        }
      : { runner: local({ directory: home }), trial: "./trial.mjs#train" }),
  });
}

/** The same for a process of its own: with a checkpoint after each step, and its pid and steps in its directory. */
export const TRIAL_MODULE = `
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
const lossAt = ({ x, lr }, step) => (x - 1) ** 2 + Math.log10(lr) ** 2 / 9 + 1 / step;
export async function train(trial) {
  appendFileSync(\`\${trial.runDir}/pids.txt\`, \`\${process.pid}\\n\`);
  const from = trial.resume === undefined ? 0 : Number(readFileSync(trial.resume, "utf8"));
  for (let step = from + 1; step <= ${STEPS}; step++) {
    await new Promise((resolve) => setTimeout(resolve, 4));
    appendFileSync(\`\${trial.runDir}/steps.txt\`, \`\${step}\\n\`);
    await trial.report({ loss: lossAt(trial.params, step) }, step);
    const path = \`\${trial.runDir}/at-\${step}\`;
    writeFileSync(path, String(step));
    await trial.checkpoint(path);
  }
}
`;
