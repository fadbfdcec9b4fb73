// The models that the GPU is measured with: as hookline trains them, and as one program without a trainer.
// gpu-peers.py has the same ones, with the same sizes, for JAX and PyTorch.
import { numpy as np, nn, valueAndGrad } from "hookline/jax";
import type { Model, Tensor, Tensors, TrainerOptions } from "hookline";
import type { Loader } from "../../src/core/model.ts";
import { DataLoader } from "hookline/data";
import { crossEntropy, deferredLogits, linear, relu, sequential } from "hookline/nn";
import { adamw, sgd, type Optimizer } from "hookline/optim";

export interface GptSize {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly vocabulary: number;
  readonly sequences: number;
  readonly tokens: number;
}

const GPT: GptSize = { layers: 4, width: 768, heads: 12, vocabulary: 32_768, sequences: 16, tokens: 512 };
/** As in nanoGPT. */
export const GPT2: GptSize = { layers: 12, width: 768, heads: 12, vocabulary: 50_304, sequences: 12, tokens: 1024 };

const normalized = (x: Tensor, gain: Tensor): Tensor => {
  const centered = x.ref.sub(np.mean(x, -1, { keepdims: true }));
  const variance = np.mean(np.square(centered.ref), -1, { keepdims: true });
  return centered.div(np.sqrt(variance.add(1e-5))).mul(gain);
};

/** Learned positions, no biases, and the embedding is the last layer too. `deferred`: the loss computes the logits, in parts. */
export function gptModel({ layers, width, heads, vocabulary, tokens }: GptSize, deferred = false): Model<Tensor> {
  const size = width / heads;
  const attention = (x: Tensor, qkv: Tensor, project: Tensor, batch: number): Tensor => {
    const [q, k, v] = np
      .split(np.matmul(x, qkv), 3, 2)
      .map((part) => part.reshape([batch, tokens, heads, size]).transpose([0, 2, 1, 3])) as [Tensor, Tensor, Tensor];
    const scores = np.matmul(q.mul(1 / Math.sqrt(size)), k.transpose([0, 1, 3, 2]));
    const position = np.arange(tokens);
    const visible = position.ref.reshape([tokens, 1]).greaterEqual(position.reshape([1, tokens]));
    const weights = nn.softmax(np.where(visible, scores, -1e30), -1);
    const mixed = np.matmul(weights, v).transpose([0, 2, 1, 3]).reshape([batch, tokens, width]);
    return np.matmul(mixed, project);
  };
  return {
    init(key) {
      const noise = (name: string, shape: number[]) => key.fold(name).normal(shape, 0, 0.02);
      const ones = () => ({ data: new Float32Array(width).fill(1), shape: [width] });
      const blocks = Array.from({ length: layers }, (_, i) => [
        [`${i}.norm1`, ones()],
        [`${i}.qkv`, noise(`${i}.qkv`, [width, 3 * width])],
        [`${i}.project`, noise(`${i}.project`, [width, width])],
        [`${i}.norm2`, ones()],
        [`${i}.up`, noise(`${i}.up`, [width, 4 * width])],
        [`${i}.down`, noise(`${i}.down`, [4 * width, width])],
      ]).flat();
      return Object.fromEntries([
        ["embedding", noise("embedding", [vocabulary, width])],
        ["positions", noise("positions", [tokens, width])],
        ["norm", ones()],
        ...blocks,
      ]);
    },
    apply(params, ids) {
      const [batch] = ids.shape as [number, number];
      const p = (name: string): Tensor => params[name]!;
      let x = np
        .take(p("embedding").ref, ids.reshape([batch * tokens]), 0)
        .reshape([batch, tokens, width])
        .add(p("positions"));
      for (let i = 0; i < layers; i++) {
        x = x.ref.add(attention(normalized(x, p(`${i}.norm1`)), p(`${i}.qkv`), p(`${i}.project`), batch));
        const up = np.matmul(normalized(x.ref, p(`${i}.norm2`)), p(`${i}.up`));
        x = x.add(np.matmul(nn.gelu(up), p(`${i}.down`)));
      }
      const hidden = normalized(x, p("norm"));
      return deferred ? deferredLogits(hidden, p("embedding")) : np.matmul(hidden, p("embedding").transpose());
    },
  };
}

export type Setup = Pick<TrainerOptions, "model" | "loss" | "optimizer"> & { readonly train: Loader };

/** Of an epoch, whose end waits for the GPU to know the mean loss. */
const BATCHES = 256;

const ids = (below: number, ...shape: number[]) => ({
  data: Int32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => ((i * 2_654_435_761) >>> 7) % below),
  shape,
});

function gptSetup(size: GptSize, deferred = false): Setup {
  const x = ids(size.vocabulary, BATCHES * size.sequences, size.tokens);
  return {
    model: gptModel(size, deferred),
    loss: crossEntropy(),
    optimizer: adamw({ lr: 1e-4 }),
    train: new DataLoader({ x, y: x }, { batchSize: size.sequences }),
  };
}

function mlpSetup(): Setup {
  const waves = (...shape: number[]) => ({
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.7)),
    shape,
  });
  return {
    model: sequential(linear(784, 256), relu(), linear(256, 256), relu(), linear(256, 10)),
    loss: crossEntropy(),
    optimizer: sgd({ lr: 0.01 }),
    train: new DataLoader({ x: waves(64 * 128, 784), y: ids(10, 64 * 128) }, { batchSize: 128 }),
  };
}

export const GPU_MODELS = {
  gpt: { precision: "bf16", setup: () => gptSetup(GPT) },
  "gpt-deferred": { precision: "bf16", setup: () => gptSetup(GPT, true) },
  mlp: { precision: "float32", setup: mlpSetup },
  gpt2: { precision: "bf16", setup: () => gptSetup(GPT2) },
} as const;

export type GpuModel = keyof typeof GPU_MODELS;

/** Floating-point operations a token of a GPT takes in training: six for each weight in a product, and attention. */
export const operationsPerToken = ({ layers, width, vocabulary, tokens }: GptSize): number =>
  6 * (12 * layers * width ** 2 + vocabulary * width) + 12 * layers * width * tokens;

type State = readonly [params: Tensors, slots: Record<string, Tensors>];

/** The whole training step as one function, written by hand: what a trainer may cost is measured against it. */
export function bareStep({ model, loss, optimizer }: Setup) {
  const rule = optimizer as Optimizer;
  return (params: Tensors, slots: Record<string, Tensors>, x: Tensor, y: Tensor, hyper: Tensors): [State, Tensor] => {
    const context = { train: true, state: {}, key: undefined, loader: "train" } as never;
    const objective = (p: Tensors): Tensor =>
      (loss as (out: Tensor, y: Tensor, ctx: object) => Tensor)(
        (model as Model<Tensor>).apply(p, x.ref, context) as Tensor,
        y.ref,
        {},
      );
    const kept = Object.fromEntries(Object.entries(params).map(([name, p]) => [name, p.ref]));
    const [value, grads] = valueAndGrad(objective)(kept) as unknown as [Tensor, Tensors];
    const next: Tensors = {};
    const nextSlots: Record<string, Tensors> = {};
    for (const name of Object.keys(params)) {
      const h = Object.fromEntries(Object.entries(hyper).map(([key, number]) => [key, number.ref]));
      [next[name], nextSlots[name]] = rule.leaf(params[name]!, grads[name]!, slots[name]!, h);
    }
    return [[next, nextSlots], value];
  };
}
