// The pure functions of a stack's passes: the embedding, one layer, the head, and the same backwards. A layer's inner
// activations are computed again on the way back.
import { numpy as np, vjp } from "@jax-js/jax";
import type { ApplyContext, Outputs, StackLayer, Tensor, TensorBatch, Tensors } from "../../core/model.ts";
import { shownOutputs, type StackPasses } from "../problem.ts";
import { gradWithAux } from "../programs/grad-with-aux.ts";
import { context, count, held, type ProgramSpec, report } from "../programs/programs.ts";

export interface StackSpec extends ProgramSpec {
  readonly stack: StackPasses;
}

/** The hidden states among the arrays of which a derivative is taken: no parameter has this name. */
const HIDDEN = "";

/** Apart from the step of `keyStream`, which moves both words of a key. */
const STRIDE = 0x85ebca6b;

/** What is added to a pass's key for its part at this place: 0 for the embedding, and one after the last layer for the head. */
export const keyOffset = (place: number): Uint32Array<ArrayBuffer> => Uint32Array.of(Math.imul(place, STRIDE) >>> 0, 0);

const noState: Tensors = {};
const headKey = ({ stack }: StackSpec, key: Tensor): Tensor =>
  key.ref.add(np.array(keyOffset(stack.layers.length + 1), { dtype: np.uint32 }));

/** Traces a part of the pass, with its indices watched. */
const watched = <T>(spec: StackSpec, batch: TensorBatch, body: () => T): T => spec.indices.watch("loss", batch, body);

/** The hidden states before the first layer. */
export const embedding =
  (spec: StackSpec, train: boolean) =>
  (trained: Tensors, fixed: Tensors, batch: TensorBatch, key: Tensor): Tensor =>
    embed(spec, context(spec, train, noState, key), trained, fixed, batch);

const embed = (spec: StackSpec, ctx: ApplyContext, trained: Tensors, fixed: Tensors, batch: TensorBatch): Tensor =>
  watched(spec, batch, () => spec.stack.embed({ ...held(fixed), ...held(trained) }, batch, ctx));

/** The hidden states behind a layer of this kind. */
export const layerForward =
  (spec: StackSpec, layer: StackLayer, train: boolean) =>
  (trained: Tensors, fixed: Tensors, hidden: Tensor, batch: TensorBatch, key: Tensor, offset: Tensor): Tensor => {
    const ctx = context(spec, train, noState, key.ref.add(offset));
    return watched(spec, batch, () =>
      spec.stack.layer(layer, { ...held(fixed), ...held(trained) }, hidden.ref, batch, ctx),
    );
  };

/** The gradients of a layer's parameters, and of the hidden states before it if something below is trained. */
export const layerBackward =
  (spec: StackSpec, layer: StackLayer, below: boolean) =>
  (
    trained: Tensors,
    fixed: Tensors,
    hidden: Tensor,
    cotangent: Tensor,
    batch: TensorBatch,
    key: Tensor,
    offset: Tensor,
  ): { readonly grads: Tensors; readonly hidden?: Tensor } => {
    const forward = layerForward(spec, layer, true);
    const at = below ? { ...trained, [HIDDEN]: hidden } : trained;
    const grads = pullBack(
      ({ [HIDDEN]: before = hidden, ...params }) => forward(params, fixed, before, batch, key, offset),
      at,
      cotangent,
    );
    return apart(grads);
  };

/** The gradients of the embedding's parameters; those that the head has too are added up. */
export const embeddingBackward =
  (spec: StackSpec) =>
  (trained: Tensors, fixed: Tensors, cotangent: Tensor, ofHead: Tensors, batch: TensorBatch, key: Tensor): Tensors => {
    const ctx = (): ApplyContext => context(spec, true, noState, key);
    const grads = pullBack((params) => embed(spec, ctx(), params, fixed, batch), trained, cotangent);
    return Object.fromEntries(
      Object.entries(grads).map(([name, grad]) => [name, ofHead[name] ? grad.add(ofHead[name]) : grad]),
    );
  };

/** The loss of a training pass, with the gradients of the head's parameters and, if something below is trained, of the hidden states. */
export const headLossGrads =
  (spec: StackSpec, below: boolean) =>
  (
    trained: Tensors,
    fixed: Tensors,
    hidden: Tensor,
    sums: Tensor,
    batch: TensorBatch,
    control: Tensor,
    key: Tensor,
  ) => {
    const objective = ({ [HIDDEN]: before = hidden, ...params }: Tensors) => {
      const forward = head(spec, true, params, fixed, before, batch, key);
      return [forward.loss.ref.mul(spec.control.get(control, "scale")), forward] as const;
    };
    const at = below ? { ...trained, [HIDDEN]: hidden } : trained;
    const { aux, grads } = gradWithAux(objective, at, control);
    const weight = spec.control.get(control, "weight");
    return {
      ...apart(grads),
      ...count(spec, spec.sums.train, sums, aux, weight, batch),
      outputs: shown(spec, aux.outputs),
      report: report(aux.loss),
    };
  };

/** The loss and the outputs alone, for hooks that decide before the backward pass. */
export const headForward = (spec: StackSpec) => (params: Tensors, hidden: Tensor, batch: TensorBatch, key: Tensor) => {
  const { loss, outputs } = head(spec, true, params, {}, hidden, batch, key);
  return { report: report(loss), outputs: shown(spec, outputs), activations: {} };
};

/** What an evaluation wants of a batch. */
export const headEval =
  (spec: StackSpec) =>
  (params: Tensors, hidden: Tensor, sums: Tensor, batch: TensorBatch, weight: Tensor, key: Tensor) => {
    const forward = head(spec, false, params, {}, hidden, batch, key);
    return {
      ...count(spec, spec.sums.eval, sums, forward, weight, batch),
      rows: spec.indices.watch("metric", batch, () => spec.rows.ofBatch(forward.outputs, batch)),
      outputs: shown(spec, forward.outputs),
      activations: {},
    };
  };

/** The outputs alone. */
export const headPredict =
  (spec: StackSpec) =>
  (params: Tensors, hidden: Tensor, key: Tensor): { readonly outputs: Outputs; readonly activations: object } => {
    const ctx = context(spec, false, noState, headKey(spec, key));
    return { outputs: spec.stack.predict(held(params), hidden.ref, ctx), activations: {} };
  };

/** The loss and another report's first number in one vector, as the report of a whole step is. */
export const joinReports = (loss: Tensor, other: Tensor): Tensor => np.stack([loss, other.reshape([-1]).slice(0)]);

function head(
  spec: StackSpec,
  train: boolean,
  trained: Tensors,
  fixed: Tensors,
  hidden: Tensor,
  batch: TensorBatch,
  key: Tensor,
): { readonly loss: Tensor; readonly outputs: Outputs } {
  const ctx = context(spec, train, noState, headKey(spec, key));
  const params = { ...held(fixed), ...held(trained) };
  return watched(spec, batch, () => spec.stack.head(params, hidden.ref, batch, ctx, spec.loss));
}

const shown = ({ wantOutputs }: StackSpec, outputs: Outputs): Outputs => (wantOutputs ? shownOutputs(outputs) : {});

function apart({ [HIDDEN]: hidden, ...grads }: Tensors): { readonly grads: Tensors; readonly hidden?: Tensor } {
  return { grads, ...(hidden && { hidden }) };
}

type Pull = (
  fn: (at: Tensors) => Tensor,
  primals: readonly [Tensors],
) => readonly [Tensor, (cotangent: Tensor) => readonly [Tensors]];

/** The gradients of `fn` for a cotangent of its result. */
function pullBack(fn: (at: Tensors) => Tensor, at: Tensors, cotangent: Tensor): Tensors {
  const [result, back] = (vjp as unknown as Pull)(fn, [at]);
  result.dispose();
  return back(cotangent)[0];
}
