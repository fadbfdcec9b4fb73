import { expect, test } from "vitest";
import { split } from "./split.ts";

const x = Int32Array.from({ length: 10 }, (_, i) => i);

test("parts hold every sample once, fields together", () => {
  const parts = split({ x, y: x.map((v) => v * 2) }, [0.7, 0.2, 0.1]);
  expect(parts.map((part) => part.x!.shape)).toEqual([[7], [2], [1]]);
  expect(new Set(parts.flatMap((part) => Array.from(part.x!.data)))).toEqual(new Set(x));
  for (const part of parts) expect(part.y!.data).toEqual((part.x!.data as Int32Array).map((v) => v * 2));
  expect(split({ x }, [0.5, 0.5], 1)).toEqual(split({ x }, [0.5, 0.5], 1));
  expect(split({ x }, [0.5, 0.5], 1)).not.toEqual(split({ x }, [0.5, 0.5], 2));
});

test("fractions must be a division of the whole", () => {
  expect(() => split({ x }, [0.5, 0.6])).toThrow("Expected fractions > 0 that add up to 1, got [0.5, 0.6]");
  expect(() => split({ x }, [1.5, -0.5])).toThrow("Expected fractions > 0");
  expect(() => split({ x }, [0.99, 0.01])).toThrow("a part of 0.01 of 10 samples has none");
});
