import { describe, expect, test } from "vitest";
import { didYouMean, evalLoaderNames, nearest, selectNames, type NameFilter } from "./names.ts";

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

  test("part of a name begins where a word begins, and cuts no number", () => {
    const layers = ["0.weight", "1.weight", "10.weight", "block.0.weight", "block.10.weight", "block10.bias"];
    expect(selectNames("0.", layers)).toEqual(["0.weight", "block.0.weight"]);
    expect(selectNames("0", layers)).toEqual(["0.weight", "block.0.weight"]);
    expect(selectNames("1", layers)).toEqual(["1.weight"]);
    expect(selectNames("block.1", layers)).toEqual([]);
    expect(selectNames("block1", layers)).toEqual([]);
    expect(selectNames("lock", layers)).toEqual([]);
    expect(selectNames(".weight", layers)).toEqual(layers.slice(0, 5));
    expect(selectNames(["0.", "10."], layers)).toEqual(["0.weight", "10.weight", "block.0.weight", "block.10.weight"]);
    const names = ["attn.in_proj_bias", "norm1.weight", "layernorm.weight", "q.lora_A.weight", "val/loss"];
    expect(selectNames("bias", names)).toEqual(["attn.in_proj_bias"]);
    expect(selectNames("norm", names)).toEqual(["norm1.weight"]);
    expect(selectNames("lora_", names)).toEqual(["q.lora_A.weight"]);
    expect(selectNames("loss", names)).toEqual(["val/loss"]);
    // The first place is in the middle of a word, the second is not.
    expect(selectNames("raw", ["draw.raw"])).toEqual(["draw.raw"]);
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

const METHODS = ["onStepBegin", "onStepEnd", "onEpochEnd", "onLog"];

describe("nearest", () => {
  test.each([
    ["onStepEnnd", "onStepEnd"],
    ["onStpeEnd", "onStepEnd"],
    ["onstepend", "onStepEnd"],
    ["on_step_begin", "onStepBegin"],
    ["OnEpochEnd", "onEpochEnd"],
  ])("%s → %s", (typo, meant) => {
    expect(nearest(typo, METHODS)).toBe(meant);
  });

  test("nothing when no name is close", () => {
    expect(nearest("onCheckpointWritten", METHODS)).toBeUndefined();
    expect(nearest("anything", [])).toBeUndefined();
    expect(nearest("x", ["y", "lr"]), "another word, not a typo").toBeUndefined();
  });

  test("swapped neighbours are one mistake, so they beat two replaced letters", () => {
    expect(nearest("abdc", ["axyc", "abcd"])).toBe("abcd");
  });

  test("the first of equally close names", () => {
    expect(nearest("val1", ["val2", "val3"])).toBe("val2");
  });

  test("any iterable will do", () => {
    expect(nearest("patiense", new Map([["patience", 1]]).keys())).toBe("patience");
  });
});

test("didYouMean is ready to be appended", () => {
  expect(didYouMean("patiense", ["patience"])).toBe(" Did you mean `patience`?");
  expect(didYouMean("zzzzzzzz", ["patience"])).toBe("");
});

test("names of the evaluation loaders", () => {
  const loader = { next: () => undefined };
  expect(evalLoaderNames(undefined)).toEqual([]);
  expect(evalLoaderNames(loader)).toEqual(["val"]);
  expect(evalLoaderNames({ a: loader, b: loader })).toEqual(["a", "b"]);
});
