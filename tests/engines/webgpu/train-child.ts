// Trains a small network on made-up digits on WebGPU, saves, resumes, evaluates and predicts; prints what happened.
import { Trainer, type Hook, type HostArray, type HostTensors, type TrainerOptions } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader, Rng } from "hookline/data";
import { accuracy, conv2d, crossEntropy, dropout, flatten, linear, maxPool2d, relu, sequential } from "hookline/nn";
import { adamw } from "hookline/optim";

const [SIDE, CLASSES] = [8, 4];

function digits(count: number) {
  const rng = new Rng(7);
  const prototypes = Array.from({ length: CLASSES }, () => Float32Array.from({ length: SIDE ** 2 }, () => rng.next()));
  const labels = Int32Array.from({ length: count }, (_, i) => i % CLASSES);
  const pixels = Float32Array.from(
    { length: count * SIDE ** 2 },
    (_, i) => prototypes[labels[Math.floor(i / SIDE ** 2)]!]![i % SIDE ** 2]! + 0.3 * rng.normal(),
  );
  return { x: { data: pixels, shape: [count, 1, SIDE, SIDE] }, y: labels };
}

const data = digits(64);
const batch = digits(8);

const evaluation = (): DataLoader => new DataLoader(batch, { batchSize: 8 });

const trainer = (options: Partial<TrainerOptions>): Trainer =>
  new Trainer({
    model: sequential(
      conv2d(1, 3, { kernel: 3 }),
      relu(),
      maxPool2d(2),
      flatten(),
      dropout(0.1),
      linear(3 * ((SIDE - 2) / 2) ** 2, CLASSES),
    ),
    loss: crossEntropy(),
    optimizer: adamw({ lr: 0.03 }),
    metrics: { accuracy: accuracy() },
    train: new DataLoader(data, { batchSize: 16, shuffle: true }),
    eval: evaluation(),
    steps: 12,
    signals: false,
    engine: "webgpu",
    ...options,
  });

const bytes = (tensors: HostTensors): unknown =>
  Object.entries(tensors).map(([name, { data }]) => [name, Array.from(new Uint32Array(data.buffer))]);

/** Nobody reads a loss but this, and only where an epoch ends. */
const averages: number[] = [];
const average: Hook = { name: "average", onEpochEnd: (ctx) => void averages.push(ctx.avgLoss) };

const whole = trainer({ hooks: [average] });
const looks: Promise<unknown>[] = [];
// Looks into the model while a step has its parameters, and the run does not wait for them.
whole.on("beforeForward", () => void looks.push(whole.runWithProbes(batch)));
const result = await whole.fit();
const params = await whole.stateDict();
await Promise.all(looks);

const store = memoryStore();
const saving: Hook = { name: "saving", onStepEnd: (ctx) => ctx.requestSave("interval") };
await using first = trainer({ steps: 5, store, hooks: [saving] });
await first.fit();
await using resumed = trainer({ store });
const { resumed: from } = await resumed.fit({ resume: "auto" });

await using onWasm = trainer({ engine: "wasm" });
const wasm = await onWasm.fit();
await onWasm.loadStateDict(params);
const predictions = async (model: Trainer): Promise<number[]> =>
  Array.from(((await model.predict(new DataLoader({ x: batch.x }, { batchSize: 4 }))) as HostArray).data);

console.log(
  JSON.stringify({
    engine: result.engine,
    averages,
    looks: looks.length,
    loss: [result.metrics["train/loss"], wasm.metrics["train/loss"]],
    resumedFrom: from?.step,
    sameBits: JSON.stringify(bytes(await resumed.stateDict())) === JSON.stringify(bytes(params)),
    evaluated: [await whole.evaluate(evaluation()), await onWasm.evaluate(evaluation())],
    predictions: [await predictions(whole), await predictions(onWasm)],
  }),
);
await whole.close();
