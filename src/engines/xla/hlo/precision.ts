// Which numbers of a program are kept in bfloat16. Products take and return bfloat16; sums, exponentials, norms, the loss
// and the optimizer compute in float32, and so does everything that mixes the two.
import type { Graph, MapOp, Node } from "../../lower/graph.ts";
import type { HloType } from "./types.ts";

/** What moves, adds or compares numbers without losing more than their rounding. */
const LIGHT: ReadonlySet<MapOp> = new Set(["copy", "add", "sub", "mul", "min", "max", "neg", "where"]);

/** How an argument of a map looks: its type, and how it lies in the result. */
export interface FloatArg {
  readonly type: HloType;
  readonly isNumber: boolean;
  /** Fewer numbers than the result, but more than one: such as a bias. */
  readonly isRepeated: boolean;
}

/** The type in which a map of these floats computes. */
export function mapType(fn: MapOp, args: readonly FloatArg[]): "f32" | "bf16" {
  const own = args.filter(({ isNumber }) => !isNumber);
  if (!LIGHT.has(fn) || !own.some(({ type }) => type === "bf16")) return "f32";
  // A bias that is added to activations takes their type; anything else in float32 makes the result float32.
  return own.every(({ type, isRepeated }) => type === "bf16" || (fn === "add" && isRepeated)) ? "bf16" : "f32";
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
