// Any graph, planned and compiled, computes what it computes number by number.
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { nativeResources, runNative, runNativeInPlace } from "../support/native-resources.ts";
import { outline, randomGraph } from "../support/random-graph.ts";
import { runGraph } from "../support/run-graph.ts";

/** 0 and −0 are one number here. */
const unsigned = (results: number[][]): number[][] => results.map((values) => values.map((value) => value + 0));

describe.each([1, 2])("%i threads", (threads) => {
  const resources = nativeResources(threads);
  afterAll(() => resources.pool.close());

  test.each([
    ["anything", 250],
    ["products", 150],
  ] as const)("%s", (kind, numRuns) => {
    const property = fc.property(fc.nat({ max: 1_000_000 }), (seed) => {
      const { graph, inputs } = randomGraph(seed, kind);
      expect(unsigned(runNative(resources, graph, inputs)), outline(graph)).toEqual(unsigned(runGraph(graph, inputs)));
    });
    fc.assert(property, { numRuns });
    expect(resources.memory.bytesInUse).toBe(0);
  });
});

/** An address that 32 bits cannot say, and every block after it. */
describe.skipIf(Number(process.versions.node.split(".")[0]) < 24).each([1, 2])(
  "beyond 4 GiB, %i threads",
  (threads) => {
    test.each([
      ["anything", 250],
      ["products", 150],
    ] as const)("%s", async (kind, numRuns) => {
      const resources = nativeResources(threads, 16);
      // Only reserved: no page of it is ever touched.
      resources.memory.allocate(2 ** 32);
      const property = fc.property(fc.nat({ max: 1_000_000 }), (seed) => {
        const { graph, inputs } = randomGraph(seed, kind);
        expect(unsigned(runNative(resources, graph, inputs)), outline(graph)).toEqual(
          unsigned(runGraph(graph, inputs)),
        );
      });
      fc.assert(property, { numRuns });
      await resources.pool.close();
    });
  },
);

describe.each([1, 2])("with outputs where inputs were, %i threads", (threads) => {
  const resources = nativeResources(threads);
  afterAll(() => resources.pool.close());

  test.each([
    ["small", 250],
    ["large", 40],
  ] as const)("%s", (size, numRuns) => {
    let inPlace = 0;
    const property = fc.property(fc.nat({ max: 1_000_000 }), fc.boolean(), (seed, ofProducts) => {
      const { graph, inputs } = randomGraph(seed, ofProducts ? "products" : "anything", size);
      const got = runNativeInPlace(resources, graph, inputs);
      inPlace += got.inPlace;
      const wrong = runNative(resources, graph, inputs).map((values, i) =>
        values.findIndex((value, n) => !Object.is(value, got.results[i]![n])),
      );
      expect(wrong, outline(graph)).toEqual(wrong.map(() => -1));
    });
    fc.assert(property, { numRuns });
    expect(inPlace, "outputs in place").toBeGreaterThan(numRuns / 4);
    expect(resources.memory.bytesInUse).toBe(0);
  });
});

test("large ones, divided between threads, are what one thread computes", async () => {
  const [one, two] = [nativeResources(1), nativeResources(2)];
  const property = fc.property(fc.nat({ max: 1_000_000 }), fc.boolean(), (seed, ofProducts) => {
    const { graph, inputs } = randomGraph(seed, ofProducts ? "products" : "anything", "large");
    const [expected, got] = [one, two].map((resources) => runNative(resources, graph, inputs));
    // One number for each output: arrays of this size are slow to compare and long to show.
    const wrong = expected!.map((values, i) => values.findIndex((value, n) => value !== got![i]![n]));
    expect(wrong, outline(graph)).toEqual(wrong.map(() => -1));
  });
  fc.assert(property, { numRuns: 40 });
  await two.pool.close();
  expect([one, two].map(({ memory }) => memory.bytesInUse)).toEqual([0, 0]);
});
