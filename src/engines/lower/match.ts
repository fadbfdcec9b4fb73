// What patterns in a graph are made of.
import type { Arg, MapOp, Node } from "./graph.ts";
import { isWhole } from "./view.ts";

export type MapNode = Extract<Node, { op: "map" }>;

export const isMap = (node: Node | undefined, fn: MapOp): node is MapNode => node?.op === "map" && node.fn === fn;
export const argOf = (node: Node | undefined): Node | undefined =>
  node?.op === "map" ? node.args[0]!.node : undefined;

/** The two arguments of a map, in the order in which they fit. `isSeen`: the views that are allowed; the default is a node as it is. */
export function both(
  node: Node | undefined,
  fn: MapOp,
  fits: (a: Node, b: Node) => boolean,
  isSeen: (arg: Arg) => boolean = ({ view }) => isWhole(view),
): readonly [Node, Node] | undefined {
  if (!isMap(node, fn) || node.args.length !== 2 || !node.args.every(isSeen)) return undefined;
  const [a, b] = node.args.map((arg) => arg.node) as [Node, Node];
  if (fits(a, b)) return [a, b];
  return fits(b, a) ? [b, a] : undefined;
}
