// JSON that keeps every number, and reads what earlier versions wrote.
import { expect, test } from "vitest";
import { parseExact, stringifyExact } from "./exact-json.ts";

test("every number comes back, wherever it stands", () => {
  const value = { a: [NaN, Infinity, -Infinity, -0, 0, 1.5], b: { c: -0, text: "NaN", none: null } };
  expect(parseExact(stringifyExact(value))).toEqual(value);
  expect(Object.is(parseExact(stringifyExact(-0)), -0)).toBe(true);
});

test("files of checkpoints and journals are read as they were written", () => {
  const text = '{"loss":{"$number":"NaN"},"best":{"$number":"-Infinity"},"at":{"$number":"-0"},"x":0}';
  expect(parseExact(text)).toEqual({ loss: NaN, best: -Infinity, at: -0, x: 0 });
  expect(stringifyExact({ loss: NaN, best: -Infinity, at: -0, x: 0 })).toBe(text);
});
