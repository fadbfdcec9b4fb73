import { expect, test } from "vitest";
import { Smoother } from "./console-smooth.ts";

test("the mean begins with the first value, and follows", () => {
  const smoother = new Smoother({ loss: 0.9 });
  expect(smoother.next("loss", 10)).toBeCloseTo(10);
  // Weights 0.09 and 0.1 of what there is.
  expect(smoother.next("loss", 0)).toBeCloseTo((10 * 0.09) / 0.19);
  for (let i = 0; i < 200; i++) smoother.next("loss", 3);
  expect(smoother.next("loss", 3)).toBeCloseTo(3);
});

test("what is not a number shows, and is forgotten", () => {
  const smoother = new Smoother({ loss: 0.5 });
  smoother.next("loss", 2);
  expect(smoother.next("loss", Number.NaN)).toBeNaN();
  expect(smoother.next("loss", 2)).toBeCloseTo(2);
});

test("others stay as they are, and each run begins anew", () => {
  const smoother = new Smoother({ loss: 0.5 });
  expect([smoother.next("lr", 1), smoother.next("lr", 5), smoother.smooths("lr")]).toEqual([1, 5, false]);
  smoother.next("loss", 100);
  smoother.clear();
  expect(smoother.next("loss", 1)).toBe(1);
});
