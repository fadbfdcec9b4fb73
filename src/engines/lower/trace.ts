// From a jax-js function to its jaxpr: the list of primitives that it consists of.
import { makeJaxpr, numpy as np, tree, type Array as JaxArray } from "@jax-js/jax";
import type { TypedArray } from "../../core/arrays.ts";
import type { Tree } from "../engine.ts";
import { whileLowering, type Lowering } from "../../nn/marks.ts";
import type { DType } from "./graph.ts";

export interface Aval {
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** A bare number of the program: its type gives way to that of what it meets. */
  readonly weakType?: boolean;
}

/** A variable, or a number. */
export type Atom = { readonly aval: Aval } & ({ readonly id: number } | { readonly value: number | boolean });

export interface Equation {
  readonly primitive: string;
  readonly inputs: readonly Atom[];
  readonly params: Readonly<Record<string, unknown>>;
  readonly outBinders: readonly Atom[];
}

export interface Traced {
  /** Constants first, then the leaves of the arguments in order. */
  readonly inBinders: readonly Atom[];
  /** Undefined for a constant that nothing uses. */
  readonly constants: readonly (TypedArray | undefined)[];
  readonly equations: readonly Equation[];
  readonly outs: readonly Atom[];
  /** Puts a list of results into the structure that the function returned. */
  readonly unflatten: (leaves: readonly unknown[]) => Tree<unknown>;
}

interface Jaxpr {
  readonly inBinders: readonly Atom[];
  readonly eqns: readonly Equation[];
  readonly outs: readonly Atom[];
  flatten(): Jaxpr;
  simplify(): Jaxpr;
}

interface Made {
  readonly jaxpr: { readonly jaxpr: Jaxpr; readonly consts: readonly JaxArray[]; dispose(): void };
  readonly treedef: never;
}

/** Traces `fn` with arguments of these shapes; nothing is computed but constants of its own. */
export function trace(
  fn: (...args: never[]) => unknown,
  args: readonly Tree<Aval>[],
  engine: Lowering = { convolves: false },
): Traced {
  const stand = args.map((arg) => standIns(arg));
  const made = whileLowering(engine, () =>
    makeJaxpr(fn as (...args: unknown[]) => never)(...(stand as never[])),
  ) as unknown as Made;
  const { inBinders, eqns, outs } = made.jaxpr.jaxpr.flatten().simplify();
  // jax-js makes zeros for the derivative of every array that is held fixed, as large as the array. Nothing uses most of
  // them, and reading one gives it memory.
  const used = new Set<Atom>([...eqns.flatMap(({ inputs }) => inputs), ...outs]);
  const constants = made.jaxpr.consts.map((array, i) =>
    used.has(inBinders[i]!) ? (array.ref.dataSync() as TypedArray) : undefined,
  );
  made.jaxpr.dispose();
  const unflatten = (leaves: readonly unknown[]): Tree<unknown> => tree.unflatten(made.treedef, leaves as never[]);
  return { inBinders, constants, equations: eqns, outs, unflatten };
}

/** Arrays of the right shape that nobody computes. */
function standIns(arg: Tree<Aval>): Tree<JaxArray> {
  if (isAval(arg)) return np.zeros([...arg.shape], { dtype: arg.dtype as never });
  if (Array.isArray(arg)) return arg.map(standIns);
  return Object.fromEntries(Object.entries(arg as Record<string, Tree<Aval>>).map(([k, v]) => [k, standIns(v)]));
}

const isAval = (arg: Tree<Aval>): arg is Aval => Array.isArray((arg as Aval).shape);

/** What both sides of a comparison become: a float if either is one, but a bare number is what the other side is. */
export function comparisonType(ins: readonly Aval[]): DType {
  const mixed = ins.some(({ weakType }) => weakType) && !ins.every(({ weakType }) => weakType);
  const types = ins.map(({ dtype, weakType }) => (mixed && weakType ? "uint32" : dtype));
  return (["float32", "int32", "uint32", "bool"] as const).find((dtype) => types.includes(dtype))!;
}
