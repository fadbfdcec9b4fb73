import { expect, test } from "vitest";
import { type Sample, stackSamples } from "./source.ts";

const stack = (samples: readonly Sample[], dtypes = {}) =>
  stackSamples(samples, dtypes, (place) => `sample ${100 + place}`);

test("typed arrays keep their type; numbers are float32, whatever their values; booleans are bool", () => {
  expect(
    stack([
      {
        x: Uint8Array.of(1, 2),
        image: { data: new Float32Array(4).fill(1), shape: [2, 2] },
        y: 3,
        ok: true,
        v: [1, 2, 3],
      },
      {
        x: Uint8Array.of(3, 4),
        image: { data: new Float32Array(4).fill(2), shape: [2, 2] },
        y: 4.5,
        ok: false,
        v: [4, 5, 6],
      },
    ]),
  ).toEqual({
    x: { data: Uint8Array.of(1, 2, 3, 4), shape: [2, 2] },
    image: { data: Float32Array.of(1, 1, 1, 1, 2, 2, 2, 2), shape: [2, 2, 2] },
    y: { data: Float32Array.of(3, 4.5), shape: [2] },
    ok: { data: Uint8Array.of(1, 0), shape: [2], dtype: "bool" },
    v: { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] },
  });
});

test("`dtypes` gives plain numbers another type, and holds them to it", () => {
  const dtypes = { y: "int32", u: "uint32", b: "bool" } as const;
  expect(stack([{ y: 3, u: [1, 2], b: 1 }], dtypes)).toEqual({
    y: { data: Int32Array.of(3), shape: [1] },
    u: { data: Uint32Array.of(1, 2), shape: [1, 2] },
    b: { data: Uint8Array.of(1), shape: [1], dtype: "bool" },
  });
  expect(() => stack([{ y: 3 }, { y: 0.5 }], { y: "int32" })).toThrow(
    "sample 101: field `y` is 0.5, which does not fit",
  );
});

test("a host array's own dtype stays", () => {
  const mask = { data: Uint8Array.of(1, 0), shape: [2], dtype: "bool" } as const;
  expect(stack([{ mask }]).mask).toEqual({ data: Uint8Array.of(1, 0), shape: [1, 2], dtype: "bool" });
});

test("samples that do not fit together are named", () => {
  expect(() => stack([{ x: Float32Array.of(1) }, { x: Float32Array.of(1, 2) }])).toThrow(
    "sample 101: field `x` has shape [2], but the first of its batch has [1]. Pad them, or give your own `collate`.",
  );
  expect(() => stack([{ x: Int32Array.of(1) }, { x: Float32Array.of(0.5) }])).toThrow(
    "is a Float32Array, but the first of its batch is a Int32Array",
  );
  expect(() => stack([{ x: 1 }, {}])).toThrow("sample 101: field `x` is missing");
  expect(() => stack([{ x: 1 }, { x: 1, z: 2 }])).toThrow(
    "sample 101: has a field `z` that the first of its batch has not",
  );
  expect(() => stack([{ x: "text" as never }])).toThrow("sample 100: field `x` is of type string");
  expect(() => stack([3 as never])).toThrow("sample 100: expected an object of fields such as { x, y }, got number");
});
