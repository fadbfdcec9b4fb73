// A study that looks like one of a real training, in milliseconds: curves from a formula, trials pruned by asha, some failures.
import { asha, choice, int, logUniform, Study, uniform } from "hookline/tune";
import { Rng } from "hookline/data";

const SPACE = {
  lr: logUniform(1e-4, 1),
  width: int(16, 512, { log: true }),
  dropout: uniform(0, 0.6),
  optimizer: choice([{ use: "sgd", momentum: uniform(0.5, 0.99) }, { use: "adamw" }]),
};

export interface ExampleOptions {
  readonly trials: number;
  readonly name?: string;
  /** Where its journal goes; default nowhere. */
  readonly dir?: string;
  /** What trials that diverge fail with. */
  readonly error?: string;
  readonly objectives?: readonly string[];
}

export async function exampleStudy(options: ExampleOptions): Promise<Study<typeof SPACE>> {
  const {
    trials,
    name = "digits",
    error = "The loss grew beyond bounds at step 3. Lower the learning rate.",
    objectives,
  } = options;
  const study = new Study({
    name,
    ...(options.dir !== undefined && { dir: options.dir }),
    space: SPACE,
    trials,
    ...(objectives ? { objectives } : { objective: "val/accuracy" }),
    scheduler: asha({ grace: 3, maxSteps: 27 }),
    retries: 0,
    maxEqualFailures: trials,
    signals: false,
    async trial({ params, report, seed }) {
      const { lr, width, dropout, optimizer } = params;
      if (lr > 0.5) throw new Error(error);
      const rng = new Rng(seed);
      const best = optimizer.use === "sgd" ? 0.08 : 0.003;
      const miss = 0.02 * Math.log10(lr / best) ** 2 + 0.3 * (dropout - 0.2) ** 2 + 0.2 / Math.sqrt(width);
      for (let step = 1; step <= 27; step++) {
        const accuracy = Math.max(0.1, 0.985 - miss - 0.6 * Math.exp((-step * Math.log10(width)) / 8));
        await report({ "val/accuracy": Math.min(1, accuracy + 0.004 * rng.normal()), parameters: 800 * width }, step);
      }
    },
  });
  await study.run();
  return study;
}
