// What no output depends on is left out, however long the chain to it.
import { expect, it } from "vitest";
import { GraphBuilder } from "./builder.ts";
import { keepLive } from "./graph.ts";

it("keeps what outputs depend on, in order", () => {
  const graph = new GraphBuilder();
  const x = graph.input(0, [2], "float32");
  const used = graph.map("exp", [x], [2], "float32");
  graph.map("log", [used], [2], "float32");
  const out = graph.map("sin", [used], [2], "float32");
  const live = keepLive({ nodes: graph.nodes, inputs: [], outputs: [out] });
  expect(live.nodes).toEqual([x.node, used.node, out.node]);
});

it("walks chains of any length", () => {
  const graph = new GraphBuilder();
  let x = graph.input(0, [], "float32");
  for (let i = 0; i < 20_000; i++) x = graph.map(i % 2 ? "sin" : "cos", [x], [], "float32");
  expect(keepLive({ nodes: graph.nodes, inputs: [], outputs: [x] }).nodes).toHaveLength(20_001);
});
