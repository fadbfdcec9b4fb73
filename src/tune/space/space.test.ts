import { OptionError } from "hookline";
import fc from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { Params } from "../types.ts";
import { type ParamsOf, type SpaceTree, choice, int, logUniform, uniform } from "./parameters.ts";
import { Space } from "./space.ts";

const tree = {
  seed: 7,
  betas: [0.9, 0.99],
  model: { width: int(32, 128, { step: 32 }), activation: choice(["relu", "gelu"]) },
  optimizer: choice([
    { use: "sgd", lr: logUniform(1e-3, 1), nesterov: choice([false, { dampening: uniform(0, 1) }]) },
    { use: "adamw", lr: logUniform(1e-5, 1e-2) },
  ]),
  weightDecay: choice([0, logUniform(1e-6, 1e-1)]),
};
const space = new Space(tree);
const unitPoint = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), {
  minLength: space.parameters.length,
  maxLength: space.parameters.length,
});

describe("Space", () => {
  it("lists its parameters with kind and condition, a choice before what hangs on it", () => {
    expect(
      space.parameters.map(({ path, kind, condition }) => [
        path,
        kind,
        condition && `${condition.path}=${condition.label}`,
      ]),
    ).toEqual([
      ["model.width", "int", undefined],
      ["model.activation", "choice", undefined],
      ["optimizer", "choice", undefined],
      ["optimizer.lr", "logUniform", "optimizer=sgd"],
      ["optimizer.nesterov", "choice", "optimizer=sgd"],
      ["optimizer.nesterov.dampening", "uniform", "optimizer.nesterov={}"],
      ["optimizer.lr", "logUniform", "optimizer=adamw"],
      ["weightDecay", "choice", undefined],
      ["weightDecay", "logUniform", "weightDecay=a number from 0.000001 to 0.1"],
    ]);
  });

  it("has only the chosen option's parameters in the params, and constants as they are", () => {
    const adamw = space.fromUnit([0.9, 0, 0.9, 0.5, 0.5, 0.5, 0, 0.1, 0.5]);
    expect(adamw).toEqual({
      seed: 7,
      betas: [0.9, 0.99],
      model: { width: 128, activation: "relu" },
      optimizer: { use: "adamw", lr: expect.closeTo(1e-5, 12) },
      weightDecay: 0,
    });
    const sgd = space.fromUnit([0.9, 0, 0.1, 1, 0.9, 0.25, 0, 0.9, 1]);
    expect(sgd.optimizer).toEqual({ use: "sgd", lr: 1, nesterov: { dampening: 0.25 } });
    expect(sgd.weightDecay).toBe(0.1);
    expect(space.values(adamw)).toEqual([128, 0, 1, undefined, undefined, undefined, expect.any(Number), 0, undefined]);
  });

  it("comes back from the unit cube: coordinates to params, params to coordinates, and the same params again", () => {
    fc.assert(
      fc.property(unitPoint, (point) => {
        const params = space.fromUnit(point);
        space.check(params);
        const again = space.fromUnit(space.toUnit(params));
        const numbers = (of: Params): number[] => space.values(of).map((value) => value ?? -1);
        for (const [i, value] of numbers(again).entries()) expect(value).toBeCloseTo(numbers(params)[i]!, 9);
        for (const [i, unit] of space.toUnit(params).entries()) {
          const { kind } = space.parameters[i]!;
          if (unit !== undefined && kind !== "choice" && kind !== "int") expect(unit).toBeCloseTo(point[i]!, 9);
        }
      }),
    );
  });

  it("gives params their types", () => {
    type P = ParamsOf<typeof tree>;
    expectTypeOf<P["model"]>().toEqualTypeOf<{ readonly width: number; readonly activation: "relu" | "gelu" }>();
    expectTypeOf<P["weightDecay"]>().toEqualTypeOf<number>();
    expectTypeOf<Extract<P["optimizer"], { use: "adamw" }>["lr"]>().toEqualTypeOf<number>();
  });

  it.each<[string, unknown, string]>([
    ["model.width", 33, "expected a whole number from 32 to 128 in steps of 32, got `33` (number)"],
    ["model.activation", "relo", 'expected one of relu, gelu, got `"relo"` (string)'],
    ["optimizer.lr", 2, "expected a number from 0.00001 to 0.01, got `2` (number)"],
    ["optimizer", { use: "lion" }, "expected one of sgd, adamw, got an object (Object)"],
    ["optimizer.momentum", 1, "is not in the space."],
    ["weightDecay", undefined, "is missing"],
    ["weightdecay", 1, "is not in the space. Did you mean `weightDecay`?"],
    ["seed", 8, "is `7` in the space, got `8` (number)"],
    ["model", [1], "expected an object, got `[1]` (array)"],
  ])("says what does not fit: %s = %j", (path, value, message) => {
    const params = structuredClone(space.fromUnit(space.parameters.map(() => 0.9))) as Record<string, unknown>;
    const keys = path.split(".");
    const last = keys.pop()!;
    const at = keys.reduce((object, key) => object[key] as Record<string, unknown>, params);
    if (value === undefined) delete at[last];
    else at[last] = value;
    expect(() => space.check(params as Params)).toThrow(OptionError);
    expect(() => space.check(params as Params)).toThrow(`params: \`${path}\` ${message}`);
  });

  const circle: Record<string, unknown> = { lr: uniform(0, 1) };
  circle.self = circle;
  it.each<[unknown, string]>([
    [{}, "there is no parameter to search, only constants"],
    [{ a: 1 }, "there is no parameter to search, only constants"],
    [[uniform(0, 1)], "expected an object of parameters by name, got `[1 items]` (array)"],
    [uniform(0, 1), "expected an object of parameters by name, got uniform"],
    [{ a: { b: () => 1 } }, "`a.b`: params are plain data, got a function (b). Name it, and look it up in the trial."],
    [{ a: NaN }, "`a`: expected a parameter or a constant that JSON can hold, got `NaN` (number)"],
    [{ a: choice([1, Infinity]) }, "`a[1]`: expected a parameter or a constant that JSON can hold, got `Infinity`"],
    [
      { a: choice([undefined as never]) },
      "`a[0]`: expected a parameter or a constant that JSON can hold, got `undefined`",
    ],
    [{ a: undefined }, "there is no parameter to search, only constants"],
    [{ a: [[1, 2]] }, "`a[0]`: a list in a space holds plain values only, got `[1, 2]` (array). For one of several"],
    [{ a: { b: [uniform(0, 1)] } }, "`a.b[0]`: a parameter in a list has no name. Give it a key of its own."],
    [{ a: new Date() }, "`a`: expected a parameter or a constant that JSON can hold, got an object (Date)"],
    [{ "a.b": uniform(0, 1) }, "`a.b` cannot be a key: paths are written with dots. Nest it"],
    [{ a: choice([{ x: 1 }, { x: 1 }]) }, '`a`: options 0 and 1 are the same ({"x":1}). Leave one out.'],
    [JSON.parse('{"a":{"__proto__":1}}'), "`a.__proto__`: this key means something else in JavaScript"],
    [circle, "nested more than 32 deep. Does an object hold itself?"],
  ])("refuses %o", (bad, message) => {
    expect(() => new Space(bad as SpaceTree)).toThrow(OptionError);
    expect(() => new Space(bad as SpaceTree)).toThrow(message);
  });

  it("refuses an empty choice, and coordinates outside of the cube", () => {
    expect(() => choice([])).toThrow("choice: `options` is empty: there is nothing to choose from.");
    expect(() => choice("ab" as never)).toThrow("Expected `options` to be an array");
    expect(() => space.fromUnit([1.5])).toThrow("the coordinate of `model.width` is a number from 0 to 1, got `1.5`");
    expect(() => space.fromUnit([])).toThrow("got `undefined`");
  });
});
