// The training step that someone writes without a trainer: valueAndGrad and the update under one jit, with the loss read
// after each step. On wasm with jax-js itself; on native the same function through the engine.
import { type Array as JaxArray, jit, nn, numpy as np, valueAndGrad } from "@jax-js/jax";
import type { HostArray } from "../../src/core/arrays.ts";
import type { Buffer, Engine, Tree } from "../../src/engines/engine.ts";
import type { Setup } from "./models.ts";

type Tensors = Readonly<Record<string, JaxArray>>;
/** Parameters and what the optimizer keeps, by name; then the batch, and the numbers that change from step to step. */
type StepFn = (state: Tensors, x: JaxArray, y: JaxArray, scalars: Tensors) => { loss: JaxArray; state: Tensors };
type LossFn = (params: Tensors, x: JaxArray, y: JaxArray) => JaxArray;

/** A model with its step, and the numbers of step `t`. */
export interface HandWritten {
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  readonly step: StepFn;
  scalars(t: number): Readonly<Record<string, number>>;
}

const gradOf = (loss: LossFn, params: Tensors, x: JaxArray, y: JaxArray): [JaxArray, Tensors] =>
  (valueAndGrad(loss as never) as (...args: unknown[]) => unknown)(params, x, y) as [JaxArray, Tensors];

const held = (tensors: Tensors): Tensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, tensor.ref]));

/** `oneLayer` of models.ts: a linear layer, mean squared error and SGD. */
export const linearSgd: HandWritten = {
  shapes: { weight: [1, 3], bias: [1] },
  scalars: () => ({}),
  step(params, x, y) {
    const mse: LossFn = ({ weight, bias }, x, y) =>
      np.square(np.matmul(x, weight!.transpose()).add(bias!).sub(y)).mean();
    const [loss, grads] = gradOf(mse, held(params), x, y);
    const update = ([name, p]: [string, JaxArray]) => [name, p.sub(grads[name]!.mul(0.01))];
    return { loss, state: Object.fromEntries(Object.entries(params).map(update)) as Tensors };
  },
};

const MLP_SHAPES = { w1: [256, 784], b1: [256], w2: [10, 256], b2: [10] } as const;
const MLP_NAMES = Object.keys(MLP_SHAPES);

/** `mlp` of models.ts: two linear layers, cross entropy and AdamW. */
export const mlpAdamw: HandWritten = {
  shapes: Object.fromEntries(
    ["", "m/", "v/"].flatMap((slot) => Object.entries(MLP_SHAPES).map(([name, shape]) => [slot + name, shape])),
  ),
  scalars: (t) => ({ c1: 1 / (1 - 0.9 ** t), c2: 1 / (1 - 0.999 ** t) }),
  step(state, x, y, { c1, c2 }) {
    const crossEntropy: LossFn = ({ w1, b1, w2, b2 }, x, y) => {
      const hidden = nn.relu(np.matmul(x, w1!.transpose()).add(b1!));
      const logits = np.matmul(hidden, w2!.transpose()).add(b2!);
      return nn.logSoftmax(logits).mul(nn.oneHot(y, 10)).sum(-1).mean().neg();
    };
    const params = Object.fromEntries(MLP_NAMES.map((name) => [name, state[name]!.ref]));
    const [loss, grads] = gradOf(crossEntropy, params, x, y);
    const next: Record<string, JaxArray> = {};
    for (const name of MLP_NAMES) {
      const [p, g] = [state[name]!, grads[name]!];
      const m = state[`m/${name}`]!.mul(0.9).add(g.ref.mul(0.1));
      const v = state[`v/${name}`]!.mul(0.999).add(np.square(g).mul(0.001));
      const step = m.ref.mul(c1!.ref).div(np.sqrt(v.ref.mul(c2!.ref)).add(1e-8));
      next[name] = p.mul(1 - 1e-3 * 0.01).sub(step.mul(1e-3));
      Object.assign(next, { [`m/${name}`]: m, [`v/${name}`]: v });
    }
    return { loss, state: next };
  },
};

type Start = (made: HandWritten) => Run;
/** One step on a batch. */
type Run = (x: HostArray, y: HostArray) => void;

const scalar = (value: number): HostArray => ({ data: Float32Array.of(value), shape: [] });

const mapped = <T, U>(values: Readonly<Record<string, T>>, fn: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fn(value)]));

const zeros = (shape: readonly number[]): HostArray => {
  return { data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape: [...shape] };
};

/** With jax-js itself. */
export const onJax: Start = ({ shapes, step, scalars }) => {
  const put = ({ data, shape }: HostArray) => np.array(data as Float32Array<ArrayBuffer>, { shape: [...shape] });
  const program = jit(step as never) as unknown as StepFn;
  let state: Tensors = mapped(shapes, (shape) => put(zeros(shape)));
  let t = 0;
  return (x, y) => {
    const out = program(
      state,
      put(x),
      put(y),
      mapped(scalars(++t), (value) => put(scalar(value))),
    );
    state = out.state;
    out.loss.dataSync();
  };
};

/** Through an engine that reads synchronously. */
export const onEngine =
  (engine: Engine): Start =>
  ({ shapes, step, scalars }) => {
    const program = engine.jit(step as never, { donate: [0, 1, 2, 3] }) as unknown as (...args: Tree<Buffer>[]) => {
      readonly loss: Buffer;
      readonly state: Readonly<Record<string, Buffer>>;
    };
    let state: Tree<Buffer> = mapped(shapes, (shape) => engine.put(zeros(shape)));
    let t = 0;
    return (x, y) => {
      const numbers = mapped(scalars(++t), (value) => engine.put(scalar(value)));
      const out = program(state, engine.put(x), engine.put(y), numbers);
      state = out.state;
      void engine.read(out.loss);
      engine.free(out.loss);
    };
  };

/** Steps on the batches of a loader, epoch after epoch. */
export function overBatches(loader: Setup["train"], run: Run): () => void {
  let epoch = 0;
  loader.begin(epoch, 0);
  return () => {
    let batch = loader.next();
    if (batch === undefined) {
      loader.begin(++epoch, 0);
      batch = loader.next();
    }
    const { x, y } = batch as { x: HostArray; y: HostArray };
    run(x, y);
  };
}
