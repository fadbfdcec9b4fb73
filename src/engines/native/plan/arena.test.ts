// Two buffers that are needed at the same time never share a place, and others do.
import fc from "fast-check";
import { expect, it, test } from "vitest";
import { keepInside, planArena } from "./arena.ts";
import type { Plan, PlannedBuffer, Step } from "./steps.ts";
import type { Access, Kernel, Statement } from "../kernel.ts";

const step = (...buffers: number[]): Step => ({
  kind: "kernel",
  kernel: { name: "", buffers: buffers.length, outer: [], values: [], statements: [] },
  buffers,
});
const temporaries = (...lengths: number[]): Plan["buffers"] =>
  lengths.map((length) => ({ length, source: { kind: "temporary" } }));

it("no two that live at the same time overlap", () => {
  const plans = fc
    .array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 20 })
    .chain((lengths) =>
      fc.tuple(
        fc.constant(lengths),
        fc.array(fc.array(fc.nat({ max: lengths.length - 1 }), { minLength: 1, maxLength: 4 }), { maxLength: 25 }),
      ),
    );
  fc.assert(
    fc.property(plans, ([lengths, uses]) => {
      const plan: Plan = { buffers: temporaries(...lengths), steps: uses.map((buffers) => step(...buffers)) };
      const { offsets, bytes } = planArena(plan);
      const lives = lengths.map((_, buffer) => {
        const at = uses.flatMap((buffers, i) => (buffers.includes(buffer) ? [i] : []));
        return { from: at[0], to: at.at(-1) };
      });
      for (const [a, life] of lives.entries()) {
        if (life.from === undefined) continue;
        expect(offsets[a]! + lengths[a]! * 4).toBeLessThanOrEqual(bytes);
        expect(offsets[a]! % 64).toBe(0);
        for (let b = 0; b < a; b++) {
          const other = lives[b]!;
          if (other.from === undefined || other.from > life.to! || life.from > other.to!) continue;
          const apart = offsets[a]! + lengths[a]! * 4 <= offsets[b]! || offsets[b]! + lengths[b]! * 4 <= offsets[a]!;
          expect(apart || lengths[a] === 0 || lengths[b] === 0).toBe(true);
        }
      }
    }),
    { numRuns: 150 },
  );
});

it("shares places, and leaves inputs and outputs alone", () => {
  const buffers: Plan["buffers"] = [
    { length: 16, source: { kind: "input", index: 0 } },
    ...temporaries(16, 16, 16),
    { length: 16, source: { kind: "output", index: 0 } },
  ];
  const { offsets, bytes } = planArena({ buffers, steps: [step(0, 1), step(1, 2), step(2, 3), step(3, 4)] });
  expect(bytes).toBe(128);
  expect([offsets[0], offsets[4]]).toEqual([undefined, undefined]);
});

it("what takes another's place has it for as long as both are needed", () => {
  const plan: Plan = { buffers: temporaries(16, 16, 16, 16), steps: [step(0, 1), step(1, 2), step(2, 3), step(0, 3)] };
  const { offsets, bytes } = planArena(
    plan,
    new Map([
      [2, 1],
      [3, 2],
    ]),
  );
  expect(new Set(offsets.slice(1))).toEqual(new Set([offsets[1]]));
  expect(offsets[0]).not.toBe(offsets[1]);
  expect(bytes).toBe(128);
});

const row = (buffer: number): Access => ({ buffer, offset: 0, outer: [8], inner: [1] });
const store = (value: number, buffer: number): Statement => ({ kind: "store", inner: [8], value, to: row(buffer) });

/** Doubles what it loads, stores that, then stores its double. */
const kernel: Kernel = {
  name: "doubles",
  buffers: 3,
  outer: [8],
  values: [
    { kind: "load", dtype: "float32", from: row(0) },
    { kind: "map", fn: "add", args: [0, 0], dtype: "float32" },
    { kind: "kept", statement: 0, dtype: "float32" },
    { kind: "map", fn: "add", args: [2, 2], dtype: "float32" },
  ],
  statements: [store(1, 1), store(3, 2)],
};

const plan = (source: PlannedBuffer["source"], ...more: Step[]) => {
  const buffers: PlannedBuffer[] = [
    { length: 64, source: { kind: "input", index: 0 } },
    { length: 64, source },
    { length: 64, source: { kind: "output", index: 0 } },
  ];
  return keepInside([{ kind: "kernel", kernel, buffers: [0, 1, 2] }, ...more], buffers)[0];
};

test("what only the kernel itself asks for is not stored, and needs no buffer", () => {
  expect(plan({ kind: "temporary" })).toMatchObject({
    buffers: [0, 2],
    kernel: {
      buffers: 2,
      statements: [
        { kind: "keep", value: 1 },
        { kind: "store", to: { buffer: 1 } },
      ],
    },
  });
});

test("what others ask for is", () => {
  const reader: Step = { kind: "sort", from: 1, to: 2, rows: 8, length: 8, dtype: "float32" };
  const whole = { buffers: [0, 1, 2], kernel: { statements: [{ kind: "store" }, { kind: "store" }] } };
  expect(plan({ kind: "temporary" }, reader)).toMatchObject(whole);
  expect(plan({ kind: "output", index: 1 })).toMatchObject(whole);
});
