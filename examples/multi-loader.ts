// Training on two sources at once: digits in white on black, of which there are many, and in black on white, of which
// there are few. `npx tsx examples/multi-loader.ts` trains once for each way to mix them, a few seconds each, and compares.
import { Trainer, type Hook } from "hookline";
import { DataLoader, type HostArray, type MixOptions } from "hookline/data";
import { accuracy, crossEntropy, linear, relu, sequential } from "hookline/nn";
import { adamw } from "hookline/optim";
import { mnist } from "./mnist/data.ts";

const quick = process.argv.includes("--quick"); // the tests run it so: fewer images
const many = quick ? 1500 : 6000;
const few = many / 4;
const epochs = 3;
const batchSize = 30;

/** Images `from` … `to`, in white (1) on black (-1) or the other way round. */
function digits({ x, y }: { x: HostArray; y: HostArray }, from: number, to: number, onWhite: boolean) {
  const pixels = x.data.subarray(784 * from, 784 * to) as Float32Array;
  return {
    x: { data: pixels.map((grey) => (onWhite ? 1 - 2 * grey : 2 * grey - 1)), shape: [to - from, 784] },
    y: { data: y.data.subarray(from, to), shape: [to - from] },
  };
}
const trainSet = mnist("train");
const testSet = mnist("test");

/** One of these hooks for each source: with `loaders` it sees the batches of that one alone. */
function meanLoss(loader: string): Hook {
  let sum = 0;
  let batches = 0;
  return {
    name: `meanLoss of ${loader}`,
    loaders: [loader],
    onBatchEnd(ctx) {
      sum += ctx.loss;
      batches++;
    },
    onEpochEnd(ctx) {
      ctx.log({ [`${loader}/batches`]: batches, [`${loader}/loss`]: sum / batches });
      [sum, batches] = [0, 0];
    },
  };
}

/** Trains from the start, with the same seed, and shows what came of it. */
async function train(title: string, mix: MixOptions, lossWeights: Record<string, number> = {}): Promise<void> {
  await using trainer = new Trainer({
    model: sequential(linear(784, 64), relu(), linear(64, 10)),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adamw({ lr: 2e-3 }),
    train: {
      onBlack: new DataLoader(digits(trainSet, 0, many, false), { batchSize, shuffle: true }),
      onWhite: new DataLoader(digits(trainSet, many, many + few, true), { batchSize, shuffle: true }),
    },
    mix,
    lossWeights,
    // Several loaders here as well: the metrics of each have its name in front.
    eval: {
      black: new DataLoader(digits(testSet, 0, 1000, false), { batchSize: 500 }),
      white: new DataLoader(digits(testSet, 1000, 2000, true), { batchSize: 500 }),
    },
    epochs,
    hooks: [meanLoss("onBlack"), meanLoss("onWhite")],
  });
  const { metrics, steps } = await trainer.fit();
  const share = (name: string): string => `${(100 * metrics[name]!).toFixed(1)} %`.padStart(8);
  const sources = ["onBlack", "onWhite"].map((name) => {
    const loss = metrics[`${name}/loss`]!.toFixed(3);
    return `${String(metrics[`${name}/batches`]).padStart(4)} batches, loss ${loss}`;
  });
  const columns = [String(steps).padStart(5), ...sources, share("black/accuracy"), share("white/accuracy")];
  console.log(`${title.padEnd(34)}${columns.join(" | ")}`);
}

console.log(`${" ".repeat(34)}steps | onBlack, last epoch      | onWhite, last epoch      | on black | on white`);
// One source after the other, in every epoch: what came last is remembered best.
await train("sequential", { strategy: "sequential" });
// In turn, until both are through; in the last part of an epoch only the larger one is left.
await train("roundRobin", { strategy: "roundRobin" });
// In turn, and the smaller one starts again until the larger one is through: as many batches of each.
await train('roundRobin, length "max"', { strategy: "roundRobin", length: "max" });
// Four of one, then one of the other: both end together.
await train("alternating, 4 : 1", { strategy: "alternating", bursts: { onBlack: 4, onWhite: 1 } });
// The same, and the gradient of the rare source counts four times.
await train(
  "alternating, 4 : 1, onWhite × 4",
  { strategy: "alternating", bursts: { onBlack: 4, onWhite: 1 } },
  { onWhite: 4 },
);
// By chance, at these rates; a number of batches makes an epoch of it.
await train("weighted, 1 : 1", { strategy: "weighted", weights: { onBlack: 1, onWhite: 1 }, length: many / batchSize });
