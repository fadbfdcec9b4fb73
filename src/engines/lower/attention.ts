// Finds attention in a graph: a softmax of scores between two products, and what its derivative makes of it. Engines with a
// kernel for it replace the products' results; what lies between is then not computed.
import type { Arg, Graph, MapOp, Node } from "./graph.ts";
import { isWhole, moveAll } from "./view.ts";

type Dot = Extract<Node, { op: "dot" }>;
/** Batch, heads, queries, keys, features of a head. */
type Label = "B" | "H" | "T" | "S" | "D";

/** A product, and which dimension of [batch, heads, tokens, features] each of its own is. */
export interface AttentionResult {
  readonly node: Node;
  readonly order: readonly number[];
}

/** Arguments are views [batch, tokens, heads, features]. Scores are multiplied by `scale`. */
export interface Attention {
  readonly scale: number;
  readonly q: Arg;
  readonly k: Arg;
  readonly v: Arg;
  readonly isCausal: boolean;
  readonly out: AttentionResult;
  readonly backward?: {
    readonly outGradient: Arg;
    readonly q: AttentionResult;
    readonly k: AttentionResult;
    readonly v: AttentionResult;
  };
}

export function findAttention({ nodes }: Graph): Attention[] {
  const users = new Map<Node, Node[]>();
  for (const node of nodes) {
    if ("args" in node) for (const arg of new Set(node.args.map((one) => one.node))) push(users, arg, node);
  }
  return nodes.flatMap((node) => (node.op === "dot" ? (matched(node, users) ?? []) : []));
}

function push(users: Map<Node, Node[]>, key: Node, user: Node): void {
  const known = users.get(key);
  if (known) known.push(user);
  else users.set(key, [user]);
}

const SCORES: readonly Label[] = ["B", "H", "T", "S"];

function matched(out: Dot, users: ReadonlyMap<Node, readonly Node[]>): Attention | undefined {
  const side = out.args.findIndex(({ node }) => isMap(node, "mul"));
  const weights = out.args[side]?.node;
  if (!weights || weights.shape.length !== 4 || weights.shape.some((n) => n === 1)) return undefined;
  const softmax = softmaxOf(weights);
  if (!softmax) return undefined;
  const { exponential, reciprocal, scores, scale, mask } = softmax;
  const labels = labelsOf(out.args[side]!);
  if (labels?.at(-1) !== "S") return undefined;
  const v = operand(out.args[1 - side]!, labels, "T", ["B", "S", "H", "D"]);
  const inner: readonly Label[] = [...SCORES, "D"];
  const sides = pairOf(scores, inner, ["B", "T", "H", "D"], ["B", "S", "H", "D"]);
  if (!v || !sides) return undefined;
  const [q, k] = sides;
  const forward = { scale, q, k, v, isCausal: mask !== undefined, out: resultOf(out, labels) };
  const backward = backwardOf({ ...forward, exponential, reciprocal, weights, mask }, users);
  return backward ? { ...forward, backward } : forward;
}

interface Softmax {
  readonly exponential: Node;
  readonly reciprocal: Node;
  readonly scores: Dot;
  readonly scale: number;
  /** The condition under which a score is seen: keys up to the query's own place. */
  readonly mask: Node | undefined;
}

/** exp(m − max m) / Σ exp(m − max m), where m are scores, masked or not. */
function softmaxOf(weights: Node): Softmax | undefined {
  const [exponential, reciprocal] = both(weights, "mul", (a, b) => isMap(a, "exp") && isMap(b, "reciprocal")) ?? [];
  if (!exponential || !reciprocal) return undefined;
  const sum = argOf(reciprocal);
  const shifted = argOf(exponential);
  const [masked, minusMost] = both(shifted, "add", (a, b) => isMap(b, "neg") && a !== b) ?? [];
  const most = argOf(minusMost);
  if (!masked || !isReduced(sum, "add", exponential) || !isReduced(most, "max", masked)) return undefined;
  if (!isMap(masked, "where")) {
    const product = scaledProduct(masked);
    return product && { exponential, reciprocal, ...product, mask: undefined };
  }
  const [mask, scores, hidden] = masked.args.map(({ node }) => node) as [Node, Node, Node];
  const product = isWhole(masked.args[1]!.view) ? scaledProduct(scores) : undefined;
  const isHidden = hidden.op === "literal" && hidden.value <= -1e9;
  if (!product || !isHidden || !isCausalMask(masked.args[0]!)) return undefined;
  return { exponential, reciprocal, ...product, mask };
}

/** A product, or one times a number: jax-js's `dotProductAttention` scales the scores, `multiHeadAttention` the queries. */
function scaledProduct(node: Node): { readonly scores: Dot; readonly scale: number } | undefined {
  if (node.op === "dot") return { scores: node, scale: 1 };
  const [scores, scale] = timesNumber(node) ?? [];
  return scores?.op === "dot" ? { scores, scale: scale! } : undefined;
}

/** Both sides of a product of an array, as it is, with a number. */
function timesNumber(node: Node): readonly [Node, number] | undefined {
  if (!isMap(node, "mul")) return undefined;
  const side = node.args.findIndex((arg) => arg.node.op === "literal");
  const [number, other] = [node.args[side]?.node, node.args[1 - side]];
  return number?.op === "literal" && other && isWhole(other.view) ? [other.node, number.value] : undefined;
}

/** Is it true where the column is not after the row? */
function isCausalMask({ node, view }: Arg): boolean {
  const [tokens, keys] = view.shape.slice(2);
  if (!isMap(node, "lessEqual") || tokens !== keys) return false;
  const [column, row] = node.args as readonly [Arg, Arg];
  const counts = ({ node: iota }: Arg): boolean => iota.op === "iota" && iota.shape.length === 1;
  return (
    same(view.strides, [0, 0, tokens!, 1]) &&
    counts(column) &&
    counts(row) &&
    same(column.view.strides, [0, 1]) &&
    same(row.view.strides, [1, 0])
  );
}

type Found = Omit<Attention, "backward"> & Omit<Softmax, "scores"> & { readonly weights: Node };

/** The gradients of q, k and v, if all three are there. */
function backwardOf(found: Found, users: ReadonlyMap<Node, readonly Node[]>): Attention["backward"] {
  const { exponential, mask, scale, weights, q, k, v } = found;
  const uses = (node: Node): readonly Node[] => users.get(node) ?? [];
  for (const product of uses(exponential)) {
    const [, change] = both(product, "mul", (a, b) => a === exponential && isMap(b, "add")) ?? [];
    const gradient = change && weightsGradient(change, found);
    const masked = mask ? uses(product).find((node) => isMap(node, "where") && node.args[0]!.node === mask) : product;
    const scored = masked && (scale === 1 ? masked : uses(masked).find((node) => timesNumber(node)?.[1] === scale));
    if (!gradient || !scored) continue;
    const sides = pairOf(gradient, [...SCORES, "D"], ["B", "T", "H", "D"], ["B", "S", "H", "D"]);
    if (!sides || !sameArg(sides[1], v)) continue;
    const [outGradient] = sides;
    const dq = productWith(uses(scored), scored, "S", "T", k, ["B", "S", "H", "D"]);
    const dk = productWith(uses(scored), scored, "T", "S", q, ["B", "T", "H", "D"]);
    const dv = productWith(uses(weights), weights, "T", "S", outGradient, ["B", "T", "H", "D"]);
    if (dq && dk && dv) return { outGradient, q: dq, k: dk, v: dv };
  }
  return undefined;
}

/** In g/s − (Σ e g)/s², which times e is the derivative of the scores: the product that is g, if it is that. */
function weightsGradient(change: Node, { exponential, reciprocal }: Found): Dot | undefined {
  const [scaled, shift] = both(change, "add", (a) => isMap(a, "mul") && reads(a, reciprocal)) ?? [];
  const [gradient] = both(scaled, "mul", (a, b) => a.op === "dot" && b === reciprocal) ?? [];
  const [minus, total] = both(shift, "mul", (a, b) => isMap(a, "neg") && b.op === "reduce") ?? [];
  const squared = both(argOf(minus), "mul", (a, b) => a === reciprocal && b === reciprocal);
  if (!gradient || !total || !squared || total.op !== "reduce" || total.fn !== "add") return undefined;
  const isTotal = both(total.args[0].node, "mul", (a, b) => a === exponential && b === gradient);
  return isTotal && same(total.axes, [3]) ? (gradient as Dot) : undefined;
}

/** The product of scores with `other`, summed over one label; `repeated` is the one that `other` does not have. */
function productWith(
  users: readonly Node[],
  scores: Node,
  summed: Label,
  repeated: Label,
  other: Arg,
  order: readonly Label[],
): AttentionResult | undefined {
  for (const node of users) {
    if (node.op !== "dot") continue;
    const side = node.args.findIndex((arg) => arg.node === scores);
    const labels = labelsOf(node.args[side]!);
    if (labels?.at(-1) !== summed) continue;
    const given = operand(node.args[1 - side]!, labels, repeated, order);
    if (given && sameArg(given, other)) return resultOf(node, labels);
  }
  return undefined;
}

function resultOf(node: Node, labels: readonly Label[]): AttentionResult {
  const place = (label: Label): number => ["B", "H", label === "S" ? "S" : "T", "D"].indexOf(label);
  return { node, order: labels.slice(0, -1).map(place) };
}

/** Both sides of a product, the one that repeats keys first. */
function pairOf(dot: Dot, labels: readonly Label[], first: readonly Label[], second: readonly Label[]) {
  for (const side of [0, 1] as const) {
    const a = operand(dot.args[side], labels, "S", first);
    const b = operand(dot.args[side === 0 ? 1 : 0], labels, "T", second);
    if (a && b) return [a, b] as const;
  }
  return undefined;
}

/** What each dimension of a product is, from how it looks at scores. */
function labelsOf({ node, view }: Arg): readonly Label[] | undefined {
  const [, heads, queries, keys] = node.shape as readonly [number, number, number, number];
  const strides = [heads * queries * keys, queries * keys, keys, 1];
  const labels = view.strides.map((stride): Label => (stride === 0 ? "D" : (SCORES[strides.indexOf(stride)] ?? "D")));
  return view.offset === 0 && new Set(labels).size === 5 ? labels : undefined;
}

/** The argument without the dimension that it repeats, in another order. */
function operand(arg: Arg, labels: readonly Label[], repeated: Label, order: readonly Label[]): Arg | undefined {
  const axis = labels.indexOf(repeated);
  if (arg.view.strides[axis] !== 0 || arg.node.op === "literal") return undefined;
  const rest = labels.filter((label) => label !== repeated);
  const { shape } = arg.view;
  const view = moveAll(arg.view, [
    { kind: "slice", ranges: shape.map((n, i) => [0, i === axis ? 1 : n] as const) },
    { kind: "reshape", shape: shape.filter((_, i) => i !== axis) },
    { kind: "permute", order: order.map((label) => rest.indexOf(label)) },
  ]);
  return view && { node: arg.node, view };
}

const same = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((n, i) => n === b[i]);

const sameArg = (a: Arg, b: Arg): boolean =>
  a.node === b.node && same(a.view.strides, b.view.strides) && a.view.offset === b.view.offset;

type MapNode = Extract<Node, { op: "map" }>;
const isMap = (node: Node | undefined, fn: MapOp): node is MapNode => node?.op === "map" && node.fn === fn;
const argOf = (node: Node | undefined): Node | undefined => (node?.op === "map" ? node.args[0]!.node : undefined);
const reads = (node: Node, what: Node): boolean => "args" in node && node.args.some((arg) => arg.node === what);

/** The two arguments of a map, in the order in which they fit. Each is seen as it is, or as a row for all keys. */
function both(
  node: Node | undefined,
  fn: MapOp,
  fits: (a: Node, b: Node) => boolean,
): readonly [Node, Node] | undefined {
  if (!isMap(node, fn) || node.args.length !== 2 || !node.args.every(isPlain)) return undefined;
  const [a, b] = node.args.map((arg) => arg.node) as [Node, Node];
  if (fits(a, b)) return [a, b];
  return fits(b, a) ? [b, a] : undefined;
}

function isPlain({ node, view }: Arg): boolean {
  if (isWhole(view)) return true;
  const [keys] = view.strides.slice(-1);
  const rows = view.shape.slice(0, -1);
  return keys === 0 && node.shape.filter((n) => n > 1).join() === rows.filter((n) => n > 1).join();
}

/** Over the keys of all of it. */
function isReduced(node: Node | undefined, fn: "add" | "max", of: Node): boolean {
  return (
    node?.op === "reduce" &&
    node.fn === fn &&
    node.args[0].node === of &&
    isWhole(node.args[0].view) &&
    same(node.axes, [3])
  );
}
