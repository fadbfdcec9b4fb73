// Makes the nodes of a graph. Equal nodes are made once, arithmetic with known numbers is done at once, and moving an
// array about makes no node at all.
import type { TypedArray } from "../../core/arrays.ts";
import { foldMap } from "./fold.ts";
import type { Arg, DType, MapOp, Node } from "./graph.ts";
import { isWhole, move, sameShape, whole, type Move } from "./view.ts";

type Shape = readonly number[];
/** A node without its number. */
type NewNode = Node extends infer N ? (N extends Node ? Omit<N, "id"> : never) : never;

export class GraphBuilder {
  readonly nodes: Node[] = [];
  readonly #known = new Map<string, Node>();
  /** Recomputations that are being traced, the innermost last. */
  readonly #open: number[] = [];
  #recomputations = 0;

  input(index: number, shape: Shape, dtype: DType): Arg {
    return this.#whole({ op: "input", index, shape, dtype });
  }

  constant(data: TypedArray, shape: Shape, dtype: DType): Arg {
    // By identity, not by value: comparing large arrays costs more than a second copy.
    const node: Node = { id: this.nodes.length, op: "constant", data, shape, dtype };
    this.nodes.push(node);
    return { node, view: whole(shape) };
  }

  /** A number in every place of `shape`. */
  literal(value: number, dtype: DType, shape: Shape = []): Arg {
    return this.broadcast(this.#whole({ op: "literal", value, shape: [], dtype }), shape);
  }

  iota(shape: Shape, axis: number, dtype: DType): Arg {
    const along = this.#whole({ op: "iota", axis: 0, shape: [shape[axis]!], dtype });
    const lifted = this.move(along, { kind: "reshape", shape: shape.map((n, i) => (i === axis ? n : 1)) });
    return this.broadcast(lifted, shape);
  }

  /** The arguments are broadcast to `shape` and, for arithmetic, cast to the result's type. */
  map(fn: MapOp, args: readonly Arg[], shape: Shape, dtype: DType): Arg {
    const given = args.map((arg) => this.broadcast(arg, shape));
    const folded = foldMap(this, fn, given, shape, dtype);
    if (folded) return folded;
    return this.#whole({ op: "map", fn, args: given, shape, dtype });
  }

  cast(arg: Arg, dtype: DType): Arg {
    return arg.node.dtype === dtype ? arg : this.map("cast", [arg], arg.view.shape, dtype);
  }

  broadcast(arg: Arg, shape: Shape): Arg {
    return sameShape(arg.view.shape, shape) ? arg : this.move(arg, { kind: "broadcast", shape });
  }

  /** A step that strides cannot express copies the numbers first. */
  move(arg: Arg, step: Move): Arg {
    const view = move(arg.view, step);
    if (view) return { node: arg.node, view };
    // What the view repeats is copied once, if the step can be taken from there: a broadcast can be any number of times
    // as large as its array.
    const once = this.#copyOnce(arg);
    const again = once && move(once.view, step);
    if (again) return { node: once.node, view: again };
    const copy = this.copy(arg);
    return { node: copy.node, view: move(copy.view, step)! };
  }

  /** The numbers in the order in which the view shows them. */
  copy(arg: Arg): Arg {
    const { shape } = arg.view;
    if (isWhole(arg.view) && sameShape(shape, arg.node.shape)) return arg;
    return this.#whole({ op: "map", fn: "copy", args: [arg], shape, dtype: arg.node.dtype });
  }

  /** A copy without the repetitions of the view, seen with them; undefined when there are none. */
  #copyOnce(arg: Arg): Arg | undefined {
    const { shape, strides } = arg.view;
    const repeats = shape.map((n, axis) => n > 1 && strides[axis] === 0);
    if (!repeats.includes(true)) return undefined;
    const ranges = shape.map((n, axis): [number, number] => [0, repeats[axis] ? 1 : n]);
    return this.broadcast(this.copy(this.move(arg, { kind: "slice", ranges })), shape);
  }

  /** The array in memory of its own. */
  stored(arg: Arg): Arg {
    const copy = this.copy(arg);
    return this.#whole({ op: "barrier", args: [copy], shape: copy.view.shape, dtype: copy.node.dtype });
  }

  /** An array that a recomputation begins with: what is computed from it is none of the nodes that exist already. */
  recomputed(arg: Arg): Arg {
    const copy = this.copy(arg);
    const { dtype } = copy.node;
    return this.#whole({ op: "barrier", args: [copy], shape: copy.view.shape, dtype, recomputed: this.#open.at(-1)! });
  }

  /** Begins a recomputation inside of `depth` others; those that are deeper are over. */
  beginRecomputation(depth: number): void {
    this.endRecomputation(depth);
    this.#open.push(this.#recomputations++);
  }

  endRecomputation(depth: number): void {
    this.#open.length = Math.min(this.#open.length, depth);
  }

  /** Any other node. */
  node(node: NewNode): Arg {
    return this.#whole(node);
  }

  #whole(node: NewNode): Arg {
    const key = keyOf(node);
    let known = this.#known.get(key);
    if (!known) {
      const part = node.recomputed ?? this.#recomputationOf(node);
      known = { ...node, id: this.nodes.length, ...(part !== undefined && { recomputed: part }) };
      this.nodes.push(known);
      this.#known.set(key, known);
    }
    return { node: known, view: whole(node.shape) };
  }

  /** The innermost of the open recomputations on which it depends. */
  #recomputationOf(node: NewNode): number | undefined {
    if (this.#open.length === 0 || !("args" in node)) return undefined;
    return this.#open.findLast((part) => node.args.some((arg) => arg.node.recomputed === part));
  }
}

/** Two nodes of one key compute the same numbers. −0 and 0 are two numbers, which JSON does not say. */
function keyOf(node: NewNode): string {
  if (node.op === "map") return keyOfMap(node);
  const value = node.op === "literal" && Object.is(node.value, -0) ? "-0" : undefined;
  const args =
    "args" in node ? node.args.map(({ node: { id }, view }) => [id, view.shape, view.strides, view.offset]) : [];
  return JSON.stringify([{ ...node, args, value: value ?? ("value" in node ? String(node.value) : undefined) }]);
}

/** Most nodes are maps. Their arguments are seen in their own shape. */
function keyOfMap({ fn, args, shape, dtype }: Extract<NewNode, { op: "map" }>): string {
  let key = `${fn} ${dtype} ${shape.join()}`;
  for (const { node, view } of args)
    key += `|${node.id} ${isWhole(view) ? "" : `${view.offset} ${view.strides.join()}`}`;
  return key;
}
