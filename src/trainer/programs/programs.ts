// The pure functions that the trainer gives to an engine: the fused step, and the same step in pieces.
import { numpy as np } from "@jax-js/jax";
import type { UpdateFn, Optimizer } from "../../core/optimizer.ts";
import { ProgramError } from "../../core/errors.ts";
import {
  type ApplyContext,
  type Loss,
  type Outputs,
  type Tensor,
  type TensorBatch,
  type Tensors,
  isTensor,
} from "../../core/model.ts";
import type { Probe } from "../../core/inspection.ts";
import { visitIndices, type PlacedRange } from "../../nn/indices.ts";
import { keyStream } from "../../nn/key.ts";
import { shownOutputs, type Problem, type StackPasses } from "../problem.ts";
import type { ControlLayout, IndexRules } from "./run.ts";
import { gradWithAux } from "./grad-with-aux.ts";
import { PointCollector, pointNames, type ProbeGroups } from "./probes.ts";
import type { RowsLayout } from "../metrics/rows-layout.ts";
import type { SumsLayout, SumsLayouts } from "./sums.ts";

/** One optimizer's share of an update: its rule and the parameters of each of its groups. */
export interface UpdateRule {
  readonly optimizer: Optimizer;
  /** Prefix of this optimizer's scalars in the control vector. */
  readonly prefix: string;
  readonly groups: readonly { readonly prefix: string; readonly params: readonly string[] }[];
}

/** Everything a program is made of. Programs with equal specs are compiled once. */
export interface ProgramSpec {
  readonly problem: Problem;
  /** What its programs expect of labels and ids in the batch. */
  readonly indices: IndexRules;
  readonly loss: Loss | undefined;
  readonly loader: string;
  /** Of all that the model's apply takes: its parameters, then its frozen base. */
  readonly names: readonly string[];
  readonly sums: SumsLayouts;
  /** What evaluations keep of every row. */
  readonly rows: RowsLayout;
  readonly control: ControlLayout;
  readonly rules: readonly UpdateRule[];
  readonly update: UpdateFn | null;
  readonly clipNorm: boolean;
  readonly clipValue: boolean;
  readonly wantOutputs: boolean;
  readonly wantNorm: boolean;
  /** Does a program return the batch's own sums beside the running ones? */
  readonly wantBatchSums: boolean;
  /** Who looks at points inside the model, and who replaces some (in evaluation and predict). */
  readonly probes: readonly Probe[];
  readonly replacements: readonly Probe[];
  /** Set where the passes run layer by layer, in place of one program each. */
  readonly stack: StackPasses | undefined;
}

/** A slot's tensor among the optimizer state: `exp_avg/0.weight`. */
export const slotName = (slot: string, param: string): string => `${slot}/${param}`;
export const paramOfSlot = (name: string): string => name.slice(name.indexOf("/") + 1);
/** A slot of an own optimizer step, which must not be taken for one of an optimizer. */
export const ownSlot = (slot: string): string => `own:${slot}`;
export const isOwnSlot = (name: string): boolean => name.startsWith(ownSlot(""));

/** Parameters in canonical order, whatever they were split into. */
const inOrder = (names: readonly string[], ...parts: Tensors[]): Tensors => {
  const all: Tensors = Object.assign({}, ...parts);
  return Object.fromEntries(names.map((name) => [name, all[name]!.ref]));
};

export const held = (tensors: Tensors): Tensors => inOrder(Object.keys(tensors), tensors);

export const context = (spec: ProgramSpec, train: boolean, state: Tensors, key: Tensor): ApplyContext => ({
  train,
  key: keyStream(key),
  state,
  loader: spec.loader,
});

const forwardPass = (spec: ProgramSpec, params: Tensors, batch: TensorBatch, ctx: ApplyContext) =>
  spec.indices.watch("loss", batch, () => spec.problem.forward(params, batch, ctx, spec.loss));

const predictPass = (spec: ProgramSpec, params: Tensors, batch: TensorBatch, ctx: ApplyContext): Outputs =>
  spec.indices.watch("loss", batch, () => spec.problem.predict(params, batch, ctx));

interface LossAndGrads extends Counted {
  readonly grads: Tensors;
  readonly state: Tensors;
  readonly loss: Tensor;
  readonly outputs: Outputs;
  readonly activations: ProbeGroups;
}

/** The running sums, and the batch's own when someone reads them; neither if an empty map was given in place of sums. */
interface Counted {
  readonly sums?: Tensor;
  readonly batchSums?: Tensor;
}

/** What leaves the differentiated function besides its value. */
type Aux = { loss: Tensor; outputs: Outputs; state: Tensors; points: Tensors };

function lossAndGrads(
  spec: ProgramSpec,
  train: Tensors,
  frozen: Tensors,
  state: Tensors,
  sums: Tensor | Readonly<Record<string, never>>,
  batch: TensorBatch,
  control: Tensor,
  key: Tensor,
): LossAndGrads {
  const collector = new PointCollector(spec);
  const objective = (trained: Tensors): [Tensor, Aux] => {
    const params = inOrder(spec.names, trained, frozen);
    const ctx = context(spec, true, state, key);
    const forward = collector.forward(() => forwardPass(spec, params, batch, ctx));
    return [forward.loss.ref.mul(spec.control.get(control, "scale")), forward];
  };
  const { aux, grads } = gradWithAux(objective, train, control);
  return {
    grads,
    state: aux.state,
    ...(isTensor(sums) && count(spec, spec.sums.train, sums, aux, spec.control.get(control, "weight"), batch)),
    loss: aux.loss,
    outputs: spec.wantOutputs ? shownOutputs(aux.outputs) : {},
    activations: collector.groups(aux.points),
  };
}

/** The running sums with this batch, and the batch's own when someone reads them. */
export function count(
  spec: ProgramSpec,
  layout: SumsLayout,
  sums: Tensor,
  { loss, outputs }: { readonly loss: Tensor; readonly outputs: Outputs },
  weight: Tensor,
  batch: TensorBatch,
): Counted {
  const own = spec.indices.watch("metric", batch, () => layout.ofBatch(loss, weight, outputs, batch));
  return spec.wantBatchSums ? { sums: sums.add(own.ref), batchSums: own } : { sums: sums.add(own) };
}

const limits = (spec: ProgramSpec, control: Tensor): { norm?: Tensor; value?: Tensor } => ({
  ...(spec.clipNorm && { norm: spec.control.get(control, "clipNorm") }),
  ...(spec.clipValue && { value: spec.control.get(control, "clipValue") }),
});

/** What a hook's own update returned, checked and in canonical order. */
function ownUpdate(next: Tensors, params: Tensors): Tensors {
  for (const [name, { shape }] of Object.entries(params)) {
    if (next?.[name]?.shape.join() === shape.join()) continue;
    throw new ProgramError(
      `The function given to ctx.setUpdate must return every parameter with its shape; \`${name}\` [${shape.join(", ")}] is missing or different.`,
    );
  }
  return inOrder(Object.keys(params), next);
}

/** A hook's own update, with the state that it keeps. */
function ownStep(
  update: UpdateFn,
  params: Tensors,
  grads: Tensors,
  opt: Tensors,
  lr: Tensor,
): { params: Tensors; opt: Tensors } {
  const { slots = [] } = update;
  const names = Object.keys(params);
  const shapes = Object.fromEntries(names.map((name) => [name, params[name]!.shape.join()]));
  const stateOf = (slot: string): Tensors =>
    Object.fromEntries(names.map((name) => [name, opt[slotName(ownSlot(slot), name)]!]));
  const result = update(params, grads, { lr, state: Object.fromEntries(slots.map((slot) => [slot, stateOf(slot)])) });
  const [next, kept] = Array.isArray(result) ? result : [result, {}];
  const slotsAfter: Tensors = { ...opt };
  for (const slot of slots) {
    for (const name of names) {
      const tensor = kept[slot]?.[name];
      if (tensor === undefined || tensor.shape.join() !== shapes[name])
        throw new ProgramError(
          `The function given to ctx.setUpdate has slots, so it must return [params, state] with every slot of every parameter; \`${slot}\` of \`${name}\` is missing or of another shape.`,
        );
      slotsAfter[slotName(ownSlot(slot), name)] = tensor;
    }
  }
  return { params: ownUpdate(next, params), opt: inOrder(Object.keys(opt), slotsAfter) };
}

/** New parameters and optimizer state from gradients; consumes all of them. */
export function applyRules(
  spec: ProgramSpec,
  rules: readonly UpdateRule[],
  params: Tensors,
  grads: Tensors,
  opt: Tensors,
  control: Tensor,
): { params: Tensors; opt: Tensors } {
  if (spec.update) {
    const lr = spec.control.group(control, rules[0]!.groups[0]!.prefix).lr!;
    return ownStep(spec.update, params, grads, opt, lr);
  }
  // What own steps keep passes through.
  const out: { params: Tensors; opt: Tensors } = { params: {}, opt: { ...opt } };
  for (const { optimizer, groups } of rules) {
    for (const group of groups) {
      for (const name of group.params) {
        if (params[name] === undefined) continue;
        // Not shared between parameters: jax-js gives what several kernels read a kernel of its own.
        const h = spec.control.group(control, group.prefix);
        const slots = Object.fromEntries(optimizer.slots.map((slot) => [slot, opt[slotName(slot, name)]!]));
        const [p, next] = optimizer.leaf(params[name], grads[name]!, slots, h);
        out.params[name] = p;
        for (const slot of optimizer.slots) out.opt[slotName(slot, name)] = next[slot]!;
      }
    }
  }
  // The update visits parameters by group; everything that crosses a boundary is in canonical order.
  return { params: inOrder(Object.keys(params), out.params), opt: inOrder(Object.keys(opt), out.opt) };
}

/** Forward, backward, clipping and update in one program. */
export const fusedStep =
  (spec: ProgramSpec) =>
  (
    train: Tensors,
    opt: Tensors,
    state: Tensors,
    sums: Tensor | Readonly<Record<string, never>>,
    frozen: Tensors,
    batch: TensorBatch,
    control: Tensor,
    key: Tensor,
  ) => {
    // Held on to: the update needs them once more.
    const pass = lossAndGrads(spec, held(train), frozen, state, sums, batch, control, key);
    let { grads } = pass;
    let norm: Tensor | undefined;
    if (spec.clipNorm || spec.clipValue) ({ grads, norm } = clip(grads, limits(spec, control)));
    else if (spec.wantNorm) norm = globalNorm(grads);
    const { params, opt: slots } = applyRules(spec, spec.rules, train, grads, opt, control);
    const { state: next, sums: total, batchSums, outputs, activations, loss } = pass;
    const counted = { ...(total && { sums: total }), ...(batchSums && { batchSums }) };
    return { params, opt: slots, state: next, ...counted, outputs, activations, report: report(loss, norm) };
  };

/** Scalars that events show: in one vector, so that one read brings them all, or a single one as it is. */
export const report = (...scalars: (Tensor | undefined)[]): Tensor => {
  const present = scalars.filter((scalar) => scalar !== undefined);
  return present.length === 1 ? present[0]!.ref : np.stack(present.map((scalar) => scalar.ref));
};

/** Forward and backward of one micro-batch. */
export const lossGrads =
  (spec: ProgramSpec) =>
  (train: Tensors, state: Tensors, sums: Tensor, frozen: Tensors, batch: TensorBatch, control: Tensor, key: Tensor) => {
    const { loss, ...pass } = lossAndGrads(spec, train, frozen, state, sums, batch, control, key);
    return { ...pass, report: report(loss) };
  };

/** The forward pass alone, for hooks that decide before the backward pass. */
export const forwardOnly =
  (spec: ProgramSpec) => (params: Tensors, state: Tensors, batch: TensorBatch, key: Tensor) => {
    const collector = new PointCollector(spec);
    const ctx = context(spec, true, state, key);
    const all = inOrder(spec.names, params);
    const forward = collector.forward(() => forwardPass(spec, all, batch, ctx));
    return {
      report: report(forward.loss),
      outputs: spec.wantOutputs ? shownOutputs(forward.outputs) : {},
      activations: collector.groups(forward.points),
    };
  };

/** The first micro-batch of an accumulated gradient: gradient × weight. */
export const startAccumulation = (grads: Tensors, weight: Tensor): Tensors =>
  mapTensors(grads, (g) => g.mul(weight.ref));
/** The next ones, added. */
export const accumulate = (total: Tensors, grads: Tensors, weight: Tensor): Tensors =>
  mapTensors(total, (sum, name) => sum.add(grads[name]!.mul(weight.ref)));
/** The weighted mean. */
export const finishAccumulation = (total: Tensors, weight: Tensor): Tensors =>
  mapTensors(total, (sum) => sum.div(weight.ref));

export const clipGrads = (spec: ProgramSpec) => (grads: Tensors, control: Tensor) => {
  const clipped = clip(grads, limits(spec, control));
  return { grads: clipped.grads, report: report(clipped.norm, clipped.clippedNorm) };
};
export const normOf = (grads: Tensors): Tensor => report(globalNorm(grads));

/** One optimizer's update. */
export const updateParams =
  (spec: ProgramSpec, rule: UpdateRule) =>
  (params: Tensors, opt: Tensors, grads: Tensors, control: Tensor): { params: Tensors; opt: Tensors } =>
    applyRules(spec, [rule], params, grads, opt, control);

/** One evaluation batch: sums, rows that metrics keep, and outputs when someone reads them. */
export const evalBatch =
  (spec: ProgramSpec) =>
  (params: Tensors, state: Tensors, sums: Tensor, batch: TensorBatch, weight: Tensor, key: Tensor) => {
    const collector = new PointCollector(spec);
    const forward = collector.forward(() =>
      forwardPass(spec, inOrder(spec.names, params), batch, context(spec, false, held(state), key)),
    );
    return {
      ...count(spec, spec.sums.eval, sums, forward, weight, batch),
      rows: spec.indices.watch("metric", batch, () => spec.rows.ofBatch(forward.outputs, batch)),
      outputs: spec.wantOutputs ? shownOutputs(forward.outputs) : {},
      activations: collector.groups(forward.points),
    };
  };

/** The model's buffers after one more batch in training mode, of which it has the given share. */
export const nextBuffers =
  (spec: ProgramSpec) =>
  (params: Tensors, state: Tensors, batch: TensorBatch, key: Tensor, momentum: Tensor): Tensors => {
    const ctx = { ...context(spec, true, state, key), momentum };
    return inOrder(Object.keys(state), forwardPass(spec, inOrder(spec.names, params), batch, ctx).state);
  };

/** The outputs of a batch, in evaluation or (`train`) as training sees it, and what probes make of the pass. */
export const predictBatch =
  (spec: ProgramSpec, train = false) =>
  (
    params: Tensors,
    state: Tensors,
    batch: TensorBatch,
    key: Tensor,
  ): { outputs: Outputs; activations: ProbeGroups } => {
    const collector = new PointCollector(spec);
    const { outputs, points } = collector.forward(() => ({
      outputs: predictPass(spec, inOrder(spec.names, params), batch, context(spec, train, held(state), key)),
    }));
    return { outputs, activations: collector.groups(points) };
  };

/** All indices of a training pass over the batch, with what they must be, which is put into `ranges` in their order. */
export const usedIndices =
  (spec: ProgramSpec, ranges: PlacedRange[]) =>
  (params: Tensors, state: Tensors, batch: TensorBatch, key: Tensor): Tensors => {
    ranges.length = 0;
    const used: Tensors = { key: key.ref };
    const note = (x: Tensor, range: PlacedRange): void => {
      used[`indices ${ranges.length}`] = x.ref;
      ranges.push(range);
    };
    visitIndices(note, () =>
      spec.problem.forward(inOrder(spec.names, params), batch, context(spec, true, held(state), key), spec.loss),
    );
    return used;
  };

/** Tells the model's points while it is traced; all that the compiled program returns is the key. */
export const listPoints =
  (spec: ProgramSpec, train: boolean, tell: (names: readonly string[]) => void) =>
  (params: Tensors, state: Tensors, batch: TensorBatch, key: Tensor): { key: Tensor } => {
    const predict = (): Outputs =>
      predictPass(spec, inOrder(spec.names, params), batch, context(spec, train, held(state), key));
    tell(pointNames(predict));
    return { key: key.ref };
  };

// Gradient norms and clipping, as pure functions inside a program.

const sum = (terms: readonly Tensor[]): Tensor => terms.reduce((a, b) => a.add(b));

/** L2 norm of each tensor's values together. Consumes nothing. */
function globalNorm(tensors: Tensors): Tensor {
  return np.sqrt(sum(Object.values(tensors).map((t) => np.square(t.ref).sum())));
}

interface Clipped {
  readonly grads: Tensors;
  /** Before clipping. */
  readonly norm: Tensor;
  readonly clippedNorm: Tensor;
}

/** Clips by value, then by global norm (PyTorch's coefficient, 1e-6 included); consumes `grads`. */
export function clip(grads: Tensors, limits: { readonly norm?: Tensor; readonly value?: Tensor }): Clipped {
  const norm = globalNorm(grads);
  let clipped = grads;
  let clippedNorm = norm.ref;
  if (limits.value) {
    const { value } = limits;
    clipped = mapTensors(clipped, (g) => np.minimum(np.maximum(g, value.ref.neg()), value.ref));
    clippedNorm = globalNorm(clipped);
  }
  if (limits.norm) {
    const factor = np.minimum(limits.norm.ref.div(clippedNorm.ref.add(1e-6)), 1);
    clipped = mapTensors(clipped, (g) => g.mul(factor.ref));
    clippedNorm = clippedNorm.mul(factor);
  }
  return { grads: clipped, norm, clippedNorm };
}

export function mapTensors(tensors: Tensors, fn: (tensor: Tensor, name: string) => Tensor): Tensors {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, fn(tensor, name)]));
}
