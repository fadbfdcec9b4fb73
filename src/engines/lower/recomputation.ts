// Marks of a traced program (`nn/marks.ts`) as nodes: arrays that are stored, and computations that wait until their
// results are used.
import { recomputationEnds, STORED } from "../../nn/marks.ts";
import type { GraphBuilder } from "./builder.ts";
import type { Arg, Graph, Node } from "./graph.ts";
import type { Atom, Equation, Traced } from "./trace.ts";

/** Counts `stop_gradient` in a row while a program is lowered. */
export class Marks {
  readonly #graph: GraphBuilder;
  readonly #rows = new Map<Atom, { readonly times: number; readonly x: Arg }>();
  /** The depth of the recomputation that the last mark began; undefined after anything else. */
  #begun: number | undefined;

  /** Results that one more `stop_gradient` uses, and nothing else: a row that is used by others ends there. */
  readonly #continued: ReadonlySet<Atom>;

  constructor(graph: GraphBuilder, { equations, outs }: Pick<Traced, "equations" | "outs">) {
    this.#graph = graph;
    const uses = new Map<Atom, number>();
    for (const atom of [...equations.flatMap(({ inputs }) => inputs), ...outs])
      uses.set(atom, (uses.get(atom) ?? 0) + 1);
    const stops = equations.filter(({ primitive }) => primitive === "stop_gradient");
    this.#continued = new Set(stops.map(({ inputs }) => inputs[0]!).filter((atom) => uses.get(atom) === 1));
  }

  /** What a `stop_gradient` of `x` is. */
  stopGradient({ inputs: [from], outBinders: [to] }: Equation, x: Arg): Arg {
    const before = (this.#continued.has(from!) && this.#rows.get(from!)) || { times: 0, x };
    const row = { times: before.times + 1, x: before.x };
    this.#rows.set(to!, row);
    return row.times === 1 || this.#continued.has(to!) ? row.x : this.#marked(row.x, row.times);
  }

  /** Any other equation. */
  pass(): void {
    this.#begun = undefined;
  }

  #marked(x: Arg, times: number): Arg {
    if (times === STORED) return this.#graph.stored(x);
    const depth = Math.floor((times - 3) / 2);
    if (times === recomputationEnds(depth)) {
      this.#graph.endRecomputation(depth);
      return x;
    }
    // A recomputation begins with several arrays, one mark after the other.
    if (this.#begun !== depth) this.#graph.beginRecomputation(depth);
    this.#begun = depth;
    return this.#graph.recomputed(x);
  }
}

/**
 * Every node that is recomputed stands before the first that uses it, and begins after what else that one uses: the
 * derivative that comes from behind. Gradients of weights, which jax-js computes at the end, are computed as soon as they
 * can be: until then they would hold on to what they are made of.
 */
export function recomputeLate(graph: Graph): Graph {
  if (!graph.nodes.some(({ recomputed }) => recomputed !== undefined)) return graph;
  const products = lastProducts(graph);
  const nodes: Node[] = [];
  const done = new Set<Node>();
  const gates = new Map<number, Arg | undefined>();
  const isThere = ({ node }: Arg): boolean => done.has(node) || node.recomputed !== undefined || isKnown(node);
  const add = (node: Node, gate: Arg | undefined): void => {
    if (done.has(node)) return;
    done.add(node);
    const part = node.recomputed;
    if (part !== undefined && !gates.has(part)) gates.set(part, gate);
    const own = part === undefined ? latest(node, done) : gates.get(part);
    if ("args" in node)
      for (const arg of node.args) if (arg.node.recomputed !== undefined || isKnown(arg.node)) add(arg.node, own);
    if (node.op === "barrier" && part !== undefined) {
      const after = gates.get(part);
      if (after) (node.args as unknown as Arg[]).push(after);
    }
    nodes.push(node);
    if (part !== undefined) return;
    for (const product of products.get(node) ?? [])
      if ("args" in product && product.args.every(isThere)) add(product, undefined);
  };
  for (const node of graph.nodes) if (node.recomputed === undefined) add(node, undefined);
  for (const { node } of graph.outputs) add(node, undefined);
  return { ...graph, nodes };
}

/** Products that no other product follows, such as gradients of weights, by each of their arguments. */
function lastProducts({ nodes }: Graph): ReadonlyMap<Node, readonly Node[]> {
  const isProduct = ({ op }: Node): boolean => op === "dot" || op === "conv";
  const [inner, users] = [new Set<Node>(), new Map<Node, Node[]>()];
  for (const node of nodes.toReversed()) {
    if (!("args" in node)) continue;
    const isLast = isProduct(node) && !inner.has(node);
    for (const { node: arg } of node.args) {
      if (isProduct(node) || inner.has(node)) inner.add(arg);
      if (isLast) users.set(arg, [node, ...(users.get(arg) ?? [])]);
    }
  }
  return users;
}

const isKnown = ({ op }: Node): boolean => op === "input" || op === "constant" || op === "literal" || op === "iota";

/** The argument that was computed last, of those that are. */
function latest(node: Node, done: ReadonlySet<Node>): Arg | undefined {
  if (!("args" in node)) return undefined;
  const computed = node.args.filter(
    (arg) => done.has(arg.node) && !isKnown(arg.node) && arg.node.recomputed === undefined,
  );
  return computed.reduce<Arg | undefined>((last, arg) => (last && last.node.id > arg.node.id ? last : arg), undefined);
}

/** For engines that run nodes in their order: barriers are gone, and what they stored is in `stored`. */
export function withoutBarriers(graph: Graph): Graph {
  if (!graph.nodes.some(({ op }) => op === "barrier")) return graph;
  const copies = new Map<Node, Node>();
  const stored = new Set<Node>();
  const seen = ({ node, view }: Arg): Arg => ({ node: copies.get(node)!, view });
  const nodes: Node[] = [];
  for (const node of graph.nodes) {
    if (node.op === "barrier") {
      const { node: from } = seen(node.args[0]);
      copies.set(node, from);
      stored.add(from);
      continue;
    }
    const copy = ("args" in node ? { ...node, args: node.args.map(seen) } : node) as Node;
    copies.set(node, copy);
    nodes.push(copy);
  }
  return { ...graph, nodes, outputs: graph.outputs.map(seen), stored };
}
