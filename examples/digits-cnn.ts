// A convolutional network of LeNet's size reads handwritten digits: `npx tsx examples/digits-cnn.ts`. It trains on a
// part of MNIST, so that one core of a CPU is done in less than a minute, and shows which digits it takes for which.
import { progressBar, Trainer, type Hook, type HostArray } from "hookline";
import { DataLoader } from "hookline/data";
import { accuracy, conv2d, crossEntropy, flatten, linear, maxPool2d, relu, sequential } from "hookline/nn";
import { adamw, cosine } from "hookline/optim";
import { mnist } from "./mnist/data.ts";

const quick = process.argv.includes("--quick"); // the tests run it so: a few seconds, and less to see
const images = quick ? 2000 : 8000; // of 60,000; all of them bring about 99 %
const testImages = quick ? 1000 : 10_000;
const epochs = quick ? 1 : 3;
const batchSize = 32;

/** Images `from` … `to` of one part of MNIST, as convolutions want them: [image, channel, row, column]. */
function digits(part: "train" | "test", from: number, to: number): { x: HostArray; y: HostArray } {
  const { x, y } = mnist(part); // x has a row of 784 pixels for each image: the same numbers in the same order
  const shape = [to - from, 1, 28, 28];
  return {
    x: { data: x.data.subarray(784 * from, 784 * to), shape },
    y: { ...y, data: y.data.subarray(from, to), shape: [to - from] },
  };
}

/** Counts, while the test set is evaluated, which digit was taken for which. */
const confusions: Hook = {
  name: "confusions",
  loaders: ["test"], // of the evaluations during training it sees nothing, and costs them nothing
  needs: ["outputs"], // otherwise the outputs stay on the engine
  onEvalBegin: () => counts.clear(),
  onEvalBatchEnd(ctx) {
    const { data: logits } = ctx.outputs as HostArray;
    for (const [i, digit] of ctx.batch.y!.data.entries()) {
      const row = logits.subarray(10 * i, 10 * i + 10);
      const read = row.indexOf(Math.max(...row));
      if (read !== digit) counts.set(`${digit} as ${read}`, (counts.get(`${digit} as ${read}`) ?? 0) + 1);
    }
  },
};
const counts = new Map<string, number>();

const trainer = new Trainer({
  // With names instead of positions the parameters are `conv1.weight`, `fc3.bias`: see trainer.summary().
  model: sequential({
    conv1: conv2d(1, 6, { kernel: 5, padding: 2 }),
    relu1: relu(),
    pool1: maxPool2d(2), // 28 × 28 → 14 × 14
    conv2: conv2d(6, 16, { kernel: 5 }), // → 10 × 10
    relu2: relu(),
    pool2: maxPool2d(2), // → 5 × 5
    flatten: flatten(),
    fc1: linear(16 * 5 * 5, 120),
    relu3: relu(),
    fc2: linear(120, 84),
    relu4: relu(),
    fc3: linear(84, 10),
  }),
  loss: crossEntropy(),
  metrics: { accuracy: accuracy() },
  optimizer: adamw({ lr: 2e-3, weightDecay: 0.01 }),
  schedule: cosine({ warmup: "5%" }),
  train: new DataLoader(digits("train", 0, images), { batchSize, shuffle: true }),
  eval: new DataLoader(digits("train", 59_000, 60_000), { batchSize: 100 }), // the last ones are not trained on
  epochs,
  hooks: [confusions, progressBar()],
});
console.log(trainer.summary());
await trainer.fit();

const test = await trainer.evaluate(new DataLoader(digits("test", 0, testImages), { batchSize: 100 }));
console.log(`test accuracy: ${(100 * test["test/accuracy"]!).toFixed(2)} %`);
const worst = [...counts].sort(([, a], [, b]) => b - a).slice(0, 5);
console.log(`most often misread: ${worst.map(([what, times]) => `${what} (${times})`).join(", ")}`);
await trainer.close();
