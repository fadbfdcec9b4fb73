// A forward program as a model: its primitives are given to jax-js one by one, inside any engine's program.
import { numpy as np } from "@jax-js/jax";
import { sizeOf } from "../core/arrays.ts";
import { ProgramError } from "../core/errors.ts";
import { messageOf } from "../core/maybe.ts";
import { convolve } from "../nn/conv.ts";
import { currentLowering } from "../nn/marks.ts";
import type { HostTensors, Model, Outputs, Tensor, TensorBatch, Tensors } from "../core/model.ts";
import {
  paramsAt,
  sizeAt,
  type ArrayType,
  type Constant,
  type Dim,
  type Equation,
  type ForwardProgram,
  type NamedArray,
  type Operand,
} from "./program.ts";

/**
 * The model of a program. Its inputs are the fields of a batch by name, or the one field that it has. It has no initial
 * values of its own: give it the weights that belong to the program, as with `loadStateDict`.
 */
export function programModel(program: ForwardProgram): Model<Tensor | TensorBatch> {
  const { params, buffers, single } = program;
  const uses = countUses(program);
  return {
    init: () => zeros(params),
    ...(buffers.length > 0 && { initState: () => zeros(buffers) }),
    apply(weights, inputs, { state }) {
      const outputs = run(program, uses, weights, fieldsOf(program, inputs), state);
      const result: Outputs = single ? outputs[program.outputs[0]!.name]! : outputs;
      return buffers.length > 0 ? [result, state] : result;
    },
  };
}

function fieldsOf({ inputs }: ForwardProgram, given: Tensor | TensorBatch): TensorBatch {
  return typeof (given as Tensor).dtype === "string" ? { [inputs[0]!.name]: given as Tensor } : (given as TensorBatch);
}

const zeros = (arrays: readonly NamedArray[]): HostTensors =>
  Object.fromEntries(
    arrays.map(({ name, shape, dtype }) => {
      const sizes = shape as readonly number[];
      const Type = dtype === "float32" ? Float32Array : dtype === "uint32" ? Uint32Array : Int32Array;
      return [name, { data: new Type(sizeOf(sizes)), shape: sizes, dtype }];
    }),
  );

/** How often each array is used. jax-js frees an array with its last use. */
function countUses({ equations, outputs }: ForwardProgram): ReadonlyMap<number, number> {
  const uses = new Map<number, number>();
  for (const operand of [...equations.flatMap((equation) => equation.in), ...outputs.map(({ of }) => of)])
    if (typeof operand === "number") uses.set(operand, (uses.get(operand) ?? 0) + 1);
  return uses;
}

function run(
  program: ForwardProgram,
  uses: ReadonlyMap<number, number>,
  weights: Tensors,
  fields: TensorBatch,
  state: Tensors,
): Tensors {
  const { inputs, params, buffers, constants, equations, outputs, layers } = program;
  const rows = rowsIn(inputs, fields);
  const arrays: Tensor[] = [
    ...inputs.map(({ name }) => fields[name]!),
    ...params.map(({ name }) => found(weights, name, "parameter")),
    // The caller keeps the buffers.
    ...buffers.map(({ name }) => found(state, name, "buffer").ref),
  ];
  arrays.push(...constants.map((constant) => constantArray(constant, rows)));
  const left = new Map(uses);
  const home = arrays[0]!;
  for (const [i, array] of arrays.entries()) if (!left.has(i)) array.dispose();
  const take = (operand: Operand): Tensor => {
    if (typeof operand === "object") return np.array(operand.value, { dtype: operand.dtype as never });
    const rest = left.get(operand)! - 1;
    left.set(operand, rest);
    return rest > 0 ? arrays[operand]!.ref : arrays[operand]!;
  };
  for (const equation of equations) {
    const layer = layers[equation.layer] ?? "";
    const results = apply(equation, equation.in.map(take), rows, layer, home);
    for (const result of results) {
      if (!left.has(arrays.length)) result.dispose();
      arrays.push(result);
    }
  }
  return Object.fromEntries(outputs.map(({ name, of }) => [name, take(of)]));
}

function apply(
  { op, params, out }: Equation,
  args: readonly Tensor[],
  rows: number,
  layer: string,
  home: Tensor,
): readonly Tensor[] {
  const where = `\`${op}\`${layer === "" ? "" : ` of layer \`${layer}\``}`;
  let results: readonly Tensor[];
  try {
    const given = paramsAt(params, rows);
    results = asImages(op, args, given) ?? bind(op, args, given, home);
  } catch (cause) {
    throw new ProgramError(`The captured program cannot be applied: ${where}: ${messageOf(cause)}`, { cause });
  }
  const got = results.map(typeText).join(" and ");
  const expected = out.map((type) => typeText({ ...type, shape: shapeAt(type, rows) })).join(" and ");
  if (got === expected) return results;
  throw new ProgramError(`The captured program does not fit together: ${where} gives ${got}, not ${expected}.`);
}

/**
 * A plain convolution of images as the layer `conv2d` computes it: many times as fast as the primitive, but where an engine
 * convolves itself.
 */
function asImages(op: string, [x, weight]: readonly Tensor[], params: Readonly<Record<string, unknown>>) {
  if (currentLowering()?.convolves || op !== "conv" || x!.ndim !== 4 || params.vmapDims !== 0) return undefined;
  const { strides, padding, lhsDilation, rhsDilation } = params as unknown as Readonly<Record<string, number[]>>;
  const around = padding as unknown as readonly (readonly [number, number])[];
  const isPlain = [lhsDilation!, rhsDilation!].every((steps) => steps.every((step) => step === 1));
  if (!isPlain || around.some(([before, after]) => before !== after || before < 0)) return undefined;
  const zeros = [around[0]![0], around[1]![0]] as const;
  return [convolve("conv", x!, weight!, undefined, strides as unknown as [number, number], zeros)];
}

const typeText = ({ dtype, shape }: { readonly dtype: string; readonly shape: readonly Dim[] }): string =>
  `${dtype} [${shape.join(", ")}]`;

const shapeAt = ({ shape }: Pick<ArrayType, "shape">, rows: number): number[] => shape.map((dim) => sizeAt(dim, rows));

/** The rows of a batch, after checking every field that the program reads. */
function rowsIn(inputs: readonly NamedArray[], fields: TensorBatch): number {
  let rows: number | undefined;
  for (const { name, shape, dtype } of inputs) {
    const field = fields[name];
    if (!field) {
      throw new ProgramError(`The model needs the field \`${name}\`; there are: ${Object.keys(fields).join(", ")}.`);
    }
    if (shape[0] === "n") rows ??= field.shape[0];
    const wanted = { dtype, shape: shapeAt({ shape }, rows ?? 0) };
    if (typeText(field) === typeText(wanted)) continue;
    throw new ProgramError(
      `The model takes \`${name}\` as ${typeText({ dtype, shape })}, where n is the number of rows; got ${typeText(field)}.`,
    );
  }
  return rows ?? 0;
}

function found(tensors: Tensors, name: string, kind: string): Tensor {
  const tensor = tensors[name];
  if (tensor) return tensor;
  throw new ProgramError(`The weights have no ${kind} \`${name}\`, which the captured program needs.`);
}

function constantArray(constant: Constant, rows: number): Tensor {
  const shape = shapeAt(constant, rows);
  const dtype = constant.dtype as never;
  if ("fill" in constant) return np.full(shape, constant.fill, { dtype });
  if ("data" in constant) return np.array(constant.data as Float32Array<ArrayBuffer>, { shape, dtype });
  const size = shape[constant.axis]!;
  const counted = np.arange(constant.start, constant.start + size, 1, { dtype });
  return np.broadcastTo(counted.reshape(shape.map((_, i) => (i === constant.axis ? size : 1))), shape);
}

/** What every array of jax-js is underneath: a value of the trace that is innermost at the moment. */
interface Tracer {
  readonly _trace: Trace;
  fullLower(): Tensor;
}
interface Trace {
  readonly main: { readonly level: number };
  lift(x: Tensor): Tracer;
  processPrimitive(op: string, args: readonly Tracer[], params: object): Tracer[];
}

/**
 * Applies a primitive by its name. jax-js exports functions for most of them but not for all, and some functions compute
 * more than the primitive: the numbers would not be those of the model. What is made of constants alone belongs to the
 * program of `home` too, and is not computed at once.
 */
function bind(op: string, args: readonly Tensor[], params: object, home: Tensor): readonly Tensor[] {
  const tracers = args as unknown as readonly Tracer[];
  const traces = [...tracers, home as unknown as Tracer].map(({ _trace }) => _trace);
  const top = traces.reduce((a, b) => (b.main.level > a.main.level ? b : a));
  const raised = tracers.map((x, i) => (x._trace.main === top.main ? x : top.lift(args[i]!)));
  return top.processPrimitive(op, raised, params).map((result) => result.fullLower());
}
