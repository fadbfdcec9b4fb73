// Fine-tunes a network that PyTorch has trained: `npx tsx examples/fine-tune-torch.ts` takes a few seconds. It can read
// digits; here it learns from 100 images whether a digit is even or odd, and goes back to PyTorch.
// fine-tune-torch.pt was written by PyTorch, as fine-tune-torch.py says; no Python is needed to run this.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { freeze, Trainer, type Hook, type HostArray } from "hookline";
import { readWeights, saveWeights } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { accuracy, conv2d, crossEntropy, flatten, linear, relu, sequential } from "hookline/nn";
import { adamw } from "hookline/optim";
import { mnist } from "./mnist/data.ts";

const quick = process.argv.includes("--quick"); // the tests run it so: fewer epochs and test images
const [file = "runs/fine-tuned.pt"] = process.argv.slice(2).filter((arg) => !arg.startsWith("--")); // where it is saved
const epochs = quick ? 10 : 40;

/** The first `count` images of one part of MNIST; y is 0 for an even digit and 1 for an odd one. */
function evenOrOdd(part: "train" | "test", count: number): { x: HostArray; y: HostArray } {
  const { x, y } = mnist(part);
  return {
    x: { data: x.data.subarray(0, 784 * count), shape: [count, 1, 28, 28] },
    y: { data: Int32Array.from(y.data.subarray(0, count), (digit) => digit % 2), shape: [count] },
  };
}
const few = evenOrOdd("train", 100);
const test = () => new DataLoader(evenOrOdd("test", quick ? 500 : 10_000), { batchSize: 100 });

/** The same layers as in PyTorch; names differ on purpose, and the head is to be a new one. */
const trainer = (hooks: Hook[]) =>
  new Trainer({
    model: sequential({
      trunk: sequential({
        conv1: conv2d(1, 8, { kernel: 3, stride: 2 }),
        relu1: relu(),
        conv2: conv2d(8, 16, { kernel: 3, stride: 2 }),
        relu2: relu(),
        flatten: flatten(),
        dense: linear(16 * 6 * 6, 24),
        relu3: relu(),
      }),
      head: linear(24, 2),
    }),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adamw({ lr: 5e-3 }),
    train: new DataLoader(few, { batchSize: 20, shuffle: true }),
    epochs,
    hooks,
  });
const percent = (share: number | undefined): string => `${(100 * share!).toFixed(2)} %`;

// For comparison: the same network on the same 100 images, from random weights.
const alone = trainer([]);
await alone.fit();
console.log(`from scratch:              test accuracy ${percent((await alone.evaluate(test()))["test/accuracy"])}`);
await alone.close();

// The tensors in the file are `net.features.conv1.weight`, …, `net.classifier.bias`. What is left over is no surprise:
// the old head stays behind, the new one keeps its random start. Without `strict: false` either would be an error.
const weights = await readWeights(fileURLToPath(new URL("fine-tune-torch.pt", import.meta.url)));
const tuned = trainer([freeze({ params: "trunk" })]);
const loaded = await tuned.loadStateDict(weights, { prefix: "net.", rename: { features: "trunk" }, strict: false });
console.log(`from PyTorch: not in the file ${loaded.missing.join(", ")}; not wanted ${loaded.unexpected.join(", ")}`);

const result = await tuned.fit();
for (const { who, what, why } of result.interventions) console.log(`${who}: ${what}, ${why}`);
console.log(`trunk frozen, new head:    test accuracy ${percent((await tuned.evaluate(test()))["test/accuracy"])}`);

// Back to PyTorch, under its names.
mkdirSync(dirname(file), { recursive: true });
const rename = { trunk: "features", head: "classifier" };
await saveWeights(file, await tuned.stateDict(), { rename, overwrite: true });
console.log(`saved as ${file}; in Python: net.load_state_dict(torch.load("${file}"))
with PyTorch installed, this tests it there: python3 examples/fine-tune-torch.py ${file}`);
await tuned.close();
