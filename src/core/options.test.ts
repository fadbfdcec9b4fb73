import { conv2d } from "../nn/conv.ts";
import { describe, expect, test } from "vitest";
import { OptionError } from "./errors.ts";
import { checkOptions, is, show, type Check } from "./options.ts";

describe("checks", () => {
  const cases: [name: string, check: Check, good: readonly unknown[], bad: readonly unknown[]][] = [
    ["boolean", is.boolean, [true, false], [0, "true", null]],
    ["string", is.string, ["", "a"], [1, null]],
    ["name", is.name, ["a"], ["", 1]],
    ["function", is.function, [() => 0, Map], [{}, "f"]],
    ["object", is.object, [{}, new Map()], [null, [], "o"]],
    ["array", is.array, [[], [1]], [{}, "a", new Float32Array(1)]],
    ["number", is.number, [0, -1, Infinity], [NaN, "1"]],
    ["finite", is.finite, [0, -1.5], [NaN, Infinity]],
    ["positive", is.positive, [1e-9, Infinity], [0, -1, NaN]],
    ["nonNegative", is.nonNegative, [0, 1], [-1e-9, Infinity, NaN]],
    ["fraction", is.fraction, [0, 0.999], [1, -0.1]],
    ["whole", is.whole, [0, -3], [0.5, "1"]],
    ["between", is.between(0, 1), [0, 1, 0.5], [-0.1, 1.1, NaN, "1"]],
    ["cadence", is.cadence, [1, "2 epochs", { every: 3 }], [0, "", [], null, true]],
    ["wholeFrom", is.wholeFrom(1), [1, 2 ** 40], [0, 1.5, "1", 2 ** 60]],
    ["oneOf", is.oneOf("a", "b"), ["a", "b"], ["c", undefined, 0]],
    ["or", is.or(is.name, is.positive), ["a", 1], ["", 0]],
    ["arrayOf", is.arrayOf(is.name), [[], ["a"]], [["a", 1], "a"]],
    ["anything", is.anything, [undefined, null, 0], []],
  ];
  test.each(cases)("%s", (_, check, good, bad) => {
    for (const value of good) expect(check.test(value), show(value)).toBe(true);
    for (const value of bad) expect(check.test(value), show(value)).toBe(false);
  });

  test("phrases compose", () => {
    expect(is.or(is.positive, is.oneOf("a")).expected).toBe('a number > 0 or one of "a"');
    expect(is.arrayOf(is.name).expected).toBe("an array, each a non-empty string");
  });
});

describe("show", () => {
  class Named {}
  test.each<[unknown, string]>([
    [0, "`0` (number)"],
    [NaN, "`NaN` (number)"],
    ["a", '`"a"` (string)'],
    [undefined, "`undefined` (undefined)"],
    [null, "`null`"],
    [[1, 2], "`[1, 2]` (array)"],
    [[1, 2, 3, 4, 5, 6, 7], "`[7 items]` (array)"],
    [new Named(), "an object (Named)"],
    [Object.create(null), "an object (Object)"],
    [function f() {}, "a function (f)"],
    [Symbol("s"), "`Symbol(s)` (symbol)"],
  ])("%o", (value, text) => {
    expect(show(value)).toBe(text);
  });

  test("long values are cut", () => {
    expect(show("x".repeat(500)).length).toBeLessThan(80);
  });
});

describe("checkOptions", () => {
  const CHECKS = { patience: is.wholeFrom(1), monitor: is.name };
  const check = (options: unknown, required: string[] = []) => checkOptions("earlyStopping", options, CHECKS, required);

  test("the message names owner, option, expectation, value and type", () => {
    expect(() => check({ patience: 0 })).toThrow(
      new OptionError("earlyStopping: Expected `patience` to be a whole number ≥ 1, got `0` (number)"),
    );
  });

  test("an unknown option is an error with the nearest name, or with all", () => {
    const unknown = (option: string, help: string) =>
      new OptionError(`earlyStopping: unknown option \`${option}\`. ${help}`);
    expect(() => check({ patiense: 3 })).toThrow(unknown("patiense", "Did you mean `patience`?"));
    expect(() => check({ wait: 3 })).toThrow(unknown("wait", "Known options: patience, monitor."));
  });

  test("what every object inherits is not an option", () => {
    expect(() => check({ constructor: 1 })).toThrow("unknown option `constructor`");
    expect(() => check({})).not.toThrow();
  });

  test("undefined counts as absent, also for what is required", () => {
    expect(() => check({ patience: undefined })).not.toThrow();
    expect(() => check({ monitor: undefined }, ["monitor"])).toThrow("missing option `monitor` (a non-empty string)");
  });

  test("options must be an object", () => {
    expect(() => check(null)).toThrow("earlyStopping: expected an object of options, got `null`");
    expect(() => check("patience")).toThrow(/got `"patience"` \(string\)$/);
    expect(() => check(["patience"])).toThrow('got `["patience"]` (array)');
  });

  test("a value in place of the options that is fit for one of them is shown in its place", () => {
    expect(() => check("val/loss", ["monitor"])).toThrow('got `"val/loss"` (string). Write { monitor: "val/loss" }.');
    expect(() => conv2d(1, 6, 5 as never)).toThrow("Write { kernel: 5 }.");
  });
});

test("an error knows the option that is wrong", () => {
  const optionOf = (options: object, required: string[] = []): string | undefined => {
    try {
      checkOptions("owner", options, { a: is.boolean }, required);
    } catch (error) {
      return (error as OptionError).option;
    }
    return "no error";
  };
  expect([optionOf({ a: 1 }), optionOf({ b: 1 }), optionOf({}, ["a"])]).toEqual(["a", "b", "a"]);
  expect(new OptionError("a combination").option).toBeUndefined();
});
