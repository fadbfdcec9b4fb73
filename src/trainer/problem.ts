// What is trained, in one form: a model with its loss, or a bare loss function over parameters.
import { OptionError, ProgramError } from "../core/errors.ts";
import {
  type ApplyContext,
  type FrozenBase,
  type Loss,
  type LossModel,
  type Model,
  type Outputs,
  type Stack,
  type StackLayer,
  type Tensor,
  type TensorBatch,
  type Tensors,
  type WeighFn,
  isTensor,
} from "../core/model.ts";
import type { Layering } from "./layered/choose.ts";
import { sizeOf, toHostArray } from "../core/arrays.ts";
import { messageOf } from "../core/maybe.ts";
import { show } from "../core/options.ts";
import { checkBase } from "./base.ts";
import { logitsOf } from "../nn/deferred-logits.ts";
import { initKey } from "../nn/key.ts";
import type { HostModel, Initial } from "./initial.ts";
import { tapChild } from "../nn/tap.ts";
import { safeLine } from "../core/safe-text.ts";

/** One forward pass: the scalar loss, the outputs and the buffers after it. */
interface Forward {
  readonly loss: Tensor;
  readonly outputs: Outputs;
  readonly state: Tensors;
}

export interface Problem {
  readonly model: Model<never> | LossModel;
  /** Frozen tensors that are not among those of `init`. */
  readonly base: FrozenBase | undefined;
  init(seed: number): HostModel;
  /** `loss` replaces the problem's own loss when a hook has set one. */
  forward(params: Tensors, batch: TensorBatch, ctx: ApplyContext, loss: Loss | undefined): Forward;
  /** How much a batch counts next to others, with the loss as in `forward`; undefined: by its samples. */
  weighBy(loss: Loss | undefined): WeighFn | undefined;
  /** The outputs alone. */
  predict(params: Tensors, batch: TensorBatch, ctx: ApplyContext): Outputs;
  /** Whether the passes run layer by layer; absent where nobody has chosen. */
  readonly layering?: Layering;
  /** The passes in parts, if they do. */
  readonly stack?: StackPasses;
}

/** The passes of a stack in parts: what flows between them are the hidden states. */
export interface StackPasses {
  readonly layers: readonly StackLayer[];
  embed(params: Tensors, batch: TensorBatch, ctx: ApplyContext): Tensor;
  /** The layer's parameters have their names without its prefix. */
  layer(layer: StackLayer, params: Tensors, hidden: Tensor, batch: TensorBatch, ctx: ApplyContext): Tensor;
  head(
    params: Tensors,
    hidden: Tensor,
    batch: TensorBatch,
    ctx: ApplyContext,
    loss: Loss | undefined,
  ): Omit<Forward, "state">;
  predict(params: Tensors, hidden: Tensor, ctx: ApplyContext): Outputs;
}

export type InputsFn = (batch: TensorBatch) => Tensor | TensorBatch;

const isLossModel = (model: Model<never> | LossModel): model is LossModel =>
  typeof (model as LossModel).loss === "function";

/** What of a trainer's options a problem is made of. */
interface ProblemOptions {
  readonly model: Model<never> | LossModel;
  readonly inputs?: InputsFn | undefined;
  readonly weigh?: WeighFn;
}

/** `loss` is the option as it is for the training data. */
export function defineProblem(
  { model, inputs, weigh }: ProblemOptions,
  loss: Loss | undefined,
  layering?: Layering,
): Problem {
  if (isLossModel(model)) return lossProblem(model, weigh);
  if (typeof model?.init !== "function" || typeof model.apply !== "function") {
    throw new OptionError(
      `Trainer: Expected \`model\` to have \`init\` and \`apply\` (or \`params\` and \`loss\`), got ${show(model)}`,
    );
  }
  if (loss === undefined)
    throw new OptionError(
      `Trainer: missing option \`loss\` (a function of outputs and targets, such as crossEntropy()).`,
    );
  return modelProblem(model, loss, inputs ?? inputX, weigh, layering);
}

function inputX(batch: TensorBatch): Tensor {
  if (batch.x) return batch.x;
  throw new ProgramError(
    `The batch has no field \`x\` for the model (it has: ${Object.keys(batch).join(", ")}). Name it x, or give the trainer \`inputs: (batch) => …\`.`,
  );
}

/** Fields used more than once are kept alive by the caller's references; a traced program frees nothing anyway. */
const kept = (batch: TensorBatch): TensorBatch =>
  Object.fromEntries(Object.entries(batch).map(([name, tensor]) => [name, tensor.ref]));

function modelProblem(
  model: Model<never>,
  ownLoss: Loss,
  inputs: InputsFn,
  weigh: WeighFn | undefined,
  layering: Layering | undefined,
): Problem {
  const inputsOf = (batch: TensorBatch): never => {
    const input = inputs(kept(batch));
    if (input === undefined)
      throw new ProgramError(`\`inputs\` returned undefined; the batch has: ${Object.keys(batch).join(", ")}.`);
    return input as never;
  };
  const apply = (params: Tensors, batch: TensorBatch, ctx: ApplyContext): [Outputs, Tensors] => {
    const result = model.apply(params, inputsOf(batch), ctx);
    const [outputs, state] = model.initState ? (result as [Outputs, Tensors]) : [result as Outputs, ctx.state];
    checkOutputs(outputs);
    return [outputs, state];
  };
  const lossOf = (outputs: Outputs, batch: TensorBatch, loss: Loss = ownLoss): Tensor =>
    scalar(callLoss(loss, refAll(outputs), kept(batch)));
  return {
    model,
    base: model.base,
    init: (seed) =>
      initialise(() => ({ params: model.init(initKey(seed)), state: model.initState?.() ?? {} }), model.base),
    forward(params, batch, ctx, loss) {
      const [outputs, state] = apply(params, batch, ctx);
      return { loss: lossOf(outputs, batch, loss), outputs, state };
    },
    weighBy: (loss = ownLoss) => weigh ?? loss.weigh,
    predict: (params, batch, ctx) => logitsOf(apply(params, batch, ctx)[0]),
    ...(layering && { layering }),
    ...(layering?.isOn && model.stack && { stack: stackPasses(model.stack, inputsOf, lossOf) }),
  };
}

function stackPasses(
  stack: Stack<never>,
  inputsOf: (batch: TensorBatch) => never,
  lossOf: (outputs: Outputs, batch: TensorBatch, loss: Loss | undefined) => Tensor,
): StackPasses {
  const outputsOf = (params: Tensors, hidden: Tensor, ctx: ApplyContext): Outputs => {
    const outputs = stack.head(params, hidden, ctx);
    checkOutputs(outputs);
    return outputs;
  };
  return {
    layers: stack.layers,
    embed: (params, batch, ctx) => stack.embed(params, inputsOf(batch), ctx),
    layer: ({ prefix, kind }, params, hidden, batch, ctx) =>
      tapChild(prefix.slice(0, -1), () => stack.layer(kind, params, hidden, inputsOf(batch), ctx)),
    head(params, hidden, batch, ctx, loss) {
      const outputs = outputsOf(params, hidden, ctx);
      return { loss: lossOf(outputs, batch, loss), outputs };
    },
    predict: (params, hidden, ctx) => logitsOf(outputsOf(params, hidden, ctx)),
  };
}

/** Calls the loss; a factory that was not called (`loss: crossEntropy`) takes the outputs for its options. */
function callLoss(loss: Loss, outputs: Outputs, batch: TensorBatch): Tensor {
  let value: Tensor;
  try {
    value = loss(outputs, batch.y as Tensor, batch);
  } catch (cause) {
    if (cause instanceof OptionError) throw notCalled(loss, cause);
    throw cause;
  }
  if (typeof value === "function") throw notCalled(loss);
  return value;
}

const notCalled = (loss: Loss, cause?: OptionError): ProgramError =>
  new ProgramError(
    `\`loss\` is a function that makes losses. Is it to be called, as in ${loss.name || "crossEntropy"}()?`,
    {
      cause,
    },
  );

function lossProblem(model: LossModel, weigh: WeighFn | undefined): Problem {
  const forward = (params: Tensors, batch: TensorBatch, ctx: ApplyContext): Forward => {
    const result = model.loss(params, kept(batch), ctx);
    const [loss, outputs] = Array.isArray(result) ? result : [result, {}];
    return { loss: scalar(loss), outputs, state: ctx.state };
  };
  return {
    model,
    base: undefined,
    init: () => initialise(() => ({ params: model.params, state: {} })),
    forward(params, batch, ctx, loss) {
      if (loss)
        throw new ProgramError(
          `ctx.setLoss needs a model with outputs; this trainer was given { params, loss }. Branch inside your own loss instead.`,
        );
      return forward(params, batch, ctx);
    },
    weighBy: () => weigh,
    predict: (params, batch, ctx) => forward(params, batch, ctx).outputs,
  };
}

/** Runs the model's own initialisation, whose mistakes should surface before anything runs. */
function initialise(make: () => HostModel, base?: FrozenBase): HostModel {
  let initial: HostModel;
  try {
    initial = make();
  } catch (cause) {
    throw new ProgramError(`Trainer: the model's init failed: ${messageOf(cause)}`, { cause });
  }
  for (const part of [initial.params, initial.state]) {
    for (const [name, tensor] of Object.entries(part))
      toHostArray(tensor, `Trainer: the model's init, tensor \`${name}\``);
  }
  if (Object.keys(initial.params).length === 0)
    throw new OptionError(`Trainer: the model has no parameters, so there is nothing to train.`);
  if (base) checkBase(base, Object.keys(initial.params));
  return initial;
}

function checkOutputs(outputs: Outputs): void {
  const isObject = typeof outputs === "object" && outputs !== null && !(outputs instanceof Promise);
  const tensors = isObject ? (isTensor(outputs) ? [outputs] : Object.values(outputs)) : [];
  if (tensors.length > 0 && tensors.every((tensor) => typeof tensor?.dtype === "string")) return;
  const got = (outputs as unknown) instanceof Promise ? "a Promise (apply must not be async)" : show(outputs);
  throw new ProgramError(`The model's apply must return a jax-js array, or several by name; got ${got}.`);
}

export const refAll = (outputs: Outputs): Outputs => (isTensor(outputs) ? outputs.ref : kept(outputs));

/** The outputs as hooks see them: deferred logits are computed. */
export const shownOutputs = (outputs: Outputs): Outputs => logitsOf(refAll(outputs));

function scalar(loss: Tensor): Tensor {
  if (loss?.shape === undefined)
    throw new ProgramError(
      `The loss returned ${show(loss)} instead of an array. Return a jax-js scalar, such as x.mean().`,
    );
  if (loss.shape.length > 0) {
    throw new ProgramError(
      `The loss must be a scalar, but its shape is [${loss.shape.join(", ")}]. Reduce it, for example with .mean().`,
    );
  }
  return loss;
}

// A table of a model's parameters and buffers.

const count = (n: number): string => n.toLocaleString("en-US");

export function describeParams(
  { params, state }: Pick<Initial, "params" | "state">,
  base: FrozenBase | undefined,
): string {
  const row = (name: string, shape: readonly number[], note: string): [string, string, string] => [
    safeLine(name) + note,
    `[${shape.join(", ")}]`,
    count(sizeOf(shape)),
  ];
  const rows = [
    ...Object.entries(params).map(([name, { shape }]) => row(name, shape, "")),
    ...Object.entries(state).map(([name, { shape }]) => row(name, shape, " (buffer)")),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((cells) => cells[column]!.length)));
  const lines = rows.map(
    ([name, shape, n]) => `${name.padEnd(widths[0]!)}  ${shape.padEnd(widths[1]!)}  ${n.padStart(widths[2]!)}`,
  );
  const total = Object.values(params).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  const own = `${count(total)} parameters in ${Object.keys(params).length} tensors`;
  if (!base) return [...lines, own].join("\n");
  const frozen = [...base.tensors.values()].reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  const where = safeLine(base.path);
  return [
    ...lines,
    `${own}; besides, ${count(frozen)} frozen numbers in ${base.tensors.size} tensors of ${where}`,
  ].join("\n");
}
