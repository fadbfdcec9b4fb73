// The graph that engines compile: jax-js's primitives with every view lazy, so that what remains is arithmetic.
//
// A jaxpr is full of reshape, transpose, broadcast, shrink and flip. None of them computes anything: here they are part
// of how a node looks at its argument (`View`), and only a view that strides cannot express becomes a `copy`.
import type { TypedArray } from "../../core/arrays.ts";
import type { ConvParams } from "./conv.ts";
import type { View } from "./view.ts";

/** Every number takes four bytes; a bool is an int32 that is 0 or 1. */
export type DType = "float32" | "int32" | "uint32" | "bool";

/** Elementwise functions. The arguments' views all have the node's shape. */
export type MapOp =
  | "copy"
  | "add"
  | "sub"
  | "mul"
  | "idiv"
  | "mod"
  | "min"
  | "max"
  | "neg"
  | "reciprocal"
  | "floor"
  | "ceil"
  | "sqrt"
  | "exp"
  | "log"
  | "sin"
  | "cos"
  | "asin"
  | "atan"
  | "erf"
  | "erfc"
  | "and"
  | "or"
  | "xor"
  | "shl"
  | "shr"
  | "bitcount"
  | "less"
  | "lessEqual"
  | "equal"
  | "notEqual"
  | "where" // condition, then, else
  | "cast" // from the argument's dtype to the node's
  | "bitcast";

export type ReduceOp = "add" | "mul" | "min" | "max";

/** A node as another one sees it. */
export interface Arg {
  readonly node: Node;
  readonly view: View;
}

interface Value {
  readonly id: number;
  /** The number of the recomputation that it is part of: it is computed as late as possible (`remat`). */
  readonly recomputed?: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
}

export type Node = Value &
  (
    | { readonly op: "input"; readonly index: number }
    | { readonly op: "constant"; readonly data: TypedArray }
    | { readonly op: "literal"; readonly value: number }
    /** The coordinate along an axis. */
    | { readonly op: "iota"; readonly axis: number }
    | { readonly op: "map"; readonly fn: MapOp; readonly args: readonly Arg[] }
    /** Over the axes of the argument's view; the others remain, in order. */
    | { readonly op: "reduce"; readonly fn: ReduceOp; readonly args: readonly [Arg]; readonly axes: readonly number[] }
    /** The sum over the last axis of the product; both views have the node's shape with that axis behind it. Dimensions that one of them repeats (stride 0) are free ones of the other. */
    | { readonly op: "dot"; readonly args: readonly [Arg, Arg] }
    /** Images and kernels, for engines that ask for convolutions whole (`WHOLE_CONVOLUTIONS`). */
    | { readonly op: "conv"; readonly args: readonly [Arg, Arg]; readonly params: ConvParams }
    /** Puts each argument at its place; what none of them covers is 0. Concatenation and padding are written so. */
    | { readonly op: "assemble"; readonly args: readonly Arg[]; readonly places: readonly (readonly number[])[] }
    /** Rows of the first argument, along its first axes (as many as there are index arguments), by int32 coordinates whose views have the shape of the node's leading axes. */
    | { readonly op: "gather"; readonly args: readonly [Arg, ...Arg[]] }
    /** The reverse: zeros of the node's shape, with rows of the first argument put or added where the index arguments say. */
    | { readonly op: "scatter"; readonly adds: boolean; readonly args: readonly [Arg, ...Arg[]] }
    /** The windows of an array added up again: the reverse of the move `windows`. */
    | {
        readonly op: "windowsAdd";
        readonly args: readonly [Arg];
        readonly window: readonly number[];
        readonly strides: readonly number[];
      }
    /** The first argument as it is, computed before what uses it and not merged with it; the others are computed before it. */
    | { readonly op: "barrier"; readonly args: readonly [Arg, ...Arg[]] }
    /** Along the last axis; the argument is seen whole. */
    | { readonly op: "sort" | "argsort"; readonly args: readonly [Arg] }
    /** Threefry of a key (two words, of the node's shape) and a counter that restarts for each key, every `period` numbers. */
    | {
        readonly op: "randomBits";
        readonly args: readonly [Arg, Arg];
        readonly mode: "xor" | 0 | 1;
        readonly period: number;
      }
  );

export interface Graph {
  /** Every node after those it depends on; all of them are needed. */
  readonly nodes: readonly Node[];
  readonly inputs: readonly { readonly shape: readonly number[]; readonly dtype: DType }[];
  readonly outputs: readonly Arg[];
  /** Nodes that get memory of their own, whatever an engine would rather do: where barriers were. */
  readonly stored?: ReadonlySet<Node>;
}

// Leaves out what no output depends on.

export function keepLive(graph: Graph): Graph {
  const live = new Set<Node>(graph.outputs.map(({ node }) => node));
  // Backwards, since users of a node come after it.
  for (const node of graph.nodes.toReversed()) {
    if (live.has(node) && "args" in node) for (const arg of node.args) live.add(arg.node);
  }
  return { ...graph, nodes: graph.nodes.filter((node) => live.has(node)) };
}
