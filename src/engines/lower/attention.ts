// Finds attention in a graph: a softmax of scores between two products, and what its derivative makes of it. Engines with a
// kernel for it replace the products' results; what lies between is then not computed.
import { sizeOf } from "../../core/arrays.ts";
import type { Arg, Graph, MapOp, Node } from "./graph.ts";
import { argOf, both, isMap } from "./match.ts";
import { isWhole, moveAll, rowMajor, sameShape, whole } from "./view.ts";

type Dot = Extract<Node, { op: "dot" }>;
/** Batch, heads of keys, queries of a head (those of several heads if they share it), keys, features of a head. */
type Label = "B" | "H" | "T" | "S" | "D";

/** A product, and which dimension of [batch, heads of keys, its tokens, features] each of its own is. */
export interface AttentionResult {
  readonly node: Node;
  readonly order: readonly number[];
}

/**
 * Arguments are views [batch, tokens, heads, features]. Scores are multiplied by `scale`. Several heads of queries in a row may
 * share one of keys and values.
 */
export interface Attention {
  readonly scale: number;
  readonly q: Arg;
  readonly k: Arg;
  readonly v: Arg;
  readonly isCausal: boolean;
  /** Where it is not causal: a condition [batch or 1, heads or 1, queries, keys] under which a score is seen. */
  readonly seen: Arg | undefined;
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
  const grid = gridOf(out.args[side]!);
  const labels = grid && labelsOf(out.args[side]!, grid);
  if (!grid || labels?.at(-1) !== "S") return undefined;
  const v = operand(out.args[1 - side]!, labels, "T", ["B", "S", "H", "D"]);
  const inner: readonly Label[] = [...SCORES, "D"];
  const sides = pairOf(scores, inner, ["B", "T", "H", "D"], ["B", "S", "H", "D"]);
  if (!v || !sides) return undefined;
  const [q, k] = sides;
  const isCausal = mask !== undefined && isCausalMask(mask);
  const seen = isCausal ? undefined : mask && repeatedOnce(mask);
  const forward = { scale, k, v, isCausal, seen, out: resultOf(out, labels) };
  const found = { ...forward, q, exponential, reciprocal, weights, mask: mask?.node, grid };
  const backward = backwardOf(found, users);
  const tokens = weights.shape[2]!;
  const apart = headsApart(q, tokens);
  if (!apart || (mask && !isCausal && !seen)) return undefined;
  if (!backward) return { ...forward, q: apart };
  const outGradient = headsApart(backward.outGradient, tokens);
  return outGradient && { ...forward, q: apart, backward: { ...backward, outGradient } };
}

/** [batch, tokens, heads, features] of a view [batch, queries, heads of keys, features]. */
function headsApart({ node, view }: Arg, tokens: number): Arg | undefined {
  const [batch, queries, heads, features] = view.shape as readonly [number, number, number, number];
  const group = queries / tokens;
  if (group === 1) return { node, view };
  const apart = moveAll(view, [
    { kind: "reshape", shape: [batch, group, tokens, heads, features] },
    { kind: "permute", order: [0, 2, 3, 1, 4] },
    { kind: "reshape", shape: [batch, tokens, heads * group, features] },
  ]);
  return apart && { node, view: apart };
}

/** Without what the view repeats in its first two dimensions. */
function repeatedOnce({ node, view }: Arg): Arg | undefined {
  const ranges = view.shape.map((n, i) => [0, i < 2 && view.strides[i] === 0 ? 1 : n] as const);
  const once = node.op === "literal" ? undefined : moveAll(view, [{ kind: "slice", ranges }]);
  return once && { node, view: once };
}

interface Softmax {
  readonly exponential: Node;
  readonly reciprocal: Node;
  readonly scores: Dot;
  readonly scale: number;
  /** The condition under which a score is seen. */
  readonly mask: Arg | undefined;
}

/** exp(m − max m) / Σ exp(m − max m), where m are scores, masked or not. */
function softmaxOf(weights: Node): Softmax | undefined {
  const [exponential, reciprocal] = pair(weights, "mul", (a, b) => isMap(a, "exp") && isMap(b, "reciprocal")) ?? [];
  if (!exponential || !reciprocal) return undefined;
  const sum = argOf(reciprocal);
  const shifted = argOf(exponential);
  const [masked, minusMost] = pair(shifted, "add", (a, b) => isMap(b, "neg") && a !== b) ?? [];
  const most = argOf(minusMost);
  if (!masked || !isReduced(sum, "add", exponential) || !isReduced(most, "max", masked)) return undefined;
  if (!isMap(masked, "where")) {
    const product = scaledProduct(masked);
    return product && { exponential, reciprocal, ...product, mask: undefined };
  }
  const [mask, scores, { node: hidden }] = masked.args as readonly [Arg, Arg, Arg];
  const product = isWhole(scores.view) ? scaledProduct(scores.node) : undefined;
  const isHidden = hidden.op === "literal" && hidden.value <= -1e9;
  if (!product || !isHidden) return undefined;
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
    sameShape(view.strides, [0, 0, tokens!, 1]) &&
    counts(column) &&
    counts(row) &&
    sameShape(column.view.strides, [0, 1]) &&
    sameShape(row.view.strides, [1, 0])
  );
}

type Found = Omit<Attention, "backward"> &
  Omit<Softmax, "scores" | "mask"> & { readonly weights: Node; readonly mask: Node | undefined; readonly grid: Grid };

/** The gradients of q, k and v, if all three are there. */
function backwardOf(found: Found, users: ReadonlyMap<Node, readonly Node[]>): Attention["backward"] {
  const { exponential, mask, scale, weights, grid, q, k, v } = found;
  const uses = (node: Node): readonly Node[] => users.get(node) ?? [];
  for (const product of uses(exponential)) {
    const [, change] = pair(product, "mul", (a, b) => a === exponential && isMap(b, "add")) ?? [];
    const gradient = change && weightsGradient(change, found);
    const masked = mask ? uses(product).find((node) => isMap(node, "where") && node.args[0]!.node === mask) : product;
    const scored = masked && (scale === 1 ? masked : uses(masked).find((node) => timesNumber(node)?.[1] === scale));
    if (!gradient || !scored) continue;
    const sides = pairOf(gradient, [...SCORES, "D"], ["B", "T", "H", "D"], ["B", "S", "H", "D"]);
    if (!sides || !sameArg(sides[1], v)) continue;
    const [outGradient] = sides;
    const dq = productWith(uses(scored), grid, scored, "S", "T", k, ["B", "S", "H", "D"]);
    const dk = productWith(uses(scored), grid, scored, "T", "S", q, ["B", "T", "H", "D"]);
    const dv = productWith(uses(weights), grid, weights, "T", "S", outGradient, ["B", "T", "H", "D"]);
    if (dq && dk && dv) return { outGradient, q: dq, k: dk, v: dv };
  }
  return undefined;
}

/** In g/s − (Σ e g)/s², which times e is the derivative of the scores: the product that is g, if it is that. */
function weightsGradient(change: Node, { exponential, reciprocal }: Found): Dot | undefined {
  const [scaled, shift] = pair(change, "add", (a) => isMap(a, "mul") && reads(a, reciprocal)) ?? [];
  const [gradient] = pair(scaled, "mul", (a, b) => a.op === "dot" && b === reciprocal) ?? [];
  const [minus, total] = pair(shift, "mul", (a, b) => isMap(a, "neg") && b.op === "reduce") ?? [];
  const squared = pair(argOf(minus), "mul", (a, b) => a === reciprocal && b === reciprocal);
  if (!gradient || !total || !squared || total.op !== "reduce" || total.fn !== "add") return undefined;
  const isTotal = pair(total.args[0].node, "mul", (a, b) => a === exponential && b === gradient);
  return isTotal && sameShape(total.axes, [3]) ? (gradient as Dot) : undefined;
}

/** The product of scores with `other`, summed over one label; `repeated` is the one that `other` does not have. */
function productWith(
  users: readonly Node[],
  grid: Grid,
  scores: Node,
  summed: Label,
  repeated: Label,
  other: Arg,
  order: readonly Label[],
): AttentionResult | undefined {
  for (const node of users) {
    if (node.op !== "dot") continue;
    const side = node.args.findIndex((arg) => arg.node === scores);
    const labels = labelsOf(node.args[side]!, grid);
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

/** Sizes of scores by their labels: those of heads that share keys are rows of one matrix in products, and apart between them. */
type Grid = readonly [batch: number, heads: number, queries: number, keys: number];

/** From how a product looks at scores. */
function gridOf({ node, view }: Arg): Grid | undefined {
  const own = view.shape.flatMap((n, i) => (view.strides[i] === 0 ? [] : [[n, view.strides[i]!] as const]));
  const sizes = own.toSorted(([, a], [, b]) => b - a).map(([n]) => n);
  const isWithin = sizes.length === 4 && sizes.reduce((a, b) => a * b) === sizeOf(node.shape);
  const [queries, tokens] = [sizes[2]!, node.shape[2]!];
  return isWithin && queries % tokens === 0 ? (sizes as unknown as Grid) : undefined;
}

/** What each dimension of a product is, from how it looks at scores. */
function labelsOf({ view }: Arg, [, heads, queries, keys]: Grid): readonly Label[] | undefined {
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
  const places = order.map((label) => labels.indexOf(label));
  const plain = rearranged(
    arg,
    places.map((i) => shape[i]!),
    places.map((i) => arg.view.strides[i]!),
  );
  if (plain) return plain;
  const view = moveAll(arg.view, [
    { kind: "slice", ranges: shape.map((n, i) => [0, i === axis ? 1 : n] as const) },
    { kind: "reshape", shape: shape.filter((_, i) => i !== axis) },
    { kind: "permute", order: order.map((label) => rest.indexOf(label)) },
  ]);
  return view && { node: arg.node, view };
}

/** All of the node's numbers in this order, as one reshape and one permutation; undefined if they are not all of them. */
function rearranged({ node, view }: Arg, shape: readonly number[], strides: readonly number[]): Arg | undefined {
  const outer = [...shape.keys()].sort((a, b) => strides[b]! - strides[a]!);
  const runs = outer.map((i) => shape[i]!);
  const isAll = view.offset === 0 && sizeOf(shape) === sizeOf(node.shape);
  const expected = rowMajor(runs);
  if (!isAll || !outer.every((i, at) => shape[i] === 1 || strides[i] === expected[at])) return undefined;
  const plain = moveAll(whole(node.shape), [
    { kind: "reshape", shape: runs },
    { kind: "permute", order: shape.map((_, i) => outer.indexOf(i)) },
  ]);
  return plain && { node, view: plain };
}

const sameArg = (a: Arg, b: Arg): boolean =>
  a.node === b.node && sameShape(a.view.strides, b.view.strides) && a.view.offset === b.view.offset;

const reads = (node: Node, what: Node): boolean => "args" in node && node.args.some((arg) => arg.node === what);

/** As they are, or as rows for all keys. */
const pair = (node: Node | undefined, fn: MapOp, fits: (a: Node, b: Node) => boolean) => both(node, fn, fits, isPlain);

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
    sameShape(node.axes, [3])
  );
}
