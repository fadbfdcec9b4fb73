import { describe, expect, it } from "vitest";
import { choice, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import { importanceBars, importanceNote, importanceText } from "./importance-bars.ts";

const [a, b, one, other] = new Space({
  a: uniform(0, 1),
  kind: choice([
    { use: "x", size: uniform(0, 1) },
    { use: "y", size: uniform(0, 9) },
  ]),
}).parameters;
const found = {
  parameters: [
    { parameter: a!, share: 0.6 },
    { parameter: one!, share: 0.2 },
    { parameter: b!, share: 0.1 },
    { parameter: other!, share: 0 },
  ],
  interactions: 0.1,
  fit: 0.75,
  trials: 40,
};

describe("importance", () => {
  it("is drawn as bars of a page", () => {
    const bars = importanceBars(found).text;
    expect([...bars.matchAll(/<dt title="[^"]*">([^<]*)<\/dt>/g)].map(([, name]) => name)).toEqual([
      "a",
      "kind.size (x)",
      "kind",
      "kind.size (y)",
      "interactions",
    ]);
    expect(bars).toContain("width:60.0%");
    expect(bars).toContain("60 %");
  });

  it("is drawn as text", () => {
    expect(importanceText(found).split("\n").slice(0, 2)).toEqual([
      `a              ${"█".repeat(18)}${"░".repeat(12)}   60 %`,
      `kind.size (x)  ${"█".repeat(6)}${"░".repeat(24)}   20 %`,
    ]);
  });

  it("says when it is worth little", () => {
    expect(importanceNote(found)).toMatch(/from 40 trials .* R² of 0\.75/);
    expect(importanceNote({ ...found, fit: 0.05 })).toMatch(/say little yet/);
  });
});
