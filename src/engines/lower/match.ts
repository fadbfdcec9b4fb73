// What patterns in a graph are made of.
import type { Arg, MapOp, Node } from "./graph.ts";
import { isWhole, sameShape } from "./view.ts";

export type MapNode = Extract<Node, { op: "map" }>;

export const isMap = (node: Node | undefined, fn: MapOp): node is MapNode => node?.op === "map" && node.fn === fn;
export const argOf = (node: Node | undefined): Node | undefined =>
  node?.op === "map" ? node.args[0]!.node : undefined;

/** Is it a computed array as it is: not a number, and not in another shape? */
export const isItself = ({ node, view }: Arg): boolean =>
  node.op !== "literal" && isWhole(view) && sameShape(view.shape, node.shape);

/** The two arguments of a map, in the order in which they fit. `isSeen`: how they may be seen. */
export function both(
  node: Node | undefined,
  fn: MapOp,
  fits: (a: Node, b: Node) => boolean,
  isSeen: (arg: Arg) => boolean = isItself,
): readonly [Node, Node] | undefined {
  if (!isMap(node, fn) || node.args.length !== 2 || !node.args.every(isSeen)) return undefined;
  const [a, b] = node.args.map((arg) => arg.node) as [Node, Node];
  if (fits(a, b)) return [a, b];
  return fits(b, a) ? [b, a] : undefined;
}
