import { describe, expect, expectTypeOf, test } from "vitest";
import { component, componentsIn } from "./component.ts";
import { OptionError } from "./errors.ts";
import { is } from "./options.ts";

let described = 0;
const layer = component(
  {
    kind: "model",
    name: "layer",
    takes: () => {
      described++;
      return { args: { size: is.wholeFrom(1) }, options: { bias: is.boolean, kernel: is.name }, required: ["kernel"] };
    },
  },
  (size: number, options: { readonly bias?: boolean; readonly kernel: string }) => ({ size, ...options }),
);
const stack = component(
  { kind: "model", name: "stack", takes: () => ({ args: { layers: is.array }, spread: true }) },
  (...layers: readonly number[]) => layers,
);
const tanh = component({ kind: "model", name: "tanh" }, () => "tanh");
const squared = component({ kind: "loss", name: "squared" }, () => "squared");

describe("component", () => {
  test("is its factory, of the same type", () => {
    expectTypeOf(layer).parameters.toEqualTypeOf<[number, { readonly bias?: boolean; readonly kernel: string }]>();
    expect(layer(3, { kernel: "k" })).toEqual({ size: 3, kernel: "k" });
    expect(stack(1, 2)).toEqual([1, 2]);
    expect([layer.name, tanh()]).toEqual(["layer", "tanh"]);
  });

  test("is not described before it is used", () => {
    const before = described;
    component(
      { kind: "hook", name: "unused", takes: () => ({ options: { [String(described++)]: is.name } }) },
      () => 0,
    );
    expect(described).toBe(before);
  });

  test("checks arguments and options", () => {
    const of =
      (...args: readonly unknown[]) =>
      () =>
        layer(...(args as [number, { kernel: string }]));
    expect(of(0, { kernel: "k" })).toThrow(
      new OptionError("layer: Expected `size` to be a whole number ≥ 1, got `0` (number)"),
    );
    expect(of(undefined, { kernel: "k" })).toThrow("layer: Expected `size` to be a whole number ≥ 1");
    expect(of(1, { kernel: "k", bais: true })).toThrow("layer: unknown option `bais`. Did you mean `bias`?");
    expect(of(1)).toThrow("layer: missing option `kernel`");
    expect(of(1, "k")).toThrow('Write { kernel: "k" }.');
  });
});

test("componentsIn finds those of one kind among exports", () => {
  const exports = { layer, tanh, squared, notDescribed: () => 0, number: 1 };
  expect(Object.keys(componentsIn(exports, "model"))).toEqual(["layer", "tanh"]);
  expect(componentsIn(exports, "loss").squared!.make).toBe(squared);
  expect(componentsIn(exports, "hook")).toEqual({});
});
