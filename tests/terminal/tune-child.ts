// A study with the live table of `hookline tune`, for tune-screens.test.ts: its results and its clock are made up, so that it
// always looks the same. Where it is told to, it holds still until the reader has looked.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asha, choice, logUniform, random, Space, Study } from "hookline/tune";
import { trialTable } from "../../src/cli/tune/trial-table.ts";

export interface TuneChild {
  readonly folder: string;
  /** Where to hold: `trial 5 step 20`. */
  readonly holds: readonly string[];
}

const { folder, holds } = JSON.parse(process.argv[2]!) as TuneChild;

let clock = 1000;
performance.now = () => clock;

const space = new Space({
  optimizer: { lr: logUniform(1e-4, 1e-1), weightDecay: logUniform(1e-5, 1e-2) },
  model: { activation: choice(["relu", "gelu"]) },
});

async function hold(at: string): Promise<void> {
  if (!holds.includes(at)) return;
  const file = (kind: string): string => join(folder, `${kind} ${at}`);
  writeFileSync(file("at"), "");
  while (!existsSync(file("go"))) await new Promise((resolve) => setTimeout(resolve, 10));
}

const study = new Study({
  name: "digits",
  space,
  sampler: random(space, { seed: 4 }),
  scheduler: asha({ grace: 20, maxSteps: 100 }),
  objective: "val/accuracy",
  trials: 12,
  retries: 0,
  hooks: [trialTable(space)],
  // By the clock that is made up every hook is slow.
  warn: () => undefined,
  async trial({ number, params, report }) {
    const { lr } = (params as { optimizer: { lr: number } }).optimizer;
    if (number === 3) throw new RangeError("no such width");
    for (let step = 10; step <= 100; step += 10) {
      clock += 700;
      await report({ "val/accuracy": (0.99 - Math.abs(Math.log10(lr) + 2.5) / 6) * (1 - 0.5 ** (step / 15)) }, step);
      await hold(`trial ${number} step ${step}`);
    }
  },
});
const { status } = await study.run();
console.log(`the study is ${status}`);
