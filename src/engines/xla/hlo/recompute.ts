// Which results of elementwise functions are computed a second time instead of being kept. XLA repeats cheap functions
// where they are needed, but never an exponential or a quotient: what a backward pass needs of an activation such as GELU
// it writes to memory in the forward pass, in float32, and reads back. Computing it again takes less time than that.
import { sizeOf } from "../../../core/arrays.ts";
import type { Graph, MapOp, Node } from "../../lower/graph.ts";
import { SMALLEST } from "./precision.ts";

/** What XLA does not repeat of its own accord. */
const EXPENSIVE: ReadonlySet<MapOp> = new Set([
  "reciprocal",
  "idiv",
  "mod",
  "sqrt",
  "exp",
  "log",
  "sin",
  "cos",
  "asin",
  "atan",
  "erf",
  "erfc",
]);
const LONGEST_CHAIN = 64;

export interface Recomputed {
  /** Results that their late readers compute again. */
  readonly nodes: ReadonlySet<Node>;
  /** What they are computed from again. */
  readonly bases: ReadonlySet<Node>;
  /** Is `reader` so much later than `node` that nothing could compute both at once? */
  isLate(node: Node, reader: Node): boolean;
}

/** `bytes` of a number as the program keeps it. */
export function recomputed(graph: Graph, bytes: (node: Node) => number): Recomputed {
  const depths = productsBefore(graph);
  const isLate = (node: Node, reader: Node): boolean =>
    (reader.op === "map" || reader.op === "reduce") && depths.get(reader)! > depths.get(node)!;
  const held = new Set<Node>();
  for (const reader of graph.nodes) {
    if ("args" in reader) for (const { node } of reader.args) if (isLate(node, reader)) held.add(node);
  }
  const [nodes, bases] = [new Set<Node>(), new Set<Node>()];
  for (const node of graph.nodes) {
    if (node.op !== "map" || node.dtype !== "float32" || !held.has(node) || sizeOf(node.shape) < SMALLEST) continue;
    const from = basesOf(node);
    if (!from) continue;
    // What is kept for others as well costs nothing.
    const kept = from.filter((base) => !held.has(base) && sizeOf(base.shape) > 1 && base.op !== "input");
    const cost = kept.reduce((sum, base) => sum + sizeOf(base.shape) * bytes(base), 0);
    if (cost >= sizeOf(node.shape) * bytes(node)) continue;
    nodes.add(node);
    for (const base of from) bases.add(base);
    for (const base of kept) held.add(base);
  }
  return { nodes, bases, isLate };
}

/** What a map is computed from by maps of its size. Undefined if these are cheap: XLA repeats them itself. */
function basesOf(node: Node): Node[] | undefined {
  const size = sizeOf(node.shape);
  const [chain, bases] = [new Set<Node>([node]), new Set<Node>()];
  let isExpensive = false;
  for (const each of chain) {
    if (each.op !== "map") continue;
    isExpensive ||= EXPENSIVE.has(each.fn);
    for (const arg of each.args) {
      if (arg.node.op === "map" && sizeOf(arg.node.shape) === size) chain.add(arg.node);
      else if (arg.node.op !== "literal" && arg.node.op !== "iota") bases.add(arg.node);
    }
    if (chain.size > LONGEST_CHAIN) return undefined;
  }
  return isExpensive ? [...bases] : undefined;
}

/** How many products lie one behind the other before each node. */
function productsBefore({ nodes }: Graph): ReadonlyMap<Node, number> {
  const depths = new Map<Node, number>();
  for (const node of nodes) {
    const before = "args" in node ? Math.max(0, ...node.args.map((arg) => depths.get(arg.node)!)) : 0;
    depths.set(node, before + (node.op === "dot" || node.op === "conv" ? 1 : 0));
  }
  return depths;
}
