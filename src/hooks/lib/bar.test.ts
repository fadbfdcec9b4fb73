import { describe, expect, it, test } from "vitest";
import { bar, fitted, type Part } from "./bar.ts";

const unicode = { color: false, unicode: true };
const ascii = { color: false, unicode: false };

test.each([
  [0, "──────────", "[          ]"],
  [0.04, "──────────", "[          ]"],
  [0.05, "╸─────────", "[          ]"],
  [0.5, "━━━━━─────", "[====>     ]"],
  [0.56, "━━━━━╸────", "[====>     ]"],
  [0.999, "━━━━━━━━━╸", "[========> ]"],
  [1, "━━━━━━━━━━", "[==========]"],
  [7, "━━━━━━━━━━", "[==========]"],
  [Number.NaN, "──────────", "[          ]"],
])("a share of %d", (share, drawn, plain) => {
  expect(bar(share, 10, unicode)).toBe(drawn);
  expect(bar(share, 12, ascii)).toBe(plain);
});

test("its colour changes when it is full", () => {
  expect(bar(0.5, 2, { color: true, unicode: true })).toBe("\u001B[36m━\u001B[39m\u001B[2m─\u001B[22m");
  expect(bar(1, 2, { color: true, unicode: true })).toBe("\u001B[32m━━\u001B[39m");
});

describe("a line that has no room for all", () => {
  const parts: Part[] = [
    { text: "epoch 1/3", worth: 2, shorter: ["1/3"] },
    { text: "", worth: 9 },
    { text: "step 5", worth: 3, shorter: ["5"] },
    { text: "0:01", worth: 1 },
  ];

  it.each([
    [23, "epoch 1/3  step 5  0:01"],
    [22, "epoch 1/3  step 5"],
    [16, "1/3  step 5"],
    [10, "step 5"],
    [5, "5"],
    [0, "5"],
  ])("in %i columns", (columns, line) => {
    expect(fitted(parts, columns)).toBe(line);
  });

  it("of equals drops the last", () => {
    const equal = ["a", "b", "c"].map((text) => ({ text, worth: 1 }));
    expect(fitted(equal, 4)).toBe("a  b");
    expect(fitted([], 4)).toBe("");
  });
});
