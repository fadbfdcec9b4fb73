// Zeros with a part each, added up, are one array of parts. jax-js puts the gradient of a pooled image together from such
// sums, and so that of an array that was split.
import { sizeOf } from "../../../core/arrays.ts";
import { type Arg, type Graph, keepLive, type Node } from "../../lower/graph.ts";
import { isWhole, move, moveAll, sameShape, whole } from "../../lower/view.ts";

type Shape = readonly number[];
type Parts = Extract<Node, { op: "assemble" }>;
/** What `assemble` consists of. */
type Pieces = Pick<Parts, "args" | "places" | "shape">;

export function joinAssembled(graph: Graph): Graph {
  if (!graph.nodes.some(({ op }) => op === "assemble")) return graph;
  const uses = new Map<Node, number>();
  for (const { node } of [...graph.nodes.flatMap(argsOf), ...graph.outputs]) uses.set(node, (uses.get(node) ?? 0) + 1);
  /** Of nodes that are not what they were. */
  const copies = new Map<Node, Node>();
  /** A copy may have its dimensions in smaller pieces. */
  const seen = ({ node, view }: Arg): Arg => {
    const copy = copies.get(node) ?? node;
    if (copy === node || sameShape(copy.shape, node.shape)) return { node: copy, view };
    return { node: copy, view: moveAll(whole(copy.shape), [{ kind: "reshape", shape: node.shape }, ...view.moves])! };
  };
  /** The parts behind an argument that shows all of them in order, if nobody else uses them. */
  const partsOf = (arg: Arg): Parts | undefined => {
    if (uses.get(arg.node) !== 1) return undefined;
    const { node, view } = seen(arg);
    const isAll = node.op === "assemble" && isWhole(view) && sizeOf(view.shape) === sizeOf(node.shape);
    return isAll ? node : undefined;
  };
  for (const node of graph.nodes) {
    const args = argsOf(node);
    const pieces =
      node.op === "assemble" ? flattened(node, args.map(partsOf)) : isSum(node) ? joined(args.map(partsOf)) : undefined;
    if (pieces) {
      const { id, dtype, recomputed } = node;
      copies.set(node, { id, dtype, ...(recomputed !== undefined && { recomputed }), op: "assemble", ...pieces });
    } else if (args.some((arg) => copies.has(arg.node))) {
      copies.set(node, { ...node, args: args.map(seen) } as Node);
    }
  }
  if (copies.size === 0) return graph;
  const now = (node: Node): Node => copies.get(node) ?? node;
  const stored = graph.stored && new Set([...graph.stored].map(now));
  return keepLive({
    ...graph,
    nodes: graph.nodes.map(now),
    outputs: graph.outputs.map(seen),
    ...(stored && { stored }),
  });
}

const argsOf = (node: Node): readonly Arg[] => ("args" in node ? node.args : []);
const isSum = (node: Node): boolean => node.op === "map" && node.fn === "add";

/** Both arrays of a sum, if no part of one meets a part of the other. */
function joined([a, b]: readonly (Parts | undefined)[]): Pieces | undefined {
  if (!a || !b || !sameShape(a.shape, b.shape)) return undefined;
  const meets = (i: number, j: number): boolean =>
    a.shape.every((_, axis) => {
      const [from, to] = [a.places[i]![axis]!, b.places[j]![axis]!];
      return from < to + b.args[j]!.view.shape[axis]! && to < from + a.args[i]!.view.shape[axis]!;
    });
  if (a.args.some((_, i) => b.args.some((__, j) => meets(i, j)))) return undefined;
  return { shape: a.shape, args: [...a.args, ...b.args], places: [...a.places, ...b.places] };
}

/** Parts of parts; all of the arguments are such, and look at theirs as a whole. */
function flattened(outer: Parts, inner: readonly (Parts | undefined)[]): Pieces | undefined {
  const pieces = inner.map((parts, i) => parts && nested(outer, i, parts));
  const [first] = pieces;
  if (!first || !pieces.every((each) => each && sameShape(each.shape, first.shape))) return undefined;
  return {
    shape: first.shape,
    args: pieces.flatMap((each) => each!.args),
    places: pieces.flatMap((each) => each!.places),
  };
}

/** The parts behind argument `i` at their places in the outer array, whose dimensions are split as those of both. */
function nested({ shape, places, args }: Parts, i: number, inner: Parts): Pieces | undefined {
  const size = args[i]!.view.shape;
  const place = places[i]!;
  const factors = factorsOf(size, inner.shape);
  if (!factors) return undefined;
  const count = (side: "outer" | "inner", axis: number): number => factors.filter((f) => f[side] === axis).length;
  const isSplit = (side: "outer" | "inner", axis: number): boolean => count(side, axis) > 1;
  if (size.some((n, axis) => isSplit("outer", axis) && n !== shape[axis])) return undefined;
  const made: Arg[] = [];
  const at: number[][] = [];
  for (const [j, { node, view }] of inner.args.entries()) {
    if (view.shape.some((n, axis) => isSplit("inner", axis) && n !== inner.shape[axis])) return undefined;
    const own = (axis: number | undefined): axis is number => axis !== undefined && !isSplit("inner", axis);
    const split = move(view, {
      kind: "reshape",
      shape: factors.map((f) => (own(f.inner) ? view.shape[f.inner]! : f.size)),
    });
    if (!split) return undefined;
    made.push({ node, view: split });
    at.push(
      factors.map((f) => {
        const before = f.outer === undefined || isSplit("outer", f.outer) ? 0 : place[f.outer]!;
        return before + (own(f.inner) ? inner.places[j]![f.inner]! : 0);
      }),
    );
  }
  const whole = factors.map((f) => (f.outer === undefined || isSplit("outer", f.outer) ? f.size : shape[f.outer]!));
  return { shape: whole, args: made, places: at };
}

interface Factor {
  readonly size: number;
  /** The dimensions of both shapes of which it is one. */
  readonly outer: number | undefined;
  readonly inner: number | undefined;
}

/** Sizes into which the dimensions of both shapes can be split; undefined where one is no multiple of the other. */
function factorsOf(outer: Shape, inner: Shape): Factor[] | undefined {
  if (sizeOf(outer) === 0) return undefined;
  const factors: Factor[] = [];
  let [i, j] = [0, 0];
  let [left, right] = [outer[0], inner[0]];
  while (left !== undefined || right !== undefined) {
    const ones = outer[i] === 1 || inner[j] === 1;
    const size = ones ? 1 : Math.min(left!, right!);
    if (!ones && (left! % size !== 0 || right! % size !== 0)) return undefined;
    const isOuter = !ones || outer[i] === 1;
    const isInner = !ones || !isOuter;
    factors.push({ size, outer: isOuter ? i : undefined, inner: isInner ? j : undefined });
    if (isOuter) left = left === size ? outer[++i] : left! / size;
    if (isInner) right = right === size ? inner[++j] : right! / size;
  }
  return factors;
}
