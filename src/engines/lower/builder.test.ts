// Equal nodes are made once, and unequal ones are never taken for each other.
import { expect, it } from "vitest";
import { GraphBuilder } from "./builder.ts";

const setUp = () => {
  const graph = new GraphBuilder();
  return { graph, x: graph.input(0, [2, 3], "float32") };
};

it("makes equal nodes once", () => {
  const { graph, x } = setUp();
  const twice = [0, 1].map(() => graph.map("exp", [x], [2, 3], "float32"));
  expect(twice[0]!.node).toBe(twice[1]!.node);
  const sums = [0, 1].map(() =>
    graph.node({ op: "reduce", fn: "add", args: [twice[0]!], axes: [1], shape: [2], dtype: "float32" }),
  );
  expect(sums[0]!.node).toBe(sums[1]!.node);
  expect(graph.nodes).toHaveLength(3);
});

it("tells apart what differs in view, type, axes or sign of zero", () => {
  const { graph, x } = setUp();
  const flipped = graph.move(x, { kind: "flip", axes: [0] });
  const sum = (axes: number[]) =>
    graph.node({ op: "reduce", fn: "add", args: [x], axes, shape: [1], dtype: "float32" });
  const nodes = [
    graph.map("exp", [x], [2, 3], "float32"),
    graph.map("exp", [flipped], [2, 3], "float32"),
    graph.cast(x, "int32"),
    graph.cast(x, "uint32"),
    sum([0]),
    sum([1]),
    graph.literal(0, "float32"),
    graph.literal(-0, "float32"),
    graph.literal(Number.NaN, "float32"),
    graph.literal(Infinity, "float32"),
    graph.literal(0, "int32"),
  ];
  expect(new Set(nodes.map(({ node }) => node)).size).toBe(nodes.length);
});

it("moves without making a node, and copies where strides cannot say it", () => {
  const { graph, x } = setUp();
  const turned = graph.move(x, { kind: "permute", order: [1, 0] });
  expect(turned.node).toBe(x.node);
  const flat = graph.move(turned, { kind: "reshape", shape: [6] });
  expect(flat.node).toMatchObject({ op: "map", fn: "copy", shape: [3, 2] });
  expect(flat.view.shape).toEqual([6]);
  expect(graph.copy(x)).toBe(x);
});

it("copies what a view repeats once", () => {
  const { graph, x } = setUp();
  const turned = graph.move(x, { kind: "permute", order: [1, 0] });
  const repeated = graph.broadcast(graph.move(turned, { kind: "reshape", shape: [3, 2, 1] }), [3, 2, 50]);
  const flat = graph.move(repeated, { kind: "reshape", shape: [6, 50] });
  expect(flat.node).toMatchObject({ op: "map", fn: "copy", shape: [3, 2, 1] });
  expect(flat.view).toMatchObject({ shape: [6, 50], strides: [1, 0] });
  // Numbers that are repeated among others have to be written out.
  expect(graph.move(repeated, { kind: "reshape", shape: [300] }).node).toMatchObject({ shape: [3, 2, 50] });
});

it("counts along one axis of any shape", () => {
  const { graph } = setUp();
  const iota = graph.iota([2, 3, 4], 1, "int32");
  expect(iota.node).toMatchObject({ op: "iota", shape: [3] });
  expect(iota.view).toMatchObject({ shape: [2, 3, 4], strides: [0, 1, 0] });
});
