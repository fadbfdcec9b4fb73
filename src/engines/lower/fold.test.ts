// Folding never changes what a graph computes.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { round, runGraph } from "../../../tests/support/run-graph.ts";
import { GraphBuilder } from "./builder.ts";
import type { Arg, DType, MapOp } from "./graph.ts";

const x = (graph: GraphBuilder, dtype: DType = "float32"): Arg => graph.input(0, [3], dtype);

describe("known numbers", () => {
  const ofTwo: MapOp[] = ["add", "sub", "mul", "min", "max"];
  const ofOne: MapOp[] = ["copy", "neg", "reciprocal", "sqrt"];
  const floats = fc.float({ noNaN: false });
  const wholes = fc.integer();

  it.each(ofTwo)("%s of two is what the program would compute", (fn) => {
    fc.assert(
      fc.property(
        fc.constantFrom<DType>("float32", "int32", "uint32"),
        floats,
        floats,
        wholes,
        wholes,
        (dtype, ...n) => {
          const [a, b] = dtype === "float32" ? [n[0], n[1]] : [round(n[2], dtype), round(n[3], dtype)];
          const graph = new GraphBuilder();
          const folded = graph.map(fn, [graph.literal(a, dtype), graph.literal(b, dtype)], [], dtype);
          expect(folded.node.op).toBe("literal");
          const unfolded = new GraphBuilder();
          const args = [unfolded.input(0, [], dtype), unfolded.input(1, [], dtype)];
          const out = unfolded.map(fn, args, [], dtype);
          const [[expected]] = runGraph({ nodes: unfolded.nodes, inputs: [], outputs: [out] }, [[a], [b]]) as [
            [number],
          ];
          expect((folded.node as { value: number }).value).toEqual(expected);
        },
      ),
    );
  });

  it.each(ofOne)("%s of one", (fn) => {
    fc.assert(
      fc.property(floats, (a) => {
        const graph = new GraphBuilder();
        const folded = graph.map(fn, [graph.literal(a, "float32")], [2], "float32");
        expect(folded.node.op).toBe("literal");
        expect(folded.view.shape).toEqual([2]);
      }),
    );
  });

  it.each([
    [2.9, "float32", "int32", 2],
    [-2.9, "float32", "int32", -2],
    [3e9, "float32", "int32", 2 ** 31 - 1],
    [-1, "float32", "uint32", 0],
    [5e9, "float32", "uint32", 2 ** 32 - 1],
    [Number.NaN, "float32", "int32", 0],
    [0.1, "float32", "bool", 1],
    [-1, "int32", "uint32", 2 ** 32 - 1],
    [2 ** 31, "uint32", "int32", -(2 ** 31)],
    [16_777_217, "int32", "float32", 16_777_216],
  ] as const)("casts %d of %s to %s", (value, from, to, expected) => {
    const graph = new GraphBuilder();
    expect(graph.cast(graph.literal(value, from), to).node).toMatchObject({ op: "literal", value: expected });
  });
});

describe("neutral elements", () => {
  const graph = new GraphBuilder();
  const a = x(graph);
  const number = (value: number): Arg => graph.literal(value, "float32");
  const map = (fn: MapOp, ...args: Arg[]): Arg => graph.map(fn, args, [3], "float32");

  it("leaves out 1 ×, + 0, − 0 and a second minus", () => {
    for (const same of [
      map("mul", a, number(1)),
      map("mul", number(1), a),
      map("add", a, number(0)),
      map("sub", a, number(0)),
      map("neg", map("neg", a)),
    ]) {
      expect(same.node).toBe(a.node);
    }
  });

  it("writes × −1 as minus, and + a minus as a difference", () => {
    const minus = map("neg", a);
    expect(map("mul", a, number(-1)).node).toBe(minus.node);
    const b = map("exp", a);
    expect(map("add", b, minus).node).toMatchObject({ fn: "sub", args: [{ node: b.node }, { node: a.node }] });
    expect(map("add", minus, b).node).toMatchObject({ fn: "sub", args: [{ node: b.node }, { node: a.node }] });
  });

  it("keeps x × 0, which may be NaN, and a minus that is seen otherwise", () => {
    expect(map("mul", a, number(0)).node.op).toBe("map");
    const flipped = graph.move(map("neg", a), { kind: "flip", axes: [0] });
    expect(map("add", a, flipped).node).toMatchObject({ fn: "add" });
  });

  it("does not count truths as numbers", () => {
    const truths = graph.map("less", [a, number(0)], [3], "bool");
    expect(graph.map("and", [truths, graph.literal(1, "bool")], [3], "bool").node).toMatchObject({ fn: "and" });
  });
});
