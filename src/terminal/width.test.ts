import { describe, expect, it, test } from "vitest";
import { textWidth, truncate } from "./width.ts";

test.each([
  ["abc", 3],
  ["━╸─✓▁…é", 7],
  ["e\u0301", 1],
  ["日本", 4],
  ["한국", 4],
  ["🚀 go", 5],
  ["👩\u200D🚀", 4],
  ["\u001B[31mred\u001B[39m", 3],
  ["\u001B]8;;https://a.b\u0007link\u001B]8;;\u0007", 4],
  ["", 0],
])("%j is %i wide", (text, width) => {
  expect(textWidth(text)).toBe(width);
});

describe("truncate", () => {
  it("leaves alone what has room", () => {
    expect(truncate("\u001B[31mred\u001B[39m", 3)).toBe("\u001B[31mred\u001B[39m");
  });
  it("cuts at whole characters, and leaves no colour open", () => {
    expect(truncate("\u001B[31mred as a rose\u001B[39m", 6)).toBe("red a…");
    expect(truncate("日本語", 4)).toBe("日…");
    expect(truncate("abcdef", 5, "...")).toBe("ab...");
    expect(truncate("abcdef", 1)).toBe("…");
    expect(truncate("abcdef", 0)).toBe("");
    expect(truncate("abcdef", 2, "...")).toBe("..");
  });
});
