import { describe, expect, it } from "vitest";
import { Curve, sparkline } from "./sparkline.ts";

describe("sparkline", () => {
  it("is as high as the values are, on a scale that suits a loss", () => {
    expect(sparkline([1, 2, 4, 8, 16, 32, 64, 128], 8)).toBe("▁▂▃▄▅▆▇█");
    expect(sparkline([-3, -2, -1, 0, 1, 2, 3, 4], 8)).toBe("▁▂▃▄▅▆▇█");
  });

  it("has no more characters than there is room, and no more than there are values", () => {
    const values = Array.from({ length: 100 }, (_, i) => 2 ** (i / 10));
    expect(sparkline(values, 8)).toBe("▁▂▃▄▅▆▇█");
    expect(sparkline([5, 1], 8)).toBe("█▁");
    expect(sparkline([], 8)).toBe("");
  });

  it("marks what is not a number, and a value that does not change", () => {
    expect(sparkline([4, Number.NaN, 1, Infinity], 8)).toBe("█×▁×");
    expect(sparkline([2, 2, 2], 8)).toBe("▅▅▅");
    expect(sparkline([Number.NaN], 8)).toBe("×");
  });
});

describe("a curve", () => {
  it("keeps the whole run in a bounded number of points", () => {
    const curve = new Curve();
    for (let i = 0; i < 100_000; i++) curve.add(i);
    const { points } = curve;
    expect(points.length).toBeGreaterThanOrEqual(60);
    expect(points.length).toBeLessThanOrEqual(121);
    expect(points[0]).toBeLessThan(2000);
    expect(points.at(-1)).toBeGreaterThan(98_000);
    expect([...points].sort((a, b) => a - b)).toEqual(points);
    curve.clear();
    expect(curve.points).toEqual([]);
  });

  it("of a short run is its values", () => {
    const curve = new Curve();
    [3, 2, 1].forEach((value) => curve.add(value));
    expect(curve.points).toEqual([3, 2, 1]);
  });
});
