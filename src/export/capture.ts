// From a model to its forward program: the model is traced with three numbers of rows, and what differs between the
// traces becomes a linear function of the rows.
import { type DType, type HostArray, dtypeOf } from "../core/arrays.ts";
import { HooklineError, ProgramError } from "../core/errors.ts";
import { messageOf } from "../core/maybe.ts";
import { isTensor, type ApplyContext, type Model, type Outputs, type Tensor, type Tensors } from "../core/model.ts";
import { trace, type Atom, type Aval, type Traced } from "../engines/lower/trace.ts";
import { layerOf, visitPoints, whileCapturing } from "../nn/tap.ts";
import { mergeTraces } from "./merge-traces.ts";
import { OUTPUT, type ForwardProgram } from "./program.ts";
import { checkRows } from "./row-check.ts";

/** An array, or its shape and type alone. */
export type Shaped = Pick<HostArray, "shape"> & { readonly dtype?: DType; readonly data?: HostArray["data"] };

/** What is captured: a function from parameters and the fields of a batch to outputs. */
export interface ForwardPass {
  readonly forward: (params: Tensors, batch: Tensors, ctx: ApplyContext) => Outputs;
  readonly params: Readonly<Record<string, Shaped>>;
  readonly buffers: Readonly<Record<string, Shaped>>;
  /** A batch, for its names, shapes and types: the first dimension of its first field is the rows. */
  readonly batch: Readonly<Record<string, Shaped>>;
}

/** One trace of the forward pass. */
export interface ForwardTrace extends Omit<Traced, "outs" | "unflatten"> {
  readonly rows: number;
  readonly outputs: readonly { readonly name: string; readonly atom: Atom }[];
  readonly single: boolean;
  /** What each layer returned, in the order of the program: inner layers before the layers that contain them. */
  readonly points: readonly { readonly layer: string; readonly atom: Atom }[];
}

/** The forward pass of a model that takes the field `x` of a batch, or all fields by name if there is no `x`. */
export function captureProgram(
  model: Model<never>,
  params: Readonly<Record<string, Shaped>>,
  batch: Readonly<Record<string, Shaped>>,
): ForwardProgram {
  return captureForward({
    forward: (tensors, fields, ctx) => {
      const result = model.apply(tensors, (fields.x ?? fields) as never, ctx);
      return model.initState ? (result as [Outputs, Tensors])[0] : (result as Outputs);
    },
    params,
    buffers: model.initState?.() ?? {},
    batch,
  });
}

export function captureForward(pass: ForwardPass): ForwardProgram {
  const traces = rowCounts(pass).map((rows) => traceWith(pass, rows));
  const { params, buffers, batch } = pass;
  const program = mergeTraces(traces, {
    params: Object.keys(params),
    buffers: Object.keys(buffers),
    inputs: Object.keys(batch),
  });
  checkRows(program);
  return program;
}

/**
 * Numbers of rows that are no other size of the model. Then nothing is treated in a special way because two sizes
 * happen to be equal, or one of them is 1.
 */
function rowCounts({ params, buffers, batch }: ForwardPass): number[] {
  const sizes = new Set([params, buffers, batch].flatMap((all) => Object.values(all).flatMap(({ shape }) => shape)));
  const found: number[] = [];
  for (let n = 3; found.length < 3; n += 2) {
    const isPrime = [3, 5, 7, 11, 13].every((p) => p >= n || n % p !== 0);
    if (isPrime && !sizes.has(n)) found.push(n);
  }
  return found;
}

const avalOf = ({ shape, data, dtype }: Shaped): Aval => ({
  shape: [...shape],
  dtype: dtype === "bool" || !data ? (dtype ?? "float32") : dtypeOf({ data }),
});

function traceWith(pass: ForwardPass, rows: number): ForwardTrace {
  try {
    return traceForward(pass, rows, true);
  } catch (first) {
    // Points inside a function that the model itself differentiates or maps cannot leave it: then layers have no names.
    try {
      return traceForward(pass, rows, false);
    } catch {
      throw explained(first);
    }
  }
}

function explained(error: unknown): Error {
  const layer = layerOf(error);
  const where = layer === undefined ? "" : ` (layer \`${layer}\`)`;
  if (error instanceof HooklineError && where === "") return error;
  return new ProgramError(`The forward pass cannot be captured${where}: ${messageOf(error)}`, { cause: error });
}

function traceForward(pass: ForwardPass, rows: number, withPoints: boolean): ForwardTrace {
  const { forward, params, buffers, batch } = pass;
  const fields = Object.values(batch);
  const before = fields[0]?.shape[0];
  if (before === undefined)
    throw new ProgramError("A batch without fields, or whose first field is a number, has no rows.");
  const withRows = ({ shape, ...rest }: Shaped): Shaped =>
    shape[0] === before ? { ...rest, shape: [rows, ...shape.slice(1)] } : { ...rest, shape };
  // Lists, since jax-js has an order of its own for names.
  const args = [Object.values(params), Object.values(buffers), fields.map(withRows)].map((all) => all.map(avalOf));

  let names: string[] = [];
  let single = true;
  const layers: string[] = [];
  const run = (...lists: Tensor[][]): Tensor[][] => {
    const [weights, state, inputs] = [params, buffers, batch].map((all, i) => byName(Object.keys(all), lists[i]!));
    const seen: Tensor[] = [];
    const visit = (layer: string, x: Tensor): Tensor => {
      layers.push(layer);
      seen.push(x.ref);
      return x;
    };
    const ctx: ApplyContext = { train: false, key: NO_KEYS, state: state!, loader: "predict" };
    const apply = (): Outputs => forward(weights!, inputs!, ctx);
    const outputs = whileCapturing(() => (withPoints ? visitPoints(visit, apply) : apply()));
    single = isTensor(outputs);
    names = single ? [OUTPUT] : Object.keys(outputs);
    return [single ? [outputs as Tensor] : Object.values(outputs as Tensors), seen];
  };
  const { outs, ...traced } = trace(run, args);
  return {
    ...traced,
    rows,
    single,
    outputs: names.map((name, i) => ({ name, atom: outs[i]! })),
    points: layers.map((layer, i) => ({ layer, atom: outs[names.length + i]! })),
  };
}

const byName = (names: readonly string[], tensors: readonly Tensor[]): Tensors =>
  Object.fromEntries(names.map((name, i) => [name, tensors[i]!]));

const NO_KEYS: ApplyContext["key"] = {
  next: () => {
    throw new ProgramError("it draws random numbers when `train` is false, and a captured program has none");
  },
};
