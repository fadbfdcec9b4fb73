// Which numbers of a program are kept in bfloat16. Products take and return bfloat16; sums, exponentials, norms, the loss
// and the optimizer compute in float32, and so does everything that mixes the two.
import { sizeOf } from "../../../core/arrays.ts";
import type { Graph, MapOp, Node } from "../../lower/graph.ts";
import type { HloType } from "./types.ts";

/** What moves, adds or compares numbers without losing more than their rounding. */
const LIGHT: ReadonlySet<MapOp> = new Set(["copy", "add", "sub", "mul", "min", "max", "neg", "where"]);

/** How an argument of a map looks: its type, and how it lies in the result. */
export interface FloatArg {
  readonly type: HloType;
  readonly isNumber: boolean;
  /** A parameter with fewer numbers than the result. A mean or a maximum of rows is none: it stays float32. */
  readonly isBias: boolean;
}

/** The type in which a map of these floats computes. */
export function mapType(fn: MapOp, args: readonly FloatArg[]): "f32" | "bf16" {
  const own = args.filter(({ isNumber }) => !isNumber);
  if (!LIGHT.has(fn) || !own.some(({ type }) => type === "bf16")) return "f32";
  // A bias that is added to activations takes their type; anything else in float32 makes the result float32.
  return own.every(({ type, isBias }) => type === "bf16" || (fn === "add" && isBias)) ? "bf16" : "f32";
}

/** Nodes from which a product follows: what the optimizer does with gradients has none behind it. */
export function beforeProducts({ nodes }: Graph): ReadonlySet<Node> {
  const before = new Set<Node>();
  for (const node of nodes.toReversed()) {
    if (!("args" in node)) continue;
    if (node.op !== "dot" && node.op !== "conv" && !before.has(node)) continue;
    for (const arg of node.op === "barrier" ? node.args.slice(0, 1) : node.args) before.add(arg.node);
  }
  return before;
}

/** Smaller arrays stay in the GPU's cache. */
export const SMALLEST = 2 ** 16;

/**
 * Sums that a product takes, and so lie in memory in bfloat16. What reads them behind that product, such as the next sum
 * along a residual path and its gradient, reads them there: a copy in float32 would be twice as many bytes to write and read.
 */
export function sumsInProducts({ nodes }: Graph): ReadonlySet<Node> {
  const operands = nodes.flatMap((node) => (node.op === "dot" || node.op === "conv" ? node.args : []));
  return new Set(
    operands.flatMap(({ node }) =>
      node.op === "map" && node.fn === "add" && node.dtype === "float32" && sizeOf(node.shape) >= SMALLEST
        ? [node]
        : [],
    ),
  );
}
