import { describe, expect, test } from "vitest";
import { didYouMean, nearest } from "./suggest.ts";

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
