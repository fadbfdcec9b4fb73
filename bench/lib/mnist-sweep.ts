// The sweep that samplers and schedulers are measured on: a small network on a part of MNIST, with its learning rate, width
// and weight decay to be found.
import { Trainer, type Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { accuracy, crossEntropy, linear, relu, sequential } from "hookline/nn";
import { adamw } from "hookline/optim";
import { int, logUniform, Study, type Sampler, type Scheduler } from "hookline/tune";
import { mnist } from "../../examples/mnist/data.ts";

export const SWEEP = {
  lr: logUniform(1e-5, 1),
  width: int(8, 128, { log: true }),
  weightDecay: logUniform(1e-4, 1),
};

/** Of a whole trial, and when it reports: where asha would judge it. */
export const MAX_STEPS = 135;
export const GRACE = 5;
const REPORTS = [GRACE, 3 * GRACE, 9 * GRACE, MAX_STEPS];
const [TRAIN, VAL, BATCH] = [4000, 2000, 32];

interface Params {
  readonly lr: number;
  readonly width: number;
  readonly weightDecay: number;
}

function part(from: number, count: number) {
  const { x, y } = mnist("train");
  return {
    x: { data: x.data.slice(784 * from, 784 * (from + count)), shape: [count, 784] },
    y: { data: y.data.slice(from, from + count), shape: [count] },
  };
}
// More threads gain nothing with networks so small, and starting them would be most of a trial.
process.env.HOOKLINE_THREADS ??= "1";

let loaders: readonly [DataLoader, DataLoader] | undefined;

/**
 * Accuracies by step. The same parameters give the same run, bit for bit, so a training that was run already is not run
 * again: samplers and schedulers meet each other's trials.
 */
const known = new Map<string, Promise<ReadonlyMap<number, number>>>();

async function train({ lr, width, weightDecay }: Params): Promise<ReadonlyMap<number, number>> {
  loaders ??= [
    new DataLoader(part(0, TRAIN), { batchSize: BATCH, shuffle: true }),
    new DataLoader(part(TRAIN, VAL), { batchSize: VAL }),
  ];
  const curve = new Map<number, number>();
  const record: Hook = {
    name: "record",
    onEvalEnd: (ctx) => void curve.set(ctx.step, ctx.evalMetrics["val/accuracy"]!),
  };
  await using trainer = new Trainer({
    model: sequential(linear(784, width), relu(), linear(width, 10)),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adamw({ lr, weightDecay }),
    train: loaders[0],
    eval: loaders[1],
    steps: MAX_STEPS,
    evalEvery: { at: REPORTS },
    seed: 0,
    signals: false,
    hooks: [record],
  });
  await trainer.fit();
  return curve;
}

/** One study over the sweep; its trials report at a fixed number of steps. */
export async function sweep(trials: number, sampler: Sampler, scheduler?: Scheduler): Promise<Sweep> {
  const study = new Study({
    space: SWEEP,
    sampler,
    ...(scheduler && { scheduler }),
    objective: "val/accuracy",
    trials,
    signals: false,
    async trial({ params, report }) {
      const key = JSON.stringify(params);
      const curve = known.get(key) ?? train(params);
      known.set(key, curve);
      for (const [step, value] of await curve) await report({ "val/accuracy": value }, step);
    },
  });
  const { best } = await study.run();
  const steps = study.trials.reduce((sum, { reports }) => sum + (reports.at(-1)?.step ?? 0), 0);
  return { best: best?.result?.["val/accuracy"] ?? 0, steps };
}

export interface Sweep {
  readonly best: number;
  readonly steps: number;
}
