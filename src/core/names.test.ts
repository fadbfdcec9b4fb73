import { describe, expect, test } from "vitest";
import { selectNames, type NameFilter } from "./names.ts";

const NAMES = ["0.weight", "0.bias", "10.weight", "blocks.0.attn.qkv.weight", "blocks.0.norm.bias"];

describe("selectNames", () => {
  test.each<[NameFilter, string[]]>([
    ["0.weight", ["0.weight"]],
    ["bias", ["0.bias", "blocks.0.norm.bias"]],
    ["*.bias", ["0.bias", "blocks.0.norm.bias"]],
    ["blocks.*", ["blocks.0.attn.qkv.weight", "blocks.0.norm.bias"]],
    ["blocks.*.weight", ["blocks.0.attn.qkv.weight"]],
    ["*attn*weight", ["blocks.0.attn.qkv.weight"]],
    ["*", NAMES],
    [
      ["norm", "10.weight"],
      ["10.weight", "blocks.0.norm.bias"],
    ],
    [[], []],
    ["nothing", []],
    [(name) => name.startsWith("1"), ["10.weight"]],
  ])("%o", (filter, selected) => {
    expect(selectNames(filter, NAMES)).toEqual(selected);
  });

  test("a whole name is just that name, though others contain it", () => {
    expect(selectNames("w", ["w", "w.ema", "raw"])).toEqual(["w"]);
  });

  test("the parts around a star do not overlap", () => {
    expect(selectNames("a*a", ["a", "aa", "aba"])).toEqual(["aa", "aba"]);
    expect(selectNames("ab*bc", ["abc", "abbc"])).toEqual(["abbc"]);
  });

  test("signs that mean something elsewhere are plain here", () => {
    expect(selectNames("*(x)?.w", ["(x)?.w", "xx.w"])).toEqual(["(x)?.w"]);
  });

  test("many stars do not take long", () => {
    expect(selectNames(`${"*a".repeat(30)}b`, ["a".repeat(2000)])).toEqual([]);
  });
});
