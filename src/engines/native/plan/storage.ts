// Decides which nodes get memory of their own. All others are computed where they are used.
import type { Arg, Graph, MapOp, Node } from "../../lower/graph.ts";
import { sizeOf } from "../../../core/arrays.ts";
import { following, moveAll, whole, type Move, type View } from "../../lower/view.ts";

/** A node that is computed where it is used. */
const isInline = (node: Node): boolean => node.op === "map" || node.op === "literal" || node.op === "iota";

export class Storage {
  readonly #stored = new Set<Node>();
  /** Strides of nodes whose numbers do not lie in row-major order. */
  readonly #layouts = new Map<Node, View>();
  readonly #costs = new Map<Node, number>();

  constructor(graph: Graph) {
    for (const node of graph.nodes) if (!isInline(node)) this.#stored.add(node);
    this.#storeShared(graph);
    this.#storeRepeated(graph);
  }

  has(node: Node): boolean {
    return this.#stored.has(node);
  }

  store(node: Node): void {
    this.#stored.add(node);
    this.#costs.clear();
  }

  /** How a stored node lies in memory, as a view of its shape. */
  layout(node: Node): View {
    return this.#layouts.get(node) ?? whole(node.shape);
  }

  setLayout(node: Node, view: View): void {
    this.#layouts.set(node, view);
  }

  /** How many layouts were set so far. */
  get layouts(): number {
    return this.#layouts.size;
  }

  /** All but the first so many are in row-major order again. */
  keepLayouts(count: number): void {
    keepFirst(this.#layouts, count);
  }

  /** How an argument looks at memory after these moves, if its node is stored; undefined when strides cannot say it. */
  look({ node, view }: Arg, moves: readonly Move[] = []): View | undefined {
    const layout = this.#layouts.get(node);
    return moveAll(layout ? moveAll(layout, view.moves) : view, moves);
  }

  /** Can the argument be computed in place under these moves? If not, the node that is in the way. */
  obstacle({ node, view }: Arg, moves: readonly Move[] = []): Node | undefined {
    if (this.has(node)) return this.look({ node, view }, moves) ? undefined : node;
    if (node.op === "map") {
      const all = following(view.moves, moves);
      // One copy of the whole is cheaper than copies of all that it is made of.
      return node.args.some((arg) => this.obstacle(arg, all)) ? node : undefined;
    }
    return moveAll(view, moves) ? undefined : node;
  }

  /** What computing one number of it in place costs. */
  #cost(node: Node): number {
    if (node.op !== "map" || this.has(node)) return 0;
    let cost = this.#costs.get(node);
    if (cost === undefined) {
      cost = node.args.reduce((sum, arg) => sum + this.#cost(arg.node), costOf(node.fn));
      this.#costs.set(node, cost);
    }
    return cost;
  }

  /** What several nodes use, and is not cheap. */
  #storeShared(graph: Graph): void {
    const users = new Map<Node, Node>();
    const shared = new Set<Node>();
    for (const node of graph.nodes) {
      if (!("args" in node)) continue;
      for (const { node: arg } of node.args) {
        const other = users.get(arg);
        if (!other) users.set(arg, node);
        else if (other !== node) shared.add(arg);
      }
    }
    for (const node of graph.nodes) {
      if (this.#cost(node) > (shared.has(node) ? STORE_ABOVE : MOST_IN_PLACE)) this.store(node);
    }
  }

  /** What a larger array repeats along other than its last dimension would be computed again for every row. */
  #storeRepeated(graph: Graph): void {
    for (const node of graph.nodes) {
      if (node.op !== "map") continue;
      for (const { node: arg, view } of node.args) {
        if (arg.op !== "map" || this.has(arg)) continue;
        const last = view.strides.at(-1) ?? 0;
        const repeats = (): boolean => sizeOf(view.shape) >= 4 * sizeOf(arg.shape);
        if (last !== 0 && repeats() && this.#cost(arg) > 1) this.store(arg);
      }
    }
  }
}

/** Removes what was added to a map after its first `count` entries. */
export function keepFirst(map: Map<unknown, unknown>, count: number): void {
  if (map.size > count) for (const key of [...map.keys()].slice(count)) map.delete(key);
}

// What a number costs to compute again, beside storing it and loading it back.

const COSTS: Partial<Record<MapOp, number>> = {
  copy: 0,
  cast: 1,
  reciprocal: 3,
  sqrt: 3,
  idiv: 4,
  mod: 6,
  exp: 12,
  log: 18,
  sin: 18,
  cos: 18,
  asin: 18,
  atan: 18,
  erf: 30,
  erfc: 26,
};

export const costOf = (fn: MapOp): number => COSTS[fn] ?? 1;

/** Above this, a value that is wanted more than once is stored. */
const STORE_ABOVE = 8;

/** Above this, a value is stored even if it is wanted once: what is made of it would become a kernel without end. */
const MOST_IN_PLACE = 400;
