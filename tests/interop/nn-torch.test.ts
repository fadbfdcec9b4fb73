// The same weights in PyTorch and here: outputs, gradients and buffers agree, and names load with strict=True.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { jit, valueAndGrad } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { sizeOf, type HostArray } from "../../src/core/arrays.ts";
import type { HostTensors, Loss, Model, Tensor, Tensors } from "../../src/core/model.ts";
import * as nn from "../../src/nn/index.ts";
import { gradWithAux } from "../../src/trainer/programs/grad-with-aux.ts";
import { context, floats, ints, maxError, noise, put, putAll, read, startWasm } from "../support/gradcheck.ts";

const python = "/usr/bin/python3";
const env = { ...process.env, OMP_NUM_THREADS: "1" };
const present = spawnSync(python, ["-c", "import torch"], { env }).status === 0;
if (!present) console.warn("PyTorch parity is skipped: apt-get install python3-torch");

interface Result {
  readonly outputs: number[];
  readonly grads: Record<string, number[]>;
  readonly buffers: Record<string, number[]>;
}

interface LayerCase {
  readonly model: Model<Tensor>;
  /** The same module in PyTorch, and how it is called when not `m(x)`. */
  readonly torch: string;
  readonly call?: string;
  readonly input: HostArray;
  readonly train?: boolean;
}

const image = noise([2, 3, 8, 7], 5);
const rows = noise([4, 6], 6);
const tokens = noise([2, 5, 8], 7);
const masked = "m(x, x, x, need_weights=False, attn_mask=torch.triu(torch.ones(5, 5), 1).bool())[0]";

const layers: Record<string, LayerCase> = {
  linear: { model: nn.linear(6, 3), torch: "nn.Linear(6, 3)", input: rows },
  "linear without bias": { model: nn.linear(6, 3, { bias: false }), torch: "nn.Linear(6, 3, bias=False)", input: rows },
  conv2d: {
    model: nn.conv2d(3, 4, { kernel: [3, 2], stride: [2, 1], padding: [1, 0] }),
    torch: "nn.Conv2d(3, 4, (3, 2), (2, 1), (1, 0))",
    input: image,
  },
  "conv2d without bias": {
    model: nn.conv2d(3, 2, { kernel: 3, bias: false }),
    torch: "nn.Conv2d(3, 2, 3, bias=False)",
    input: image,
  },
  maxPool2d: { model: nn.maxPool2d(3, { stride: 2, padding: 1 }), torch: "nn.MaxPool2d(3, 2, 1)", input: image },
  // All equal: PyTorch sends the gradient to the first of a window.
  "maxPool2d with ties": {
    model: nn.maxPool2d(2),
    torch: "nn.MaxPool2d(2)",
    input: { data: new Float32Array(16), shape: [1, 1, 4, 4] },
  },
  avgPool2d: { model: nn.avgPool2d(3, { stride: 2, padding: 1 }), torch: "nn.AvgPool2d(3, 2, 1)", input: image },
  embedding: { model: nn.embedding(9, 4), torch: "nn.Embedding(9, 4)", input: ints([1, 8, 1, 0, 3, 1], [2, 3]) },
  layerNorm: { model: nn.layerNorm(8), torch: "nn.LayerNorm(8)", input: tokens },
  "batchNorm in training, [batch, channels]": {
    model: nn.batchNorm(6, { momentum: 0.3, eps: 1e-3 }),
    torch: "nn.BatchNorm1d(6, momentum=0.3, eps=1e-3)",
    input: rows,
    train: true,
  },
  "batchNorm in training, images": { model: nn.batchNorm(3), torch: "nn.BatchNorm2d(3)", input: image, train: true },
  "batchNorm in evaluation": { model: nn.batchNorm(3), torch: "nn.BatchNorm2d(3)", input: image },
  multiHeadAttention: {
    model: nn.multiHeadAttention(8, 2),
    torch: "nn.MultiheadAttention(8, 2, batch_first=True)",
    call: "m(x, x, x, need_weights=False)[0]",
    input: tokens,
    train: true,
  },
  "causal multiHeadAttention without bias": {
    model: nn.multiHeadAttention(8, 2, { causal: true, bias: false }),
    torch: "nn.MultiheadAttention(8, 2, bias=False, batch_first=True)",
    call: masked,
    input: tokens,
    train: true,
  },
  flatten: { model: nn.flatten(), torch: "nn.Flatten()", input: image },
  relu: { model: nn.relu(), torch: "nn.ReLU()", input: floats([-1, 0, 2]) },
  gelu: { model: nn.gelu(), torch: "nn.GELU()", input: rows },
  "gelu tanh": { model: nn.gelu({ approximate: "tanh" }), torch: "nn.GELU('tanh')", input: rows },
  tanh: { model: nn.tanh(), torch: "nn.Tanh()", input: rows },
  sigmoid: { model: nn.sigmoid(), torch: "nn.Sigmoid()", input: rows },
  silu: { model: nn.silu(), torch: "nn.SiLU()", input: rows },
  leakyRelu: { model: nn.leakyRelu({ slope: 0.2 }), torch: "nn.LeakyReLU(0.2)", input: floats([-1, 0, 2]) },
  softmax: { model: nn.softmax({ axis: 0 }), torch: "nn.Softmax(0)", input: rows },
  logSoftmax: { model: nn.logSoftmax(), torch: "nn.LogSoftmax(-1)", input: rows },
  "deferredLinear with crossEntropy, three rows at a time": {
    model: {
      ...nn.deferredLinear(8, 5),
      apply: (params, x, ctx) =>
        nn.crossEntropy({ chunk: 3, labelSmoothing: 0.1 })(
          nn.deferredLinear(8, 5).apply(params, x, ctx) as Tensors,
          put(ints([4, -100, 0, 2, 1, 1, 3, 0, 4, 2], [2, 5])),
          {},
        ),
    },
    torch: "nn.Linear(8, 5)",
    call: "torch.nn.functional.cross_entropy(m(x).flatten(0, 1), torch.tensor([4, -100, 0, 2, 1, 1, 3, 0, 4, 2]), label_smoothing=0.1)",
    input: tokens,
    train: true,
  },
  "a nested sequential": {
    model: nn.sequential(
      nn.conv2d(3, 4, { kernel: 3 }),
      nn.batchNorm(4),
      nn.tanh(),
      nn.sequential({ pool: nn.maxPool2d(2), flat: nn.flatten(), fc: nn.linear(24, 5) }),
    ),
    torch:
      "nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.Sequential(__import__('collections').OrderedDict(pool=nn.MaxPool2d(2), flat=nn.Flatten(), fc=nn.Linear(24, 5))))",
    input: image,
    train: true,
  },
};

const logits = noise([4, 5], 8);
const labels = ints([4, -100, 0, 2]);
const targets = noise([4, 5], 9);
const shares = { ...targets, data: targets.data.map((v) => (v + 1) / 2) };

/** Weights of the four rows. */
const weight = floats([0.5, 2, 0, 1]);
const yesNo = { ...targets, data: targets.data.map((v) => Number(v > 0)) };
/** The focal loss as its authors define it. */
const focal = (targets: string, alpha: string) =>
  `(lambda p, t: (${alpha} * (1 - t * p - (1 - t) * (1 - p)) ** 1.5 * F.binary_cross_entropy(p, t, reduction='none')).mean())(torch.sigmoid(x), ${targets})`;

interface LossCase {
  readonly loss: Loss;
  readonly torch: string;
  readonly targets: HostArray;
  /** The rows' weights, `w` in PyTorch. */
  readonly weight?: HostArray;
}

const losses: Record<string, LossCase> = {
  "crossEntropy with class weights": {
    loss: nn.crossEntropy({ classWeights: [1, 2, 0.5, 3, 0.1] }),
    torch: "F.cross_entropy(x, y, weight=torch.tensor([1, 2, 0.5, 3, 0.1]))",
    targets: labels,
  },
  "crossEntropy with class weights and smoothing": {
    loss: nn.crossEntropy({ classWeights: [1, 2, 0.5, 3, 0.1], labelSmoothing: 0.3 }),
    torch: "F.cross_entropy(x, y, weight=torch.tensor([1, 2, 0.5, 3, 0.1]), label_smoothing=0.3)",
    targets: labels,
  },
  "crossEntropy with weights of samples": {
    loss: nn.crossEntropy(),
    torch: "(F.cross_entropy(x, y, reduction='none') * w).sum() / (w * (y != -100)).sum()",
    targets: labels,
    weight,
  },
  "crossEntropy with weights of samples and classes": {
    loss: nn.crossEntropy({ classWeights: [1, 2, 0.5, 3, 0.1] }),
    torch:
      "(lambda c: (F.cross_entropy(x, y, weight=c, reduction='none') * w).sum() / (w * c[y.clamp(min=0)] * (y >= 0)).sum())(torch.tensor([1, 2, 0.5, 3, 0.1]))",
    targets: labels,
    weight,
  },
  focal: {
    loss: nn.focal({ gamma: 1.5 }),
    torch: "(lambda e: ((1 - torch.exp(-e)) ** 1.5 * e).sum() / 3)(F.cross_entropy(x, y, reduction='none')[[0, 2, 3]])",
    targets: labels,
  },
  "focal with gamma 0 and class weights": {
    loss: nn.focal({ gamma: 0, classWeights: [1, 2, 0.5, 3, 0.1] }),
    torch: "F.cross_entropy(x, y, weight=torch.tensor([1, 2, 0.5, 3, 0.1]))",
    targets: labels,
  },
  binaryFocal: { loss: nn.binaryFocal({ gamma: 1.5 }), torch: focal("y", "1"), targets: yesNo },
  "binaryFocal with alpha": {
    loss: nn.binaryFocal({ gamma: 1.5, alpha: 0.3 }),
    torch: focal("y", "(0.3 * y + 0.7 * (1 - y))"),
    targets: yesNo,
  },
  "mse with weights of samples": {
    loss: nn.mse(),
    torch: "(((x - y) ** 2).mean(1) * w).sum() / w.sum()",
    targets,
    weight,
  },
  "bceWithLogits with weights and smoothing": {
    loss: nn.bceWithLogits({ labelSmoothing: 0.2 }),
    torch: "(F.binary_cross_entropy_with_logits(x, y * 0.8 + 0.1, reduction='none').mean(1) * w).sum() / w.sum()",
    targets: yesNo,
    weight,
  },
  crossEntropy: { loss: nn.crossEntropy(), torch: "F.cross_entropy(x, y)", targets: labels },
  "crossEntropy with options": {
    loss: nn.crossEntropy({ labelSmoothing: 0.2, ignoreIndex: 2 }),
    torch: "F.cross_entropy(x, y, label_smoothing=0.2, ignore_index=2)",
    targets: ints([4, 2, 0, 2]),
  },
  mse: { loss: nn.mse(), torch: "F.mse_loss(x, y)", targets },
  l1: { loss: nn.l1(), torch: "F.l1_loss(x, y)", targets },
  "l1 at exact hits": { loss: nn.l1(), torch: "F.l1_loss(x, y)", targets: logits },
  huber: { loss: nn.huber({ delta: 0.4 }), torch: "F.huber_loss(x, y, delta=0.4)", targets },
  bceWithLogits: { loss: nn.bceWithLogits(), torch: "F.binary_cross_entropy_with_logits(x, y)", targets: shares },
  "bceWithLogits with posWeight": {
    loss: nn.bceWithLogits({ posWeight: [1, 2, 3, 0.5, 4] }),
    torch: "F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor([1, 2, 3, 0.5, 4]))",
    targets: shares,
  },
};

/** Our own initial values, with noise where they are all alike, as in norms. */
function weightsOf(init: HostTensors): HostTensors {
  return Object.fromEntries(
    Object.entries(init).map(([name, value], i) => {
      const plain = value.data.every((v) => v === value.data[0]) && value.data instanceof Float32Array;
      const { data } = noise(value.shape, 40 + i);
      return [name, plain ? { ...value, data: data.map((v) => 1 + v / 2) } : value];
    }),
  );
}

const json = (host: HostArray) => ({
  data: [...host.data],
  shape: host.shape,
  whole: !(host.data instanceof Float32Array),
});
const jsonAll = (hosts: HostTensors) => Object.fromEntries(Object.entries(hosts).map(([k, v]) => [k, json(v)]));

function ours({ model, input, train = false }: LayerCase, params: HostTensors, state: HostTensors) {
  const floatInput: Tensors = input.data instanceof Float32Array ? { "the input": put(input) } : {};
  const program = jit((given: Tensors, weights: Tensors) => {
    const objective = ({ "the input": x, ...rest }: Tensors): [Tensor, Tensors] => {
      const result = model.apply(rest, x ?? put(input), context(train, putAll(state)));
      const [y, next] = (Array.isArray(result) ? result : [result, {}]) as [Tensor, Tensors];
      return [y.ref.mul(weights.all!.slice([0, y.size]).reshape(y.shape)).sum(), { y, ...next }];
    };
    return gradWithAux(objective, given, weights.all!) as never;
  }) as unknown as (given: Tensors, weights: Tensors) => { aux: Tensors; grads: Tensors };
  const all = { all: put(noise([4096], 3)) };
  const { aux, grads } = program({ ...putAll(params), ...floatInput }, all);
  const { y, ...next } = aux;
  const shape = [...y!.shape];
  return { outputs: read(y!), shape, grads: readAll(grads), buffers: readAll(next) };
}

const readAll = (tensors: Tensors) => Object.fromEntries(Object.entries(tensors).map(([k, v]) => [k, read(v)]));

/** The largest difference by what differs: the outputs, or one gradient or buffer. */
function differences({ outputs, grads, buffers }: Result, expected: Result): Record<string, number> {
  const largest = { outputs: maxError(outputs, expected.outputs) };
  const named = (mine: Record<string, number[]>, theirs: Record<string, number[]>) =>
    Object.fromEntries(Object.entries(theirs).map(([name, values]) => [name, maxError(mine[name] ?? [], values)]));
  return { ...largest, ...named(grads, expected.grads), ...named(buffers, expected.buffers) };
}

describe.skipIf(!present)("the same as in PyTorch", () => {
  const results = new Map<string, { actual: Result; expected: Result }>();

  beforeAll(async () => {
    await startWasm();
    const actual: Result[] = [];
    const cases: object[] = [];
    for (const each of Object.values(layers)) {
      const [params, state] = [weightsOf(each.model.init(nn.initKey(0))), weightsOf(each.model.initState?.() ?? {})];
      const { shape, ...result } = ours(each, params, state);
      actual.push(result);
      const weights = json({ data: noise([4096], 3).data.slice(0, sizeOf(shape)), shape });
      const { torch, call = "m(x)", train = false } = each;
      cases.push({ torch, call, train, weights, params: jsonAll({ ...params, ...state }), input: json(each.input) });
    }
    for (const { loss, torch, targets, weight } of Object.values(losses)) {
      const program = jit(valueAndGrad((x: Tensor, y: Tensor) => loss(x, y, weight ? { weight: put(weight) } : {})));
      const [value, grad] = program(put(logits), put(targets));
      actual.push({ outputs: read(value), grads: { "the input": read(grad) }, buffers: {} });
      cases.push({ torch, input: json(logits), targets: json(targets), ...(weight && { weight: json(weight) }) });
    }
    const script = fileURLToPath(new URL("./nn-torch.py", import.meta.url));
    const done = spawnSync(python, [script], {
      env,
      input: JSON.stringify(cases),
      encoding: "utf8",
      maxBuffer: 2 ** 26,
    });
    if (done.status !== 0) throw new Error(done.stderr);
    const expected = JSON.parse(done.stdout) as Result[];
    for (const [i, name] of [...Object.keys(layers), ...Object.keys(losses)].entries())
      results.set(name, { actual: actual[i]!, expected: expected[i]! });
  });

  it.each([...Object.keys(layers), ...Object.keys(losses)])("%s", (name) => {
    const { actual, expected } = results.get(name)!;
    const wrong = Object.entries(differences(actual, expected)).filter(([, error]) => error > 1e-4);
    expect(wrong).toEqual([]);
  });
});
