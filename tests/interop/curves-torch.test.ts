// The same model from the same weights on the same batches: 50 steps here and in PyTorch give the same losses and weights.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { numpy as np } from "@jax-js/jax";
import { Trainer, type HostBatch, type HostTensors, type Model, type Tensor, type TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import * as nn from "hookline/nn";
import { adamw, cosine, sgd } from "hookline/optim";
import { beforeAll, describe, expect, it } from "vitest";
import { ints, maxError, noise } from "../support/gradcheck.ts";

const STEPS = 50;
const python = "/usr/bin/python3";
const env = { ...process.env, OMP_NUM_THREADS: "1" };
const present = spawnSync(python, ["-c", "import torch"], { env }).status === 0;
if (!present) console.warn("PyTorch loss curves are skipped: apt-get install python3-torch");

/** Features with a smooth target: regression that a tanh network can learn. */
function regression(samples: number) {
  const x = noise([samples, 6], 21);
  const row = (i: number, k: number): number => x.data[6 * i + k]!;
  const y = Float32Array.from({ length: 2 * samples }, (_, at) => {
    const i = at >> 1;
    return at % 2 === 0
      ? Math.sin(2 * row(i, 0)) + row(i, 1) * row(i, 2)
      : Math.cos(row(i, 3)) - row(i, 4) ** 2 + 0.3 * row(i, 5);
  });
  return { x, y: { data: y, shape: [samples, 2] } };
}

/** Classes of a point, a curved function of its features. */
function classes(samples: number) {
  const { x, y } = regression(samples);
  return {
    x,
    y: ints(Array.from({ length: samples }, (_, i) => (y.data[2 * i]! > 0 ? 2 : y.data[2 * i + 1]! > 0.5 ? 1 : 0))),
  };
}

const VOCABULARY = 17;
const TIME = 8;

/** Text of a made-up language: each token follows from the one before, mostly. */
function text(samples: number) {
  const chance = noise([samples * (TIME + 1)], 22).data;
  const x: number[] = [];
  const y: number[] = [];
  for (let i = 0; i < samples; i++) {
    let token = i % VOCABULARY;
    for (let t = 0; t < TIME; t++) {
      x.push(token);
      token = chance[i * TIME + t]! > 0.7 ? (token + 1) % VOCABULARY : (3 * token + 1) % VOCABULARY;
      y.push(token);
    }
  }
  return { x: ints(x, [samples, TIME]), y: ints(y, [samples, TIME]) };
}

const decoder = (features: number, heads: number): Model<Tensor, Tensor> =>
  nn.block(
    {
      ln1: nn.layerNorm(features),
      attn: nn.multiHeadAttention(features, heads, { causal: true }),
      ln2: nn.layerNorm(features),
      mlp: nn.sequential(nn.linear(features, 4 * features), nn.gelu(), nn.linear(4 * features, features)),
    },
    ({ ln1, attn, ln2, mlp }, x: Tensor) => {
      const h = x.ref.add(attn(ln1(x)));
      return h.ref.add(mlp(ln2(h)));
    },
  );

const transformer = (features = 16, heads = 2): Model<Tensor, Tensor> =>
  nn.block(
    {
      tok: nn.embedding(VOCABULARY, features),
      pos: nn.embedding(TIME, features),
      blocks: nn.sequential(decoder(features, heads), decoder(features, heads)),
      ln: nn.layerNorm(features),
      head: nn.linear(features, VOCABULARY, { bias: false }),
    },
    ({ tok, pos, blocks, ln, head }, x: Tensor) => head(ln(blocks(tok(x).add(pos(np.arange(TIME)))))),
  );

const mlp = () => nn.sequential(nn.linear(6, 16), nn.tanh(), nn.linear(16, 16), nn.gelu(), nn.linear(16, 2));
const torchMlp = "nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 2))";
// No bias before the norm, which would take it out again and leave its gradient to rounding noise.
const normed = () =>
  nn.sequential(nn.linear(6, 12, { bias: false }), nn.batchNorm(12, { momentum: 0.2 }), nn.tanh(), nn.linear(12, 3));
const torchNormed =
  "nn.Sequential(nn.Linear(6, 12, bias=False), nn.BatchNorm1d(12, momentum=0.2), nn.Tanh(), nn.Linear(12, 3))";
const torchTransformer = `Transformer(${VOCABULARY}, ${TIME}, 16, 2, 2)`;

interface Case {
  readonly torch: string;
  readonly optimizers: readonly string[];
  readonly loss: "mse" | "crossEntropy";
  /** The schedule's numbers, for a formula of PyTorch's side of its own. */
  readonly cosine?: { readonly warmup: number; readonly total: number; readonly least: number };
  readonly trainer: Omit<TrainerOptions, "loss">;
}

const shuffled = (data: ConstructorParameters<typeof DataLoader>[0], batchSize: number) =>
  new DataLoader(data, { batchSize, shuffle: true });

const cases: Record<string, Case> = {
  "an MLP with adamw": {
    torch: torchMlp,
    optimizers: ["AdamW(m.parameters(), lr=0.01)"],
    loss: "mse",
    trainer: { model: mlp(), optimizer: adamw({ lr: 0.01 }), train: shuffled(regression(64), 16) },
  },
  "an MLP with sgd, momentum and clipping": {
    torch: torchMlp,
    optimizers: ["SGD(m.parameters(), lr=0.05, momentum=0.9)"],
    loss: "mse",
    trainer: {
      model: mlp(),
      optimizer: sgd({ lr: 0.05, momentum: 0.9 }),
      train: shuffled(regression(64), 16),
      clipNorm: 0.4,
    },
  },
  // The offset of the keys has no effect, so its gradient is rounding noise, which Adam would make steps of: hence `eps`.
  "a transformer with adamw": {
    torch: torchTransformer,
    optimizers: ["AdamW(m.parameters(), lr=0.005, eps=1e-6)"],
    loss: "crossEntropy",
    trainer: { model: transformer(), optimizer: adamw({ lr: 0.005, eps: 1e-6 }), train: shuffled(text(32), 8) },
  },
  "a transformer with sgd, momentum and clipping": {
    torch: torchTransformer,
    optimizers: ["SGD(m.parameters(), lr=0.05, momentum=0.9, nesterov=True)"],
    loss: "crossEntropy",
    trainer: {
      model: transformer(),
      optimizer: sgd({ lr: 0.05, momentum: 0.9, nesterov: true }),
      train: shuffled(text(32), 8),
      clipNorm: 1,
    },
  },
  // 22 samples in batches of 4 are six batches, the last of 2; four to a step leaves a step of two, of 6 samples.
  "accumulation with a short last group": {
    torch: torchMlp,
    optimizers: ["AdamW(m.parameters(), lr=0.01, weight_decay=0.1)"],
    loss: "mse",
    trainer: {
      model: mlp(),
      optimizer: adamw({ lr: 0.01, weightDecay: 0.1 }),
      train: shuffled(regression(22), 4),
      accumulate: 4,
      clipNorm: 0.5,
    },
  },
  "a cosine schedule with warm-up": {
    torch: torchMlp,
    optimizers: ["SGD(m.parameters(), lr=0.2, momentum=0.5)"],
    loss: "mse",
    cosine: { warmup: 10, total: STEPS, least: 0.1 },
    trainer: {
      model: mlp(),
      optimizer: sgd({ lr: 0.2, momentum: 0.5 }),
      schedule: cosine({ warmup: "20%", min: 0.1 }),
      train: shuffled(regression(64), 16),
    },
  },
  "parameter groups": {
    torch: torchMlp,
    optimizers: [
      "AdamW([{'params': pick('bias'), 'weight_decay': 0.0}, {'params': pick('bias', False), 'lr': 0.02}], lr=0.01, weight_decay=0.3)",
    ],
    loss: "mse",
    trainer: {
      model: mlp(),
      optimizer: adamw({
        lr: 0.01,
        weightDecay: 0.3,
        groups: [
          { params: "bias", weightDecay: 0 },
          { params: "weight", lr: 0.02 },
        ],
      }),
      train: shuffled(regression(64), 16),
    },
  },
  "two optimizers": {
    torch: torchMlp,
    optimizers: ["SGD(pick('0.'), lr=0.1)", "AdamW(pick('0.', False), lr=0.01)"],
    loss: "mse",
    trainer: {
      model: mlp(),
      optimizer: { first: sgd({ lr: 0.1, params: "0." }), rest: adamw({ lr: 0.01, params: ["2.", "4."] }) },
      train: shuffled(regression(64), 16),
      clipNorm: 0.5,
    },
  },
  "batch norm": {
    torch: torchNormed,
    optimizers: ["AdamW(m.parameters(), lr=0.03)"],
    loss: "crossEntropy",
    trainer: { model: normed(), optimizer: adamw({ lr: 0.03 }), train: shuffled(classes(60), 16) },
  },
  "batch norm with accumulation": {
    torch: torchNormed,
    optimizers: ["SGD(m.parameters(), lr=0.1, momentum=0.9)"],
    loss: "crossEntropy",
    trainer: {
      model: normed(),
      optimizer: sgd({ lr: 0.1, momentum: 0.9 }),
      train: shuffled(classes(60), 8),
      accumulate: 3,
    },
  },
};

interface Curve {
  readonly losses: number[];
  readonly rates: number[];
  readonly final: Record<string, number[]>;
}

const json = (tensors: HostTensors) =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, { data, shape }]) => [
      name,
      { data: [...data], shape, whole: !(data instanceof Float32Array) },
    ]),
  );

/** Trains here, and leaves the initial weights and the batches of every step for PyTorch. */
async function train({ trainer: options, loss }: Case): Promise<{ curve: Curve; initial: object; steps: object[][] }> {
  const steps: object[][] = [];
  const [losses, rates]: [number[], number[]] = [[], []];
  await using trainer = new Trainer({
    ...options,
    loss: loss === "mse" ? nn.mse() : nn.crossEntropy(),
    engine: "wasm",
    signals: false,
    seed: 4,
  });
  trainer.hooks.add({
    name: "keep",
    onStepBegin: () => void steps.push([]),
    onBatchBegin: ({ batch }: { batch: HostBatch }) => void steps.at(-1)!.push(json(batch)),
    onStepEnd({ loss, lr }) {
      losses.push(loss);
      rates.push(lr);
    },
  });
  const initial = json(await trainer.stateDict());
  await trainer.fit({ steps: STEPS });
  const last = Object.entries(await trainer.stateDict());
  return {
    curve: { losses, rates, final: Object.fromEntries(last.map(([name, { data }]) => [name, [...data]])) },
    initial,
    steps,
  };
}

function askTorch(jobs: readonly object[]): Curve[] {
  const folder = mkdtempSync(join(tmpdir(), "curves-"));
  try {
    const [input, output] = [join(folder, "cases.json"), join(folder, "curves.json")];
    writeFileSync(input, JSON.stringify(jobs));
    const script = fileURLToPath(new URL("./curves-torch.py", import.meta.url));
    const done = spawnSync(python, ["-W", "ignore", script, input, output], { env, encoding: "utf8" });
    if (done.status !== 0) throw new Error(done.stderr);
    return JSON.parse(readFileSync(output, "utf8")) as Curve[];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The largest difference relative to each expected number. */
const relative = (actual: readonly number[], expected: readonly number[]): number =>
  Math.max(...expected.map((e, i) => Math.abs(actual[i]! - e) / Math.abs(e)));

describe.skipIf(!present)("50 steps as in PyTorch", () => {
  const results = new Map<string, { ours: Curve; torch: Curve }>();

  beforeAll(async () => {
    const ours: Curve[] = [];
    const jobs: object[] = [];
    for (const each of Object.values(cases)) {
      const { torch, optimizers, loss, cosine = null } = each;
      const { curve, ...job } = await train(each);
      ours.push(curve);
      jobs.push({ torch, optimizers, loss, cosine, clipNorm: each.trainer.clipNorm ?? null, ...job });
    }
    const torch = askTorch(jobs);
    for (const [i, name] of Object.keys(cases).entries()) results.set(name, { ours: ours[i]!, torch: torch[i]! });
  });

  it.each(Object.keys(cases))("%s", (name) => {
    const { ours, torch } = results.get(name)!;
    expect(ours.losses).toHaveLength(STEPS);
    // A curve that does not move would agree with anything.
    expect(mean(ours.losses.slice(-8))).toBeLessThan(0.8 * mean(ours.losses.slice(0, 8)));
    expect(relative(ours.losses, torch.losses)).toBeLessThan(1e-4);
    expect(relative(ours.rates, torch.rates)).toBeLessThan(1e-12);
    const off = Object.entries(torch.final).map(([param, values]) => {
      const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      return [param, maxError(ours.final[param]!, values) / largest] as const;
    });
    expect(off.filter(([, error]) => !(error < 1e-3))).toEqual([]);
    expect(Object.keys(ours.final).sort()).toEqual(Object.keys(torch.final).sort());
  });
});
