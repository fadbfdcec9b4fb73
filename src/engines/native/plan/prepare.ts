// Gets a graph ready for kernels: finds the matrix products and how their sides lie in memory, and puts in copies where
// strides alone cannot show a node what it wants to see.
import type { Arg, Graph, Node } from "../../lower/graph.ts";
import { sizeOf } from "../../../core/arrays.ts";
import { isWhole, move, moveAll, rowMajor, whole, type Move, type View } from "../../lower/view.ts";
import { type Convolution, convolutionOf, type Kind, kindOf, outputsLast } from "../conv/convolution.ts";
import { type Contraction, type Roles, byStride, contraction, lies, rolesOf } from "./contract.ts";
import { stretchesOf } from "../threads/divide.ts";
import { keepFirst, Storage } from "./storage.ts";

type ConvNode = Extract<Node, { op: "conv" }>;
type DotNode = Extract<Node, { op: "dot" }>;
type CopyNode = Extract<Node, { op: "map" }>;

/** A dot that becomes a matrix product of two stored nodes. */
interface Product {
  readonly contraction: Contraction;
  readonly left: Node;
  readonly right: Node;
}

/** A convolution of two stored nodes that lie as its kind wants them. */
interface Convolved {
  readonly how: Kind;
  readonly convolution: Convolution;
  readonly image: Node;
  readonly kernel: Node;
}

export interface Prepared {
  /** Every node after those it depends on, copies included. */
  readonly nodes: readonly Node[];
  readonly storage: Storage;
  readonly products: ReadonlyMap<Node, Product>;
  readonly convolutions: ReadonlyMap<Node, Convolved>;
  /** Dots and convolutions that are a product which lies in another order, or was computed in stretches that are added up. */
  readonly summed: ReadonlyMap<Node, readonly Arg[]>;
  /** The stored node of each output, in row-major order. */
  readonly outputs: readonly Node[];
}

/** Below this many multiplications a loop is as fast as a call of the matrix library. */
const WORTH_A_CALL = 2048;

export function prepare(graph: Graph, threads: number): Prepared {
  const storage = new Storage(graph);
  for (const output of graph.outputs) if (isItself(output)) storage.store(output.node);
  for (const node of graph.stored ?? []) if (node.op === "map") storage.store(node);
  const preparation = new Preparation(graph, storage, threads);
  // Storing a node or changing a layout can be in the way of others: go back to it until nothing is.
  for (let obstacle = preparation.run(); obstacle; obstacle = preparation.run()) preparation.clear(obstacle);
  return preparation.result();
}

/** How far a preparation was before a node: sizes of what grows, in the order in which it does. */
interface Mark {
  readonly nodes: number;
  readonly products: number;
  readonly convolutions: number;
  readonly copies: number;
  readonly summed: number;
  readonly layouts: number;
  readonly nextId: number;
}

class Preparation {
  readonly #graph: Graph;
  readonly #storage: Storage;
  readonly #threads: number;
  readonly #places: ReadonlyMap<Node, number>;
  /** Products whose users need them in row-major order. */
  readonly #straightened = new Set<Node>();
  /** By the place of a node in the graph, up to the one that is next. */
  readonly #marks: Mark[] = [];
  readonly #nodes: Node[] = [];
  readonly #products = new Map<Node, Product>();
  readonly #convolutions = new Map<Node, Convolved>();
  readonly #copies = new Map<string, Node>();
  readonly #summed = new Map<Node, readonly Arg[]>();
  #outputs: Node[] = [];
  /** A side of a product that is good as it lies, once it does. */
  #unstored: Node | undefined;
  #nextId: number;

  constructor(graph: Graph, storage: Storage, threads: number) {
    this.#threads = threads;
    this.#graph = graph;
    this.#storage = storage;
    this.#places = new Map(graph.nodes.map((node, place) => [node, place]));
    this.#nextId = 1 + graph.nodes.reduce((most, { id }) => Math.max(most, id), 0);
  }

  /** The first node that must be stored, or stored otherwise; undefined when all is well. */
  run(): Node | undefined {
    for (let place = this.#marks.length; place < this.#graph.nodes.length; place++) {
      const node = this.#graph.nodes[place]!;
      this.#marks.push(this.#mark());
      const obstacle = this.#obstacle(node);
      if (obstacle) return obstacle;
      if (node.op === "dot") this.#prepareDot(node);
      else if (node.op === "conv") this.#prepareConvolution(node);
      if (this.#unstored) return this.#unstored;
      this.#nodes.push(node);
    }
    for (const output of this.#graph.outputs) {
      const obstacle = this.#storage.obstacle(output);
      if (obstacle) return obstacle;
    }
    const taken = new Set<Node>();
    this.#outputs = this.#graph.outputs.map((output) => this.#prepareOutput(output, taken));
    return undefined;
  }

  /** Stores the node, or stores it otherwise, and forgets what came from it on. Nothing before it can depend on that. */
  clear(obstacle: Node): void {
    if (this.#storage.has(obstacle)) this.#straightened.add(obstacle);
    else this.#storage.store(obstacle);
    const place = this.#places.get(obstacle) ?? 0;
    const mark = this.#marks[place]!;
    this.#marks.length = place;
    this.#nodes.length = mark.nodes;
    this.#nextId = mark.nextId;
    this.#unstored = undefined;
    keepFirst(this.#products, mark.products);
    keepFirst(this.#convolutions, mark.convolutions);
    keepFirst(this.#copies, mark.copies);
    keepFirst(this.#summed, mark.summed);
    this.#storage.keepLayouts(mark.layouts);
  }

  #mark(): Mark {
    return {
      nodes: this.#nodes.length,
      products: this.#products.size,
      convolutions: this.#convolutions.size,
      copies: this.#copies.size,
      summed: this.#summed.size,
      layouts: this.#storage.layouts,
      nextId: this.#nextId,
    };
  }

  result(): Prepared {
    return {
      nodes: this.#nodes,
      storage: this.#storage,
      products: this.#products,
      convolutions: this.#convolutions,
      summed: this.#summed,
      outputs: this.#outputs,
    };
  }

  #obstacle(node: Node): Node | undefined {
    if (!("args" in node)) return undefined;
    for (const arg of node.args) {
      const obstacle = this.#storage.obstacle(arg, movesOfDomain(node, arg));
      if (obstacle) return obstacle;
    }
    // These read their first argument from memory, and a sort reads it in order.
    const [first] = node.args;
    const sorts = node.op === "sort" || node.op === "argsort";
    if (!first || !(sorts || node.op === "gather")) return undefined;
    const readable = this.#storage.has(first.node) && (!sorts || isWhole(this.#storage.layout(first.node)));
    return readable ? undefined : first.node;
  }

  #prepareDot(dot: DotNode): void {
    const views = dot.args.map((arg) => this.#lookAt(arg));
    const [left, right] = views as [View, View];
    const roles = rolesOf(left, right);
    const inner = left.shape.at(-1)!;
    // The matrix library is for floats.
    if (!roles || dot.dtype !== "float32") return;
    if (sizeOf(dot.shape) * inner < WORTH_A_CALL || roles.rows.length + roles.columns.length === 0) return;
    const ordered: Roles = {
      batch: byStride(roles.batch, left),
      rows: byStride(roles.rows, left),
      columns: byStride(roles.columns, right),
    };
    // Exchanging the sides gives the transposed result: better where that is the order that users see.
    const straight = [...ordered.batch, ...ordered.rows, ...ordered.columns];
    const exchanged = [...ordered.batch, ...ordered.columns, ...ordered.rows];
    const swap = !isAscending(straight) && isAscending(exchanged);
    const physical = swap ? exchanged : straight;
    const sides = swap
      ? { rows: ordered.columns, columns: ordered.rows, left: dot.args[1], right: dot.args[0] }
      : { rows: ordered.rows, columns: ordered.columns, left: dot.args[0], right: dot.args[1] };
    const a = this.#side(sides.left, ordered.batch, sides.rows);
    const b = this.#side(sides.right, ordered.batch, sides.columns);
    const form = contraction(
      dot.shape,
      inner,
      { ...ordered, rows: sides.rows, columns: sides.columns },
      a.lies,
      b.lies,
    );
    const product = { contraction: form, left: a.node, right: b.node };
    const stretches = stretchesOf(form, this.#threads);
    if (isAscending(physical) && stretches === 1) this.#products.set(dot, product);
    else if (isAscending(physical) || this.#straightened.has(dot)) this.#sum(dot, physical, product, stretches);
    else {
      this.#products.set(dot, product);
      this.#storage.setLayout(dot, inOrder(dot.shape, physical));
    }
  }

  #prepareConvolution(node: ConvNode): void {
    const [image, kernel] = node.args;
    const how = kindOf(kernel, node.shape);
    const convolution = convolutionOf(image.view.shape, kernel.view.shape, node.params, node.shape);
    const order = how === "slide" ? [0, 1, 2, 3] : [1, 0, 2, 3];
    const sides = { image: this.#inRows(image, order), kernel: this.#inRows(kernel, order) };
    const convolved = { how, convolution, ...sides };
    if (how === "slide") {
      this.#convolutions.set(node, convolved);
      return;
    }
    const physical = outputsLast(convolution) ? [0, 2, 3, 1] : [1, 0, 2, 3];
    if (!this.#straightened.has(node)) {
      this.#convolutions.set(node, convolved);
      this.#storage.setLayout(node, inOrder(node.shape, physical));
      return;
    }
    const shape = physical.map((axis) => node.shape[axis]!);
    const raw: Node = { ...node, id: this.#nextId++, shape };
    this.#storage.store(raw);
    this.#nodes.push(raw);
    this.#convolutions.set(raw, convolved);
    const back = moveAll(whole(shape), [
      { kind: "permute", order: node.shape.map((_, axis) => physical.indexOf(axis)) },
    ])!;
    this.#summed.set(node, [{ node: raw, view: back }]);
  }

  /** The node behind an argument where the numbers lie in this order of the argument's dimensions, or a copy that does. */
  #inRows(arg: Arg, order: readonly number[]): Node {
    const view = move(this.#lookAt(arg), { kind: "permute", order })!;
    if (!isWhole(view) || sizeOf(view.shape) !== sizeOf(arg.node.shape)) return this.#copy(arg, order);
    if (!this.#storage.has(arg.node)) this.#unstored = arg.node;
    return arg.node;
  }

  /** The view of an argument: through its layout where it is stored. */
  #lookAt(arg: Arg): View {
    return this.#storage.has(arg.node) ? this.#storage.look(arg)! : arg.view;
  }

  /** One side of a product, where it lies as a matrix library wants it, or a copy that does. */
  #side(arg: Arg, batch: readonly number[], outer: readonly number[]): { node: Node; lies: "straight" | "transposed" } {
    const view = this.#lookAt(arg);
    const found = view.offset === 0 && coversAll(view, arg.node) ? lies(view, batch, outer) : undefined;
    if (found) {
      // Not stored yet: it will be, in the order that it has by itself. Those who compute it in place must know.
      if (!this.#storage.has(arg.node)) this.#unstored = arg.node;
      return { node: arg.node, lies: found };
    }
    const inner = view.shape.length - 1;
    const lastOuter = outer.at(-1);
    // Along whichever dimension it is read without jumps.
    const transposed =
      lastOuter !== undefined && Math.abs(view.strides[lastOuter]!) === 1 && Math.abs(view.strides[inner]!) !== 1;
    const order = transposed ? [...batch, inner, ...outer] : [...batch, ...outer, inner];
    return { node: this.#copy(arg, order), lies: transposed ? "transposed" : "straight" };
  }

  /** A stored copy with these dimensions, in this order; the others are of one or repeat. */
  #copy({ node, view }: Arg, order: readonly number[]): Node {
    const key = JSON.stringify([node.id, view.shape, view.strides, view.offset, order]);
    let copy = this.#copies.get(key);
    if (!copy) {
      copy = this.#newCopy({ node, view: chosen(view, order) });
      this.#copies.set(key, copy);
      this.#nodes.push(copy);
    }
    return copy;
  }

  #newCopy(arg: Arg): CopyNode {
    const copy: CopyNode = {
      op: "map",
      fn: "copy",
      args: [arg],
      shape: arg.view.shape,
      dtype: arg.node.dtype,
      id: this.#nextId++,
    };
    this.#storage.store(copy);
    return copy;
  }

  /**
   * The product goes into a node of its own, in stretches along its inner dimension, one for each thread: as a batch of
   * products that lie as they did. The dot is the sum of them, in row-major order.
   */
  #sum(dot: DotNode, physical: readonly number[], { contraction: form, ...sides }: Product, stretches: number): void {
    const shape = physical.map((axis) => dot.shape[axis]!);
    const raw: Node = { ...dot, id: this.#nextId++, shape: [stretches, ...shape] };
    this.#storage.store(raw);
    this.#nodes.push(raw);
    const parts = stretches === 1 ? form : { ...form, batch: stretches, inner: form.inner / stretches };
    this.#products.set(raw, { contraction: parts, ...sides });
    const order = dot.shape.map((_, axis) => physical.indexOf(axis)).filter((at) => at >= 0);
    const stretch = (i: number): Arg => {
      const straight: Move[] = [
        { kind: "slice", ranges: [[i, i + 1], ...shape.map((n): [number, number] => [0, n])] },
        { kind: "reshape", shape },
        { kind: "permute", order },
        { kind: "reshape", shape: dot.shape },
      ];
      return { node: raw, view: moveAll(whole(raw.shape), straight)! };
    };
    this.#summed.set(
      dot,
      Array.from({ length: stretches }, (_, i) => stretch(i)),
    );
  }

  /** Each output has memory of its own that nobody else owns. */
  #prepareOutput(output: Arg, taken: Set<Node>): Node {
    const { node, view } = output;
    const free = node.op !== "input" && node.op !== "constant" && !taken.has(node);
    const straight = isWhole(this.#storage.layout(node)) && isWhole(view) && sizeOf(view.shape) === sizeOf(node.shape);
    if (free && straight && this.#storage.has(node)) {
      taken.add(node);
      return node;
    }
    const copy = this.#newCopy(output);
    this.#nodes.push(copy);
    return copy;
  }
}

/** Is the output just what a node computes, in the same order? */
const isItself = ({ node, view }: Arg): boolean =>
  node.op === "map" && isWhole(view) && sizeOf(view.shape) === sizeOf(node.shape);

/** What a node does to its argument's dimensions before it loops over them. */
function movesOfDomain(node: Node, arg: Arg): Move[] {
  if (node.op !== "reduce") return [];
  return isRowReduce(node, arg) ? [{ kind: "permute", order: keptFirst(arg.view.shape.length, node.axes) }] : [];
}

/** Does it sum along the dimension that lies closest in memory? */
export function isRowReduce(node: Extract<Node, { op: "reduce" }>, { view }: Arg): boolean {
  const last = view.shape.findLastIndex((n) => n !== 1);
  return last < 0 || node.axes.includes(last);
}

export function keptFirst(rank: number, axes: readonly number[]): number[] {
  const all = Array.from({ length: rank }, (_, i) => i);
  return [...all.filter((i) => !axes.includes(i)), ...all.filter((i) => axes.includes(i))];
}

const isAscending = (axes: readonly number[]): boolean => axes.every((axis, i) => i === 0 || axes[i - 1]! < axis);

/** Does the view show every number of the node, so that it can stand for the whole? */
const coversAll = (view: View, node: Node): boolean =>
  sizeOf(view.shape.filter((_, i) => view.strides[i] !== 0)) === sizeOf(node.shape);

/** These dimensions of a view, in this order. */
function chosen(view: View, order: readonly number[]): View {
  const rest = view.shape.map((_, i) => i).filter((i) => !order.includes(i));
  const shape = order.map((axis) => view.shape[axis]!);
  // The others have one place each that counts: their first.
  const first = rest.map((): [number, number] => [0, 1]);
  return moveAll(view, [
    { kind: "permute", order: [...rest, ...order] },
    { kind: "slice", ranges: [...first, ...shape.map((n): [number, number] => [0, n])] },
    { kind: "reshape", shape },
  ])!;
}

/** A view of `shape` onto memory in which the axes lie in this order. */
function inOrder(shape: readonly number[], physical: readonly number[]): View {
  const lying = rowMajor(physical.map((axis) => shape[axis]!));
  const strides = shape.map((_, axis) => (physical.includes(axis) ? lying[physical.indexOf(axis)]! : 0));
  return { shape, strides, offset: 0, moves: [] };
}
