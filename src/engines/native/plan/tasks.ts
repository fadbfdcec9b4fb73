// What a stored node asks of a kernel: a loop over a domain, and what to do at each place of it.
import type { Arg, MapOp, Node } from "../../lower/graph.ts";
import { sizeOf } from "../../../core/arrays.ts";
import { type Move, type View, rowMajor } from "../../lower/view.ts";
import type { Access, Statement } from "../kernel.ts";
import type { Expressions } from "./expression.ts";
import { isRowReduce, keptFirst, type Prepared } from "./prepare.ts";
import { ROTATIONS } from "../../../nn/key.ts";

/** An argument with what is done to its dimensions before the loop. */
interface Reading {
  readonly arg: Arg;
  readonly moves: readonly Move[];
  /** Read at places that are not those of the loop: all of it must be there before. */
  readonly anywhere?: boolean;
}

type WithoutInner = Statement extends infer S ? (S extends Statement ? Omit<S, "inner"> : never) : never;

export interface Task {
  readonly node: Node;
  readonly domain: readonly number[];
  /** Where the row begins, if that matters: a row's sum is over what follows. */
  readonly split?: number;
  readonly reads: readonly Reading[];
  /** The node's own memory has to be filled with the neutral element first. */
  readonly clears: boolean;
  /** Can other tasks of the same row use what it computes? */
  readonly result: "place" | "row" | "none";
  /** Where it writes in the node's memory, by dimension of the domain; a row's result has the outer ones only. */
  readonly target: View;
  /** Strides of coordinates that are computed (scatter), beside those of `target`. */
  readonly computed?: readonly number[];
  /** Several places of the domain are combined at one place of the target. */
  readonly accumulates?: boolean;
  statement(expressions: Expressions, to: Access): WithoutInner;
}

/** The tasks that compute a stored node; most nodes have one. */
export function tasksOf(node: Node, prepared: Prepared): Task[] {
  const layout = prepared.storage.layout(node);
  const reading = (arg: Arg, moves: readonly Move[] = []): Reading => ({ arg, moves });
  const store = (reads: readonly Reading[], value: (e: Expressions) => number, part?: View): Task => ({
    node,
    domain: (part ?? layout).shape,
    reads,
    clears: false,
    result: part ? "none" : "place",
    target: part ?? layout,
    statement: (e, to) => ({ kind: "store", value: value(e), to }),
  });
  const summed = prepared.summed.get(node);
  if (summed) {
    return [
      store(
        summed.map((arg) => reading(arg)),
        (e) => e.sum(summed.map((arg) => e.of(arg))),
      ),
    ];
  }

  switch (node.op) {
    case "literal":
    case "iota":
      return [store([], (e) => e.known(node))];
    case "map":
      return [
        store(
          node.args.map((arg) => reading(arg)),
          (e) => e.mapped(node),
        ),
      ];
    case "reduce":
      return [reduceTask(node, layout)];
    case "dot": {
      const [x, y] = node.args;
      const { shape } = x.view;
      return [
        {
          node,
          domain: shape,
          split: shape.length - 1,
          reads: [reading(x), reading(y)],
          clears: false,
          result: "row",
          target: layout,
          statement: (e, to) => ({ kind: "reduce", fn: "add", value: e.product(e.of(x), e.of(y), node.dtype), to }),
        },
      ];
    }
    case "assemble": {
      const covered = node.args.reduce((sum, { view }) => sum + sizeOf(view.shape), 0) >= sizeOf(node.shape);
      return node.args.map((arg, i) => {
        const offset = node.places[i]!.reduce((at, coordinate, axis) => at + coordinate * layout.strides[axis]!, 0);
        // The loop is over the numbers of the part: one place of many is no dimension of it.
        const axes = node.shape.flatMap((size, axis) => (size > 1 && arg.view.shape[axis] === 1 ? [] : [axis]));
        const shape = axes.map((axis) => arg.view.shape[axis]!);
        const moves: Move[] = [{ kind: "reshape", shape }];
        const part: View = { ...layout, shape, strides: axes.map((axis) => layout.strides[axis]!), offset };
        return { ...store([reading(arg, moves)], (e) => e.of(arg, moves), part), clears: i === 0 && !covered };
      });
    }
    case "gather": {
      const [table, ...indices] = node.args;
      return [
        store([{ ...reading(table), anywhere: true }, ...indices.map((arg) => reading(arg))], (e) =>
          e.gathered(node, table, indices),
        ),
      ];
    }
    case "scatter": {
      const [rows, ...indices] = node.args;
      const rank = indices[0]!.view.shape.length;
      const strides = rowMajor(node.shape);
      const rest = rows.view.shape.map((_, axis) => (axis < rank ? 0 : strides[axis - rank + indices.length]!));
      return [
        {
          node,
          domain: rows.view.shape,
          reads: [reading(rows), ...indices.map((arg) => reading(arg, spread(arg, rows.view.shape)))],
          clears: true,
          result: "none",
          target: { ...rows.view, strides: rest, offset: 0 },
          computed: strides.slice(0, indices.length),
          accumulates: node.adds,
          statement(e, to) {
            const places = indices.map((arg) => e.of(arg, spread(arg, rows.view.shape)));
            const at = places.map((place, i) => ({ value: e.clamped(place, node.shape[i]!), stride: strides[i]! }));
            const target = { ...to, at };
            const value = e.of(rows);
            if (!node.adds) return { kind: "store", value, to: target };
            // A row whose place lies outside is left out, as in jax-js: it adds nothing to the row at the edge.
            const inside = places.reduce((row, place, i) => e.whereEqual(place, at[i]!.value, row), value);
            return { kind: "accumulate", fn: "add", value: inside, to: target };
          },
        },
      ];
    }
    case "windowsAdd": {
      const [arg] = node.args;
      const kept = node.shape.length - node.window.length;
      const places = layout.strides.map((stride, i) => (i < kept ? stride : stride * node.strides[i - kept]!));
      const view: View = { ...layout, shape: arg.view.shape, strides: [...places, ...layout.strides.slice(kept)] };
      return [
        {
          node,
          domain: arg.view.shape,
          reads: [reading(arg)],
          clears: true,
          result: "none",
          target: view,
          accumulates: true,
          statement: (e, to) => ({ kind: "accumulate", fn: "add", value: e.of(arg), to }),
        },
      ];
    }
    case "randomBits":
      return [
        store(
          node.args.map((arg) => reading(arg)),
          (e) => threefryBits(e, node),
        ),
      ];
    default:
      throw new Error(`a ${node.op} has no task`);
  }
}

function reduceTask(node: Extract<Node, { op: "reduce" }>, layout: View): Task {
  const [arg] = node.args;
  const { shape } = arg.view;
  if (isRowReduce(node, arg)) {
    const order = keptFirst(shape.length, node.axes);
    const moves: Move[] = [{ kind: "permute", order }];
    const split = shape.length - node.axes.length;
    return {
      node,
      domain: order.map((axis) => shape[axis]!),
      split,
      reads: [{ arg, moves }],
      clears: false,
      result: "row",
      target: layout,
      statement: (e, to) => ({ kind: "reduce", fn: node.fn, value: e.of(arg, moves), to }),
    };
  }
  // Along the rows instead: each row is added to what came before.
  let kept = 0;
  const strides = shape.map((_, axis) => (node.axes.includes(axis) ? 0 : layout.strides[kept++]!));
  return {
    node,
    domain: shape,
    reads: [{ arg, moves: [] }],
    clears: true,
    result: "none",
    target: { ...layout, shape, strides },
    accumulates: true,
    statement: (e, to) => ({ kind: "accumulate", fn: node.fn, value: e.of(arg), to }),
  };
}

/** An index of the leading dimensions, for every place of `shape`. */
export function spread({ view }: Arg, shape: readonly number[]): Move[] {
  const lifted = shape.map((_, axis) => view.shape[axis] ?? 1);
  return [
    { kind: "reshape", shape: lifted },
    { kind: "broadcast", shape },
  ];
}

// Random bits as arithmetic of a kernel: the same that jax-js draws for the same key.

function threefryBits(e: Expressions, node: Extract<Node, { op: "randomBits" }>): number {
  const word = (value: number): number => e.add({ kind: "literal", value: value | 0, dtype: "uint32" });
  const op = (fn: MapOp, a: number, b: number): number => e.add({ kind: "map", fn, args: [a, b], dtype: "uint32" });
  const rotated = (x: number, by: number): number => op("or", op("shl", x, word(by)), op("shr", x, word(32 - by)));

  const [k0, k1] = node.args.map((arg) => e.of(arg)) as [number, number];
  const k2 = op("xor", op("xor", k0, k1), word(0x1bd11bda));
  const keys = [k0, k1, k2];
  let a = k0;
  let b = op("add", counter(e, node), k1);
  for (let group = 0; group < 5; group++) {
    for (const by of ROTATIONS.slice((group % 2) * 4, (group % 2) * 4 + 4)) {
      a = op("add", a, b);
      b = op("xor", rotated(b, by), a);
    }
    a = op("add", a, keys[(group + 1) % 3]!);
    b = op("add", op("add", b, keys[(group + 2) % 3]!), word(group + 1));
  }
  if (node.mode === "xor") return op("xor", a, b);
  return node.mode === 0 ? a : b;
}

/** The place among the numbers of one key, which has the last dimensions to itself. */
function counter(e: Expressions, { shape, period }: Extract<Node, { op: "randomBits" }>): number {
  let sum = e.add({ kind: "literal", value: 0, dtype: "int32" });
  for (const [axis, stride] of rowMajor(shape).entries()) {
    if (stride * shape[axis]! > period || shape[axis] === 1) continue;
    sum = e.add({ kind: "map", fn: "add", args: [sum, e.scaled(e.coordinate(axis), stride)], dtype: "int32" });
  }
  return e.add({ kind: "map", fn: "bitcast", args: [sum], dtype: "uint32" });
}
