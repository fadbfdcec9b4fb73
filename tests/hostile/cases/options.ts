// Options: unknown, missing, of the wrong type or out of range. Known at construction, before anything runs.
import { EngineError, HookRegistrationError, OptionError, Trainer } from "hookline";
import { split } from "hookline/data";
import * as nn from "hookline/nn";
import * as optim from "hookline/optim";
import { fit, four, loader, trainer, wrong, type Case, type Cases } from "./case.ts";

const unknown = (run: () => unknown, ...says: string[]): Case => ({
  run,
  error: OptionError,
  says: ["unknown option", ...says],
});
const refused = (run: () => unknown, ...says: string[]): Case => ({ run, error: OptionError, says });

/** As in a browser that has WebGPU, on a machine that has no GPU. */
async function withoutGpu(run: () => Promise<unknown>): Promise<unknown> {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  const gpu = { requestAdapter: () => Promise.resolve(null) };
  Object.defineProperty(globalThis, "navigator", { value: { gpu, userAgent: "" }, configurable: true });
  try {
    return await run();
  } finally {
    if (before) Object.defineProperty(globalThis, "navigator", before);
    else Reflect.deleteProperty(globalThis, "navigator");
  }
}

/** Every option of the trainer, with a value that it cannot have. */
const wrongTypes: Readonly<Record<string, readonly [value: unknown, says: string]>> = {
  model: ["linear", '`"linear"` (string)'],
  loss: ["mse", "a function"],
  metrics: [[nn.mae()], "an object"],
  inputs: ["x", "a function"],
  tokens: [128, "a function"],
  weigh: [1, "a function"],
  optimizer: ["adam", '`"adam"` (string)'],
  schedule: ["cosine", "schedule"],
  train: [[four], "array"],
  mix: ["roundRobin", "an object"],
  lossWeights: [2, "an object"],
  eval: [false, "`false` (boolean)"],
  evalEvery: [0, "a number > 0"],
  evalAtStart: ["yes", "true or false"],
  logEvery: [-1, "a number > 0"],
  accumulate: [0, "a whole number ≥ 1"],
  clipNorm: [0, "a number > 0"],
  clipValue: ["1", '`"1"` (string)'],
  limitBatches: [2.5, "a whole number ≥ 1"],
  seed: [-1, "a whole number ≥ 0"],
  engine: ["cuda", '"wasm", "webgpu"'],
  runDir: ["", "a non-empty string"],
  hooks: [{}, "an array"],
  signals: [1, "true or false"],
  yieldEvery: [Number.NaN, "a number ≥ 0"],
  closeTimeout: [0, "a number > 0"],
  warn: ["silent", "a function"],
  epochs: [1.5, "a whole number ≥ 0"],
  steps: [-1, "a whole number ≥ 0"],
  maxSamples: ["all", "a number > 0"],
  maxTokens: [Number.NaN, "a number > 0"],
  maxTime: [true, "a number > 0"],
  minEpochs: [null, "`null`"],
  minSteps: ["5", "a whole number ≥ 0"],
};

export const options: Cases = {
  "Trainer: no options": refused(() => new (wrong<new () => Trainer>(Trainer))(), "Trainer", "object of options"),
  "Trainer: unknown option": unknown(() => trainer({ epoch: 3 }), "Trainer", "`epoch`", "Did you mean `epochs`?"),
  "fit: unknown option": unknown(() => trainer().fit(wrong({ step: 3 })), "fit", "Did you mean `steps`?"),
  "optimizer: unknown option": unknown(() => optim.adamw(wrong({ beta: 0.9 })), "adamw", "Did you mean `betas`?"),
  "optimizer: option of another system": unknown(
    () => optim.adamw(wrong({ learningRate: 1 })),
    "adamw",
    "Did you mean `lr`?",
  ),
  "schedule: unknown option": unknown(() => optim.cosine(wrong({ warmUp: 1 })), "cosine", "Did you mean `warmup`?"),
  "layer: unknown option": unknown(() => nn.linear(3, 1, wrong({ biass: true })), "linear", "Did you mean `bias`?"),
  "loss: unknown option": unknown(
    () => nn.crossEntropy(wrong({ labelSmooting: 0 })),
    "crossEntropy",
    "`labelSmoothing`?",
  ),
  "loader: unknown option": unknown(() => loader(four, { batch_size: 4 }), "DataLoader", "Did you mean `batchSize`?"),
  "mix: unknown option": unknown(() => trainer({ mix: { strateg: "weighted" } }), "mix", "Did you mean `strategy`?"),
  "group: unknown option": unknown(
    () => optim.sgd({ groups: [wrong({ params: "bias", wd: 0 })] }),
    "sgd: groups[0]",
    "`wd`",
  ),
  ...Object.fromEntries(
    Object.entries(wrongTypes).map(([key, [value, says]]) => [
      `Trainer: wrong \`${key}\``,
      refused(() => trainer({ [key]: value }), "Trainer", `\`${key}\``, says),
    ]),
  ),
  "fit: wrong signal": refused(() => trainer().fit({ signal: wrong({}) }), "fit", "an AbortSignal"),
  "fit: wrong restart": refused(() => trainer().fit({ restart: wrong("yes") }), "fit", "true or false"),
  "fit: null": refused(() => trainer().fit(wrong(null)), "fit", "object of options"),
  "Trainer: no limits": refused(
    () => new Trainer({ model: nn.linear(3, 1), loss: nn.mse(), optimizer: optim.sgd(), train: loader() }).fit(),
    "how long to train",
    "epochs",
    "maxTime",
  ),
  "Trainer: no model": refused(() => trainer({ model: undefined }), "missing option `model`"),
  "Trainer: no loss": refused(() => trainer({ loss: undefined }), "missing option `loss`", "crossEntropy()"),
  "Trainer: no loader": refused(() => trainer({ train: undefined }), "missing option `train`"),
  "Trainer: no optimizer": refused(() => trainer({ optimizer: undefined }), "missing option `optimizer`"),
  "Trainer: a model without apply": refused(() => trainer({ model: { init: () => ({}) } }), "`init` and `apply`"),
  "Trainer: arrays instead of a loader": refused(
    () => trainer({ train: four }),
    "got arrays (x, y)",
    "new DataLoader({ x, y }",
  ),
  "Trainer: a number among loaders": refused(() => trainer({ train: { a: loader(), b: 3 } }), "`b`", "new DataLoader"),
  "Trainer: no loaders by name": refused(() => trainer({ train: {} }), "loaders by name"),
  "Trainer: an optimizer not called": refused(
    () => trainer({ optimizer: optim.adamw }),
    "`optimizer`",
    "a function (adamw)",
  ),
  "Trainer: no optimizers by name": refused(() => trainer({ optimizer: {} }), "at least one optimizer"),
  "Trainer: a number among optimizers": refused(() => trainer({ optimizer: { a: 3 } }), "`optimizer.a`", "adamw("),
  "Trainer: an object that is no schedule": refused(() => fit({ schedule: {} }), "`schedule`"),
  "Trainer: a metric not called": refused(
    () => trainer({ metrics: { accuracy: nn.accuracy } }),
    "`metrics.accuracy`",
    "accuracy()",
  ),
  "Trainer: a metric without compute": refused(
    () => trainer({ metrics: { m: { update: () => ({}) } } }),
    "`metrics.m`",
    "`compute`",
  ),
  "Trainer: unknown name in lossWeights": refused(
    () => fit({ lossWeights: { trian: 2 } }),
    "lossWeights",
    "trian",
    "train",
  ),
  "Trainer: NaN in lossWeights": refused(() => fit({ lossWeights: { train: Number.NaN } }), "lossWeights", "NaN"),
  "engine: misspelled": refused(() => trainer({ engine: "wsm" }), "`engine`", "Did you mean `wasm`?"),
  "engine: webgpu without a GPU": {
    run: () => withoutGpu(() => fit({ engine: "webgpu" })),
    error: EngineError,
    says: ["webgpu", 'engine: "wasm"'],
  },
  "cadence: unknown unit": refused(
    () => trainer({ evalEvery: "5 stops" }),
    "evalEvery",
    '"stops"',
    "Did you mean `steps`?",
  ),
  "cadence: not a quantity": refused(() => trainer({ evalEvery: "often" }), "evalEvery", "500 steps", '"often"'),
  "cadence: unknown option": unknown(() => trainer({ evalEvery: { evry: 3 } }), "evalEvery", "Did you mean `every`?"),
  "cadence: % of an unknown length": refused(
    () => fit({ epochs: undefined, maxTime: 50, evalEvery: "10%", eval: loader() }),
    "evalEvery",
    "%",
    "`steps` or `epochs`",
  ),
  "maxTime: not a time": refused(() => fit({ maxTime: "10 epochs" }), "`maxTime`", "10 min"),
  "schedule: of an unknown length": refused(
    () => fit({ epochs: undefined, maxTime: 50, schedule: optim.cosine() }),
    "cosine",
    "`total`",
  ),
  "schedule: warm-up longer than the run": refused(
    () => optim.cosine({ warmup: "120%" }),
    "cosine",
    "more than the whole run",
  ),
  "optimizer: lr as a string": refused(() => optim.sgd({ lr: wrong("0.1") }), "sgd", "`lr`", '`"0.1"` (string)'),
  "optimizer: negative lr": refused(() => optim.sgd({ lr: -1 }), "sgd", "`lr`", "≥ 0"),
  "optimizer: NaN as weight decay": refused(() => optim.adamw({ weightDecay: Number.NaN }), "`weightDecay`", "NaN"),
  "optimizer: betas out of range": refused(() => optim.adam({ betas: [0.9, 1] }), "`betas`", "two numbers"),
  "optimizer: nesterov without momentum": refused(() => optim.sgd({ nesterov: true }), "`nesterov`", "`momentum`"),
  "optimizer: a group that matches nothing": refused(
    () => trainer({ optimizer: optim.adamw({ groups: [{ params: "bais", weightDecay: 0 }] }) }),
    "adamw",
    "no parameter matches `bais`",
    "Did you mean `bias`?",
    "weight, bias",
  ),
  "optimizer: params that match nothing": refused(
    () => trainer({ optimizer: optim.adamw({ params: "head.*" }) }),
    "`head.*`",
    "weight, bias",
  ),
  "optimizer: two own a parameter": refused(
    () => trainer({ optimizer: { a: optim.sgd(), b: optim.adamw() } }),
    "`weight`",
    "two optimizers",
    "`a` and `b`",
    "`params`",
  ),
  "optimizer: an unknown loader": refused(
    () => trainer({ optimizer: { a: optim.sgd({ loader: "trian" }) } }),
    "`a`",
    "`trian`",
    "Loaders: train",
  ),
  "optimizer: none for a loader": refused(
    () => trainer({ train: { a: loader(), b: loader() }, optimizer: { only: optim.sgd({ loader: "a" }) } }),
    "No optimizer",
    "loader `b`",
  ),
  // Its metrics would be mixed up with those of training, train/loss and the others.
  "eval: a loader named train": refused(() => fit({ eval: { train: loader() } }), "eval", "train/"),
  "mix: weights of an unknown loader": refused(
    () =>
      trainer({
        train: { web: loader(), books: loader() },
        mix: { strategy: "weighted", weights: { web: 1, boks: 2 } },
      }),
    "`boks`",
    "Did you mean `books`?",
  ),
  "mix: no weights": refused(() => trainer({ mix: { strategy: "weighted" } }), "mix", "`weights`"),
  "layer: a size as a string": refused(() => nn.linear(wrong("3"), 1), "linear", "`in`", '`"3"` (string)'),
  "layer: a size of 0": refused(() => nn.linear(3, 0), "linear", "`out`", "≥ 1"),
  "layer: heads that do not fit": refused(() => nn.multiHeadAttention(10, 3), "multiple of `heads`"),
  "layer: dropout of 1": refused(() => nn.dropout(1), "dropout", "`p`"),
  "sequential: an array": refused(
    () => nn.sequential(wrong([nn.linear(3, 1)])),
    "sequential",
    "array",
    "sequential(...layers)",
  ),
  "sequential: a layer not called": refused(
    () => nn.sequential(nn.linear(3, 1), wrong(nn.relu)),
    "sequential",
    "`1`",
    "relu()",
  ),
  "block: a number among children": refused(
    () => nn.block({ fc: wrong<nn.Layer>(3) }, () => ({})),
    "block",
    "`fc`",
    "a model",
  ),
  "split: fractions over 1": refused(() => split(four, [0.5, 0.6]), "split", "add up to 1"),
  "on: unknown event": {
    run: () => trainer().on(wrong<"stepEnd">("stepEn"), () => {}),
    error: HookRegistrationError,
    says: ["onStepEn", "Did you mean `onStepEnd`?"],
  },
  "on: no function": {
    run: () => wrong<{ on(e: string): void }>(trainer()).on("stepEnd"),
    error: HookRegistrationError,
    says: ["stepEnd", "a function"],
  },
};
