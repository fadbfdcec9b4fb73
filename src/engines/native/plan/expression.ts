// Builds the values of a kernel: a node's arithmetic with everything that is not stored written out in place.
import type { Arg, DType, Node } from "../../lower/graph.ts";
import { following, moveAll, whole, type Move, type View } from "../../lower/view.ts";
import { keyOf, type Access, type KernelValue } from "../kernel.ts";
import type { Storage } from "./storage.ts";
import { spread } from "./tasks.ts";

/** Values of the same kernel: how to get a stored node without loading it. */
export interface AtHand {
  find(node: Node, view: View): KernelValue | undefined;
}

export class Expressions {
  readonly values: KernelValue[] = [];
  readonly #known = new Map<string, number>();
  readonly #storage: Storage;
  readonly #bufferOf: (node: Node) => number;
  readonly #atHand: AtHand;
  /** Dimensions of the domain that belong to the outer loop. */
  readonly #split: number;

  constructor(storage: Storage, bufferOf: (node: Node) => number, atHand: AtHand, split: number) {
    this.#storage = storage;
    this.#bufferOf = bufferOf;
    this.#atHand = atHand;
    this.#split = split;
  }

  /** The value of an argument at each place of the domain, which its view has after these moves. */
  of(arg: Arg, moves: readonly Move[] = []): number {
    const { node, view } = arg;
    if (this.#storage.has(node)) return this.#stored(arg, moves);
    if (node.op === "literal") return this.#literal(node);
    if (node.op === "iota") return this.#counted(moveAll(view, moves)!, node);
    if (node.op !== "map") throw new Error(`a ${node.op} is always stored`);
    return this.mapped(node, following(view.moves, moves));
  }

  /** Numbers that need no memory, at every place of the node's own shape. */
  known(node: Extract<Node, { op: "literal" | "iota" }>): number {
    return node.op === "literal" ? this.#literal(node) : this.#counted(whole(node.shape), node);
  }

  /** A map's arithmetic, at each place that its shape has after these moves. */
  mapped({ fn, args, dtype }: Extract<Node, { op: "map" }>, moves: readonly Move[] = []): number {
    const values = args.map((arg) => this.of(arg, moves));
    return fn === "copy" ? values[0]! : this.add({ kind: "map", fn, args: values, dtype });
  }

  #literal({ value, dtype }: Extract<Node, { op: "literal" }>): number {
    return this.add({ kind: "literal", value, dtype });
  }

  product(a: number, b: number, dtype: DType): number {
    return this.add({ kind: "map", fn: "mul", args: [a, b], dtype });
  }

  sum([first, ...rest]: readonly number[]): number {
    const { dtype } = this.values[first!]!;
    return rest.reduce((sum, each) => this.add({ kind: "map", fn: "add", args: [sum, each], dtype }), first!);
  }

  /** An index that stays within an axis of that size: reading elsewhere would show other arrays' numbers. */
  clamped(index: number, size: number): number {
    const bound = (value: number): number => this.add({ kind: "literal", value, dtype: "int32" });
    const least = this.add({ kind: "map", fn: "max", args: [index, bound(0)], dtype: "int32" });
    return this.add({ kind: "map", fn: "min", args: [least, bound(size - 1)], dtype: "int32" });
  }

  /** The value where two whole numbers are equal, 0 elsewhere. */
  whereEqual(a: number, b: number, value: number): number {
    const { dtype } = this.values[value]!;
    const equal = this.add({ kind: "map", fn: "equal", args: [a, b], dtype: "bool" });
    return this.add({
      kind: "map",
      fn: "where",
      args: [equal, value, this.add({ kind: "literal", value: 0, dtype })],
      dtype,
    });
  }

  /** Rows of a stored table, by indices over the leading dimensions of the domain. */
  gathered(node: Node, table: Arg, indices: readonly Arg[]): number {
    const view = this.#storage.look(table)!;
    const rank = indices[0]!.view.shape.length;
    const rest = node.shape.map((_, axis) => (axis < rank ? 0 : view.strides[axis - rank + indices.length]!));
    const at = indices.map((arg, i) => ({
      value: this.clamped(this.of(arg, spread(arg, node.shape)), view.shape[i]!),
      stride: view.strides[i]!,
    }));
    const from = { ...this.access(table.node, { ...view, shape: node.shape, strides: rest }), at };
    return this.add({ kind: "load", from, dtype: node.dtype });
  }

  #stored(arg: Arg, moves: readonly Move[]): number {
    const { node } = arg;
    const view = this.#storage.look(arg, moves);
    if (!view) throw new Error(`node ${node.id} cannot be looked at in this way`);
    return this.add(
      this.#atHand.find(node, view) ?? { kind: "load", from: this.access(node, view), dtype: node.dtype },
    );
  }

  /** Where the numbers of a stored node lie, for each place of the domain. */
  access(node: Node, view: View): Access {
    return this.accessTo(this.#bufferOf(node), view);
  }

  accessTo(buffer: number, { strides, offset, shape }: View): Access {
    // A dimension of one is never walked along.
    const steps = strides.map((stride, i) => (shape[i] === 1 ? 0 : stride));
    return { buffer, offset, outer: steps.slice(0, this.#split), inner: steps.slice(this.#split) };
  }

  /** Offset plus coordinates times strides, as arithmetic. */
  #counted({ strides, offset, shape }: View, { dtype }: Node): number {
    let sum = this.add({ kind: "literal", value: offset, dtype: "int32" });
    for (const [axis, stride] of strides.entries()) {
      if (stride === 0 || shape[axis] === 1) continue;
      const scaled = this.scaled(this.coordinate(axis), stride);
      sum = this.add({ kind: "map", fn: "add", args: [sum, scaled], dtype: "int32" });
    }
    return dtype === "int32" ? sum : this.add({ kind: "map", fn: "cast", args: [sum], dtype });
  }

  coordinate(axis: number): number {
    const outer = axis < this.#split;
    return this.add({
      kind: "index",
      loop: outer ? "outer" : "inner",
      axis: outer ? axis : axis - this.#split,
      dtype: "int32",
    });
  }

  scaled(value: number, by: number): number {
    if (by === 1) return value;
    const factor = this.add({ kind: "literal", value: by, dtype: "int32" });
    return this.add({ kind: "map", fn: "mul", args: [value, factor], dtype: "int32" });
  }

  /** Equal values are one. */
  add(value: KernelValue): number {
    const key = keyOf(value);
    let index = this.#known.get(key);
    if (index === undefined) {
      index = this.values.length;
      this.values.push(value);
      this.#known.set(key, index);
    }
    return index;
  }
}
