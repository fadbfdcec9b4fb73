// A project whose training takes a moment: a line through points. Its code is JavaScript: to load the compiler that reads
// TypeScript takes as long as all the rest of a command. tests/cli/starter.test.ts has TypeScript, as a user's project.

export const CONFIG = `name: tiny
data: ./parts.mjs#points
split: { use: holdout, val: 0.25, test: 0.25 }
loader: { batchSize: 8 }
model: { use: linear, in: 2, out: 1 }
loss: mse
optimizer: { use: sgd, lr: 0.1 }
epochs: 3
hooks:
  - { use: logger, backends: jsonl }
  - { use: modelCheckpoint, monitor: val/loss }
`;

const PARTS = `import { writeFileSync } from "node:fs";

export function points() {
  writeFileSync(new URL("data-was-read", import.meta.url), "");
  const x = Float32Array.from({ length: 128 }, (_, i) => Math.sin(i * 1.7));
  const y = Float32Array.from({ length: 64 }, (_, i) => x[2 * i] - 2 * x[2 * i + 1]);
  return { x: { data: x, shape: [64, 2] }, y: { data: y, shape: [64, 1] } };
}

export const unreadable = () => {
  throw new TypeError("the tape is torn");
};

export const talkative = (options) => ({ name: "talkative", onEpochEnd: () => console.log("an epoch has ended") });

/** Waits in every step, and says so, so that there is time for a signal. */
export const slow = ({ ms }) => ({
  name: "slow",
  onStepEnd(ctx) {
    if (ctx.step === 1) process.stderr.write("one step is done\\n");
    return new Promise((resolve) => setTimeout(resolve, ms));
  },
});

export const broken = () => ({
  name: "broken",
  onStepEnd(ctx) {
    if (ctx.step === 2) throw new Error("out of luck");
  },
});
`;

/** Files by name. */
export const tinyProject = (config = CONFIG): Record<string, string> => ({
  "hookline.yaml": config,
  "parts.mjs": PARTS,
});

const ROWS = Array.from({ length: 80 }, (_, i) => {
  const [age, plan] = [20 + ((i * 37) % 50), ["basic", "pro", "team"][i % 3]!];
  return [`c${i}`, i % 9 === 0 ? "" : age, plan, age < 45 && plan === "basic" ? "yes" : "no"].join(",");
});

/** A table of customers, and a config without a line of code. */
export const tableProject = (): Record<string, string> => ({
  "customers.csv": ["id,age,plan,churn", ...ROWS, ""].join("\n"),
  "hookline.yaml": `name: churn
data: { use: table, file: customers.csv }
split: { use: holdout, val: 0.2, test: 0.2, stratify: churn }
preprocess:
  columns: { "*": auto, plan: { use: oneHot, minCount: 2 } }
  target: churn
model: { use: mlp, hidden: [8] }
loader: { batchSize: 16, sampling: { stratified: y } }
loss: { use: crossEntropy, classWeights: balanced }
metrics: [accuracy, rocAuc, { use: f1, perClass: true }, confusionMatrix]
optimizer: { use: adam, lr: 0.05 }
epochs: 2
hooks:
  - { use: modelCheckpoint, monitor: val/loss }
`,
});

/** A sweep over it, of two trials; `runner` and what follows are the test's own. */
export const tinySweep = (runner: string): string => `name: tiny-sweep
experiment: ./hookline.yaml
space:
  optimizer.lr: { use: logUniform, low: 0.01, high: 0.2 }
objective: val/loss
sampler: random
trials: 2
runner: ${runner}
`;
