import { describe, expect, test } from "vitest";
import { optionNames, unknownOption } from "./call-export.ts";

/** A function as its source says, so that no compiler changes it. */
// oxlint-disable-next-line no-implied-eval
const made = (source: string): unknown => new Function(`return (${source});`)();

describe("names that the first parameter takes apart", () => {
  test.each<[source: string, names: readonly string[]]>([
    ["function network({ width, layers }) {}", ["width", "layers"]],
    ["({ width }) => width", ["width"]],
    ["async ({ width }, { datasets }) => [width, datasets]", ["width"]],
    ["async function* load({ path }) {}", ["path"]],
    ["{ network({ width }) {} }.network", ["width"]],
    ["class { constructor({ threshold }) { this.threshold = threshold; } }", ["threshold"]],
    ["class Hook { name = 'x'; constructor ( { a, b } ) {} onStepEnd(ctx) {} }", ["a", "b"]],
    ["({ width: w, layers: n = 2, bias = true, }) => [w, n, bias]", ["width", "layers", "bias"]],
    ["({ sizes: [first, ...others], deep: { inner, ...rest } }) => first", ["sizes", "deep"]],
    ["({ a = { x: 1, y: [2, 3] }, b = f(1, 2), c = (x, y) => x }) => a", ["a", "b", "c"]],
    ["({ a = ', b } ', b = \"it's\", 'c-d': e, \"f\": g }) => a", ["a", "b", "c-d", "f"]],
    ["({ a, /* the } width */ b, // c,\n d }) => a", ["a", "b", "d"]],
    ["({ größe, $x, _y }) => größe", ["größe", "$x", "_y"]],
    ["({ width } = {}) => width", ["width"]],
    ["({}) => 1", []],
    ["() => 1", []],
    ["function ( ) {}", []],
  ])("%s", (source, names) => {
    const value = made(source.startsWith("{") ? `(${source})` : source);
    expect(optionNames(value)).toEqual(names);
  });

  test.each([
    "({ width, ...others }) => others",
    "({ [key]: value }) => value",
    "(options) => options",
    "options => options.width",
    "async options => (options)",
    "(...all) => all",
    "([first]) => first",
    "function () { return arguments[0]; }",
    "function network({ width }) { return [width, arguments[0]]; }",
    "({ pattern = /[},]/, b }) => b",
    "({ text = `a${1}`, b }) => b",
    "class {}",
    "class extends Array { name = 1; }",
    "class { constructor(options) {} }",
    "class { make() { return class { constructor({ inner }) {} }; } }",
    "Math.max",
    "((a) => a).bind(null)",
  ])("are not known: %s", (source) => {
    expect(optionNames(made(source))).toBeUndefined();
  });
});

test("an option that is not among them, with the nearest name", () => {
  const network = made("({ width, layers = 2 }) => width");
  expect(unknownOption(network, "./model.ts#network", { width: 16, layers: 1 })).toBeUndefined();
  expect(unknownOption(network, "./model.ts#network", { layers: 1, widht: 16 })).toEqual({
    option: "widht",
    message: "./model.ts#network: unknown option `widht`. Did you mean `width`? It takes: width, layers.",
  });
  expect(unknownOption(network, "./model.ts#network", { width: 16, dropped: null })).toBeUndefined();
  expect(unknownOption(() => 1, "./model.ts#network", { width: 16 })?.message).toBe(
    "./model.ts#network: unknown option `width`. It takes none.",
  );
});
