import { describe, expect, it } from "vitest";
import { linearAxis, logAxis, objectiveAxis, optionAxis } from "./axis.ts";

const texts = ({ ticks }: { ticks: readonly { text: string }[] }): readonly string[] => ticks.map(({ text }) => text);

describe("axes", () => {
  it("are marked at round numbers", () => {
    expect(texts(linearAxis(0, 27))).toEqual(["0", "5", "10", "15", "20", "25"]);
    expect(texts(linearAxis(0.9512, 0.9788))).toEqual(["0.955", "0.96", "0.965", "0.97", "0.975"]);
    expect(texts(linearAxis(-3, 3))).toEqual(["-3", "-2", "-1", "0", "1", "2", "3"]);
    expect(texts(linearAxis(0, 410_000))).toEqual(["0", "100k", "200k", "300k", "400k"]);
    expect(texts(linearAxis(0, 5e-6))).toEqual(["0", "1e-6", "2e-6", "3e-6", "4e-6", "5e-6"]);
  });

  it("are logarithmic by powers of ten, or finer where there are too few", () => {
    const axis = logAxis(1e-4, 1);
    expect(texts(axis)).toEqual(["1e-4", "0.001", "0.01", "0.1", "1"]);
    expect(axis.place(0.01)).toBeCloseTo(0.5, 12);
    expect(texts(logAxis(16, 512))).toEqual(["20", "50", "100", "200", "500"]);
    expect(texts(logAxis(1.1, 1.4))).toEqual(["1.1", "1.15", "1.2", "1.25", "1.3", "1.35", "1.4"]);
    expect(texts(logAxis(1e-12, 1)).length).toBeLessThanOrEqual(7);
  });

  it("have options at equal distances", () => {
    const axis = optionAxis(["relu", "gelu", "tanh"]);
    expect(axis.ticks).toEqual([
      { at: 0, text: "relu" },
      { at: 0.5, text: "gelu" },
      { at: 1, text: "tanh" },
    ]);
    expect(optionAxis(["only"]).place(0)).toBe(0.5);
  });

  it("place what lies beyond at the end, and a single value in the middle", () => {
    expect(linearAxis(0, 1).place(7)).toBe(1);
    expect(linearAxis(0, 1).place(-7)).toBe(0);
    expect(linearAxis(3, 3).place(3)).toBe(0.5);
  });
});

describe("objectiveAxis", () => {
  const most = [0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97];

  it("leaves a few far worse values at the edge, not better ones", () => {
    const max = objectiveAxis([...most, 0.1], { mode: "max" });
    expect(max.place(0.1)).toBe(0);
    expect(max.place(0.9)).toBeGreaterThan(0.3);
    const min = objectiveAxis([...most, 0.1], { mode: "min" });
    expect(min.place(0.1)).toBeGreaterThan(0);
    expect(min.place(0.9)).toBeGreaterThan(0.8);
  });

  it("is logarithmic where positive values span much", () => {
    expect(objectiveAxis([0.01, 0.1, 10], { mode: "min" }).place(0.1)).toBeCloseTo(1 / 3, 6);
    expect(objectiveAxis([-0.01, 0.1, 10], { mode: "max" }).place(0.1)).toBeLessThan(0.1);
  });

  it("takes one value, equal values and none", () => {
    expect(objectiveAxis([2, 2], { mode: "min" }).place(2)).toBeCloseTo(0.5, 6);
    expect(objectiveAxis([0], { mode: "min" }).place(0)).toBe(0.5);
    expect(texts(objectiveAxis([], { mode: "min" })).length).toBeGreaterThan(1);
  });
});
