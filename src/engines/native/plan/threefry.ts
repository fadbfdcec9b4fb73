// Random bits as arithmetic of a kernel: the same that jax-js draws for the same key.
import type { MapOp, Node } from "../../lower/graph.ts";
import { rowMajor } from "../../lower/view.ts";
import { ROTATIONS } from "../../../nn/threefry.ts";
import type { Expressions } from "./expression.ts";

export function threefryBits(e: Expressions, node: Extract<Node, { op: "randomBits" }>): number {
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
