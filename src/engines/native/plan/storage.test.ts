// What gets memory: what several use and is dear, never what is cheap, and nothing grows without end.
import { init, numpy as np } from "@jax-js/jax";
import { beforeAll, expect, it } from "vitest";
import { f32, lowered } from "../../../../tests/support/lowered.ts";
import type { Tensor } from "../../../core/model.ts";
import type { Graph, Node } from "../../lower/graph.ts";
import { planGraph } from "./plan.ts";
import { Storage } from "./storage.ts";

beforeAll(async () => void (await init("wasm")));

const storedMaps = (graph: Graph): string[] => {
  const storage = new Storage(graph);
  return graph.nodes
    .filter((node) => node.op === "map" && storage.has(node))
    .map((node) => (node as Node & { fn: string }).fn);
};

it("stores what is dear and used twice", () => {
  const both = (y: Tensor): Tensor[] => [y.ref.sum(0), np.sort(y)];
  expect(storedMaps(lowered((x) => both(np.exp(x)), f32(4, 5)))).toEqual(["exp"]);
  expect(storedMaps(lowered((x) => both(x.mul(3)), f32(4, 5)))).toEqual([]);
  expect(storedMaps(lowered((x) => np.exp(x).sum(0), f32(4, 5)))).toEqual([]);
});

it("stores what would be computed anew for every row", () => {
  expect(storedMaps(lowered((x, b) => x.add(b.mul(2).add(1)), f32(64, 5), f32(5)))).toEqual(["add"]);
});

// Where each of the squares is planned twice, 60 of them take for ever.
it("plans squares of squares, and long chains", () => {
  const squares = planGraph(
    lowered((x) => {
      let y = x;
      for (let i = 0; i < 60; i++) y = y.ref.mul(y);
      return y;
    }, f32(5)),
  );
  const chain = planGraph(
    lowered((x) => {
      let y = x;
      for (let i = 0; i < 1500; i++) y = np.sin(y);
      return y;
    }, f32(5)),
  );
  expect([squares, chain]).not.toContain(undefined);
});
