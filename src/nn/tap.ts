// Points inside a model: named activations, visible only while a program is traced with a visitor.
import { isTensor, type Outputs, type Tensor } from "../core/model.ts";

/** Called with each point of a model in program order; its result replaces `x`, which it consumes. */
export type PointVisitor = (name: string, x: Tensor) => Tensor;

// Tracing is synchronous, so one variable serves all models, and layers need no extra argument.
let visitor: PointVisitor | undefined;
let path = "";

/** In which layer an error happened while a model was traced. */
const layers = new WeakMap<Error, readonly string[]>();

/** The path of the layer in which `error` happened, `blocks.3.mlp.0`; undefined outside of any. */
export const layerOf = (error: unknown): string | undefined =>
  error instanceof Error ? layers.get(error)?.join(".") : undefined;

/** The path of the layer that is being traced; `""` outside of any. */
export const currentLayer = (): string => path.slice(0, -1);

/**
 * Marks a point inside a model and returns `x`. Probes find it under the path of the layer it is in and its own name:
 * `blocks.0.attn.scores`. Without probes it does nothing: the compiled program is the same.
 * @example const weights = tap("weights", nn.softmax(scores));
 */
export function tap(name: string, x: Tensor): Tensor {
  return visitor === undefined ? x : visitor(path + name, x);
}

/** Runs a child of a model: points inside are under its name, and what it returns is a point itself. */
export function tapChild<Out extends Outputs>(name: string, run: () => Out): Out {
  const outer = path;
  path = `${outer}${name}.`;
  let outputs: Out;
  try {
    outputs = run();
  } catch (error) {
    // The innermost layer catches the error first; enclosing layers prepend their names.
    if (error instanceof Error) layers.set(error, [name, ...(layers.get(error) ?? [])]);
    throw error;
  } finally {
    path = outer;
  }
  if (visitor === undefined) return outputs;
  if (isTensor(outputs)) return tap(name, outputs) as Out;
  const parts = Object.entries(outputs).map(([key, x]) => [key, tap(`${name}.${key}`, x)]);
  return Object.fromEntries(parts) as Out;
}

/** Traces `run` with its points shown to `visit`. */
export function visitPoints<T>(visit: PointVisitor, run: () => T): T {
  const outer = { visitor, path };
  visitor = visit;
  path = "";
  try {
    return run();
  } finally {
    ({ visitor, path } = outer);
  }
}

/** Whether a model is traced to be captured rather than run. */
let capturing = false;

/**
 * Whether a layer that computes one primitive in many steps, because they are faster, should show the primitive: the
 * interpreter or exporter of a captured program decides how to compute it.
 */
export const isCapturing = (): boolean => capturing;

/** Traces `run` for a captured program. */
export function whileCapturing<T>(run: () => T): T {
  const outer = capturing;
  capturing = true;
  try {
    return run();
  } finally {
    capturing = outer;
  }
}
