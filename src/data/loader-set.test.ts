import { epochLength, stepsPerEpoch } from "./epoch-length.ts";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Loader } from "../core/model.ts";
import { DataLoader } from "./data-loader.ts";
import { LoaderSet } from "./loader-set.ts";
import type { MixOptions } from "./mix.ts";

/** A loader of `count` one-sample batches: known length, or a stream, synchronous or not. */
function loaderOf(count: number, kind: "arrays" | "stream" | "async" = "arrays", options = {}): Loader {
  const samples = Array.from({ length: count }, (_, i) => ({ i }));
  if (kind === "arrays") return new DataLoader(samples, { batchSize: 1, shuffle: true, ...options });
  if (kind === "stream") return new DataLoader(() => samples, { batchSize: 1, ...options });
  return new DataLoader(
    async function* () {
      yield* samples;
    },
    { batchSize: 1, prefetch: 2, ...options },
  );
}

/** Reads on to the end (or `most` batches): "a3" is sample 3 of loader a. */
async function drain(set: LoaderSet, most = Infinity): Promise<string[]> {
  const seen: string[] = [];
  while (seen.length < most) {
    const index = await set.peek();
    const batch = await set.next();
    expect(index === undefined).toBe(batch === undefined);
    if (batch === undefined) break;
    expect(set.source).toBe(index);
    seen.push(`${set.names[index!]}${batch.i!.data[0]}`);
  }
  return seen;
}

async function epochOf(set: LoaderSet, epoch = 0, seed = 0): Promise<string[]> {
  set.begin(epoch, seed);
  return drain(set);
}

const lanesOf = (batches: readonly string[]): string => batches.map((batch) => batch[0]).join("");
const ab = (a: number, b: number, mix?: MixOptions, kind: "arrays" | "stream" | "async" = "arrays") =>
  new LoaderSet({ a: loaderOf(a, kind), b: loaderOf(b, kind) }, mix);

test("a single loader is a set of one, named train, and synchronous if it is", () => {
  const set = new LoaderSet(new DataLoader({ i: Int32Array.of(5, 6, 7) }, { batchSize: 2 }));
  expect(set.names).toEqual(["train"]);
  expect([epochLength(set), stepsPerEpoch(set, { accumulate: 2 })]).toEqual([2, 1]);
  set.begin(0, 0);
  expect(set.peek()).toBe(0);
  expect(set.next()).toEqual({ i: { data: Int32Array.of(5, 6), shape: [2] } });
  expect(set.skip()).toBe(true);
  expect([set.peek(), set.next(), set.skip()]).toEqual([undefined, undefined, false]);
});

describe.each(["arrays", "stream", "async"] as const)("orders over %s", (kind) => {
  test.each<[string, MixOptions, number, number, string]>([
    ["in turn is the default; who is at the end drops out", {}, 2, 4, "ababbb"],
    ["one after the other", { strategy: "sequential" }, 2, 3, "aabbb"],
    ["one after the other, again and again", { strategy: "sequential", length: 7 }, 2, 1, "aabaaba"],
    ["bursts", { strategy: "alternating", bursts: { a: 2, b: 1 } }, 5, 2, "aabaaba"],
    ["max starts the shorter again", { length: "max" }, 2, 4, "abababab"],
    ["max ends with the longest", { length: "max" }, 4, 2, "abababa"],
    ["min ends when one has no more", { length: "min" }, 2, 4, "abab"],
    ["min with bursts", { length: "min", strategy: "alternating", bursts: { a: 3, b: 1 } }, 4, 9, "aaaba"],
    ["a fixed number starts loaders again", { length: 7 }, 2, 3, "abababa"],
    ["a fixed number cuts them short", { length: 3 }, 5, 5, "aba"],
  ])("%s", async (_, mix, a, b, expected) => {
    const set = ab(a, b, mix, kind);
    expect(lanesOf(await epochOf(set))).toBe(expected);
    expect(lanesOf(await epochOf(set, 1))).toBe(expected);
    const known = kind === "arrays" || typeof mix.length === "number";
    expect(epochLength(set)).toBe(known ? expected.length : undefined);
  });
});

test("a loader that starts again has a new order", async () => {
  const set = ab(20, 40, { length: "max" });
  const a = (await epochOf(set)).filter((batch) => batch.startsWith("a"));
  const [first, second] = [a.slice(0, 20), a.slice(20)];
  expect([...second].sort()).toEqual([...first].sort());
  expect(second).not.toEqual(first);
  const next = (await epochOf(set, 1)).filter((batch) => batch.startsWith("a"));
  expect([first, second]).not.toContainEqual(next.slice(0, 20));
});

test("weights set the shares, from seed and epoch alone", async () => {
  const mix: MixOptions = { strategy: "weighted", weights: { a: 3, b: 1 }, length: 4000 };
  const draws = lanesOf(await epochOf(ab(100, 100, mix), 2, 9));
  expect(draws.split("a").length - 1).toBeGreaterThan(2850);
  expect(draws.split("a").length - 1).toBeLessThan(3150);
  expect(lanesOf(await epochOf(ab(100, 100, mix), 2, 9))).toBe(draws);
  expect(lanesOf(await epochOf(ab(100, 100, mix), 3, 9))).not.toBe(draws);
  expect(lanesOf(await epochOf(ab(100, 100, { ...mix, seed: 9 }), 2, 1))).toBe(draws);
  expect(epochLength(ab(3, 3, { ...mix, length: "max" }))).toBeUndefined();
});

test("a step can keep to one loader", () => {
  const set = ab(3, 5, {});
  set.begin(0, 0);
  const step = (accumulate: number): string => {
    const first = set.peek() as number | undefined;
    if (first === undefined) return "";
    let taken = 0;
    for (; taken < accumulate && set.peek(taken === 0 ? undefined : first) !== undefined; taken++) {
      void set.next(taken === 0 ? undefined : first);
    }
    return set.names[first]!.repeat(taken);
  };
  expect([step(2), step(2), step(2), step(2), step(2), step(2)]).toEqual(["aa", "bb", "a", "bb", "b", ""]);
  expect(stepsPerEpoch(set, { accumulate: 2, held: true })).toBe(5);
  expect(stepsPerEpoch(set, { accumulate: 2 })).toBe(4);
  expect(stepsPerEpoch(set, { accumulate: 2, held: true, limit: 5 })).toBe(3);
});

/** Every strategy, with the rules for the epoch's end that it allows. */
function mixesWith(...rules: ("sum" | "max" | "min" | "number")[]): fc.Arbitrary<MixOptions> {
  const share = fc.integer({ min: 1, max: 4 });
  const pair = fc.record({ a: share, b: share });
  const lengthOf = (allowed: readonly string[]): fc.Arbitrary<string | number> =>
    fc.oneof(...allowed.map((rule) => (rule === "number" ? fc.integer({ min: 1, max: 20 }) : fc.constant(rule))));
  const length = lengthOf(rules);
  const straight = rules.filter((rule) => rule === "sum" || rule === "number");
  const any = [
    fc.record({ strategy: fc.constant("roundRobin"), length }),
    fc.record({ strategy: fc.constant("weighted"), weights: pair, length }),
    fc.record({ strategy: fc.constant("alternating"), bursts: pair, length }),
  ];
  const sequential = straight.map(() => fc.record({ strategy: fc.constant("sequential"), length: lengthOf(straight) }));
  return fc.oneof(...any, ...sequential) as fc.Arbitrary<MixOptions>;
}
const mixes = mixesWith("sum", "max", "min", "number");
const size = fc.integer({ min: 1, max: 9 });
const kinds = fc.constantFrom("arrays" as const, "stream" as const, "async" as const);

describe("counts, whatever the strategy", () => {
  type Counts = { a: number; b: number; fromA: number; fromB: number; batches: string[]; mix: MixOptions };
  async function check(rule: "sum" | "max" | "min" | "number", expectation: (counts: Counts) => void) {
    const property = fc.asyncProperty(mixesWith(rule), size, size, kinds, fc.nat(5), async (mix, a, b, kind, epoch) => {
      const set = ab(a, b, mix, kind);
      const batches = await epochOf(set, epoch, 1);
      expect(epochLength(set) ?? batches.length).toBe(batches.length);
      const fromA = batches.filter((batch) => batch.startsWith("a")).length;
      expectation({ a, b, fromA, fromB: batches.length - fromA, batches, mix });
    });
    await fc.assert(property, { numRuns: 60 });
  }

  test("sum: every batch exactly once", () =>
    check("sum", ({ a, b, fromA, fromB, batches }) => {
      expect([fromA, fromB, new Set(batches).size]).toEqual([a, b, a + b]);
    }));

  test("max: all loaders to their end, one of them just once", () =>
    check("max", ({ a, b, fromA, fromB }) => {
      expect(fromA >= a && fromB >= b && (fromA === a || fromB === b)).toBe(true);
    }));

  test("min: one loader to its end, none beyond", () =>
    check("min", ({ a, b, fromA, fromB, batches }) => {
      expect(fromA <= a && fromB <= b && (fromA === a || fromB === b)).toBe(true);
      expect(new Set(batches).size).toBe(batches.length);
    }));

  test("a number: just that many", () =>
    check("number", ({ batches, mix }) => {
      expect(batches).toHaveLength(mix.length as number);
    }));
});

test("resuming anywhere, skips included, equals the uninterrupted epoch", async () => {
  await fc.assert(
    fc.asyncProperty(mixes, size, size, kinds, fc.nat(20), fc.nat(2), async (mix, a, b, kind, cut, skips) => {
      const whole = await epochOf(ab(a, b, mix, kind), 1, 4);
      const first = ab(a, b, mix, kind);
      first.begin(1, 4);
      const before = await drain(first, cut);
      let skipped = 0;
      while (skipped < skips && (await first.skip())) skipped++;
      await first.peek();
      const state = JSON.parse(JSON.stringify(first.state()));
      const second = ab(a, b, mix, kind);
      second.begin(1, 4);
      await second.load(state);
      expect(second.state()).toEqual(state);
      const rest = whole.slice(before.length + skipped);
      expect(await drain(second)).toEqual(rest);
      expect(await drain(first)).toEqual(rest);
    }),
    { numRuns: 150 },
  );
});

test("steps counted beforehand are the steps made", async () => {
  await fc.assert(
    fc.asyncProperty(
      mixes,
      size,
      size,
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      async (mix, a, b, accumulate, held) => {
        const set = ab(a, b, mix);
        const counted = stepsPerEpoch(set, { accumulate, held });
        set.begin(0, 0);
        let steps = 0;
        for (let first = await set.peek(); first !== undefined; first = await set.peek()) {
          steps++;
          await set.next();
          for (let i = 1; i < accumulate && (await set.next(held ? first : undefined)); i++);
        }
        expect(counted ?? (mix.strategy === "weighted" && steps)).toBe(steps);
      },
    ),
    { numRuns: 150 },
  );
});

describe("errors", () => {
  const set = (mix: object) => () => ab(1, 1, mix);

  test("of options", () => {
    expect(set({ stratgy: "weighted" })).toThrow("mix: unknown option `stratgy`. Did you mean `strategy`?");
    expect(set({ strategy: "random" })).toThrow('Expected `strategy` to be one of "sequential"');
    expect(set({ strategy: "weighted" })).toThrow("mix: missing option `weights`, one per loader: a, b");
    expect(set({ strategy: "weighted", weights: { a: 1 } })).toThrow(
      "Expected `weights.b` to be a number > 0, got `undefined`",
    );
    expect(set({ strategy: "alternating", bursts: { a: 1, bb: 1 } })).toThrow(
      "`bursts` names `bb`, which is no loader. Loaders: a, b.",
    );
    expect(set({ weights: { a: 1, b: 1 } })).toThrow(
      '`weights` goes with `strategy: "weighted"`, but the strategy is "roundRobin"',
    );
    expect(set({ strategy: "sequential", length: "max" })).toThrow(
      "has no meaning when loaders come one after the other",
    );
    expect(set({ length: 0 })).toThrow("Expected `length` to be one of");
    expect(() => new LoaderSet({})).toThrow("Expected a loader or loaders by name");
    expect(() => new LoaderSet({ a: [1] as never })).toThrow(
      "Expected loader `a` to be a loader such as new DataLoader(…)",
    );
  });

  test("of state from other loaders", () => {
    const saved = ab(1, 1).state();
    expect(() => new LoaderSet({ a: loaderOf(1), c: loaderOf(1) }).load(saved)).toThrow(
      "The saved data position is of loaders a, b, but this run has a, c.",
    );
    expect(() => ab(1, 1).load(null)).toThrow("is of loaders (none)");
  });

  test("of a loader that ends before its length", () => {
    const liar: Loader = { ...stub, length: 2, next: () => undefined };
    const one = new LoaderSet({ liar });
    one.begin(0, 0);
    expect(() => one.next()).toThrow("Loader `liar` ended after 0 batches, but its `length` is 2.");
  });

  test("close reaches every loader", async () => {
    const closed: string[] = [];
    const loader = (name: string): Loader => ({ ...stub, close: () => void closed.push(name) });
    await new LoaderSet({ a: loader("a"), b: stub, c: loader("c") }).close();
    expect(closed).toEqual(["a", "c"]);
  });
});

const stub: Loader = {
  length: 1,
  begin() {},
  next: () => ({}),
  skip: () => true,
  state: () => ({ epoch: 0, batches: 0, samples: 0 }),
  load() {},
};
