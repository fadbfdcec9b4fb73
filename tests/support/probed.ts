// A small transformer and a small classifier to look into.
import type { Activations, Hook, ProbeRequest, Tensor, TrainerOptions } from "hookline";
import { Trainer } from "hookline";
import { DataLoader, Rng } from "hookline/data";
import {
  block,
  crossEntropy,
  embedding,
  layerNorm,
  linear,
  multiHeadAttention,
  relu,
  residual,
  sequential,
} from "hookline/nn";
import { adamw } from "hookline/optim";
import { testEngine } from "hookline/testing";

const rng = new Rng(5);
const tokens = () => ({ data: Int32Array.from({ length: 16 * 6 }, () => rng.int(11)), shape: [16, 6] });
export const text = { x: tokens(), y: tokens() };

const one = () =>
  block(
    {
      ln: layerNorm(16),
      attn: multiHeadAttention(16, 2, { causal: true }),
      mlp: residual(sequential(linear(16, 32), relu(), linear(32, 16))),
    },
    ({ ln, attn, mlp }, x: Tensor) => mlp(x.ref.add(attn(ln(x)))),
  );

const ATTENTION = ["attn.q", "attn.k", "attn.v", "attn.scores", "attn.pattern", "attn.z", "attn"];
const inBlock = (i: number): string[] =>
  ["ln", ...ATTENTION, "mlp.0", "mlp.1", "mlp.2", "mlp.branch", "mlp"].map((point) => `blocks.${i}.${point}`);
/** Every point of the transformer, in the order of the program. */
export const POINTS = ["tokens", ...inBlock(0), "blocks.0", ...inBlock(1), "blocks.1", "blocks", "head"];

type Options = Omit<Partial<TrainerOptions>, "model">;

/** Four steps of four sequences, evaluated at the end. */
export const transformer = (options: Options = {}): Trainer =>
  new Trainer({
    model: sequential({ tokens: embedding(11, 16), blocks: sequential(one(), one()), head: linear(16, 11) }),
    loss: crossEntropy(),
    optimizer: adamw({ lr: 1e-2 }),
    train: new DataLoader(text, { batchSize: 4 }),
    eval: new DataLoader(text, { batchSize: 8 }),
    engine: testEngine(),
    signals: false,
    epochs: 1,
    ...options,
  });

export const classes = {
  x: { data: Float32Array.from({ length: 16 * 5 }, () => rng.normal()), shape: [16, 5] },
  y: Int32Array.from({ length: 16 }, () => rng.int(3)),
};

export const mlp = () => sequential(linear(5, 8), relu(), linear(8, 3));

/** Four steps of four samples. */
export const classifier = (options: Options = {}): Trainer =>
  new Trainer({
    model: mlp(),
    loss: crossEntropy(),
    optimizer: adamw({ lr: 1e-2 }),
    train: new DataLoader(classes, { batchSize: 4 }),
    engine: testEngine(),
    signals: false,
    epochs: 1,
    ...options,
  });

/** Reads every point: what is read in its event stays. */
export function readPoints(activations: Activations, collect: "stats" | "arrays" = "stats"): void {
  for (const point of activations.names) {
    if (collect === "arrays") activations.get(point);
    else activations.stats(point);
  }
}

/** A hook that keeps what it sees in each step. */
export function looking(request: ProbeRequest, more: Partial<Hook> = {}) {
  const seen: { step: number; names: readonly string[]; activations: Activations }[] = [];
  const hook: Hook = {
    name: "looking",
    probes: request,
    onStepEnd({ step, activations }) {
      const { names } = activations;
      readPoints(activations, request.collect);
      seen.push({ step, names, activations });
    },
    ...more,
  };
  return { hook, seen };
}
