import { OptionError } from "hookline";
import { describe, expect, it } from "vitest";
import { choice, int, logUniform, uniform } from "./parameters.ts";
import { describeSpace, spaceFromConfig, spaceFromJournal } from "./space-data.ts";
import { Space } from "./space.ts";

const parametersOf = (space: Space): unknown =>
  space.parameters.map(({ path, kind, condition, ...rest }) => [
    path,
    kind,
    condition,
    "domain" in rest ? rest.domain.expected : rest.labels,
  ]);

describe("spaceFromConfig", () => {
  it("reads the same space as the functions make", () => {
    const config = {
      "optimizer.lr": { use: "logUniform", low: 1e-4, high: 1e-1 },
      "optimizer.use": "sgd",
      model: { width: { use: "int", low: 32, high: 512, log: true }, layers: [{ use: "relu" }].length },
      schedule: {
        use: "choice",
        options: [{ use: "cosine", warmup: { use: "uniform", low: 0, high: 0.1 } }, { use: "constant" }, "none"],
      },
    };
    const space = spaceFromConfig(config);
    const same = new Space({
      optimizer: { lr: logUniform(1e-4, 1e-1), use: "sgd" },
      model: { width: int(32, 512, { log: true }), layers: 1 },
      schedule: choice([{ use: "cosine", warmup: uniform(0, 0.1) }, { use: "constant" }, "none"]),
    });
    expect(parametersOf(space)).toEqual(parametersOf(same));
    const point = space.parameters.map(() => 0.2);
    expect(space.fromUnit(point)).toEqual(same.fromUnit(point));
  });

  it("leaves a component alone that only happens to have options", () => {
    const space = spaceFromConfig({
      a: { use: "uniform", low: 0, high: 1 },
      loss: { use: "./own.ts#Loss", options: 3 },
    });
    expect(space.fromUnit([0])).toEqual({ a: 0, loss: { use: "./own.ts#Loss", options: 3 } });
  });

  it.each<[unknown, string, string]>([
    [
      { a: { b: { use: "uniform", low: 1, high: 0 } } },
      "space: `a.b`: uniform: `low` (1) is above `high` (0).",
      "a.b.low",
    ],
    [
      { "a.b": { use: "logUniform", low: 0, high: 1 } },
      "space: `a.b`: logUniform: Expected `low` to be a number > 0",
      "a.b.low",
    ],
    [{ a: { use: "uniform", low: 0 } }, "space: `a`: uniform: missing option `high` (a finite number).", "a.high"],
    [{ a: { use: "uniform", low: 0, hihg: 1 } }, "unknown option `hihg`. Did you mean `high`?", "a.hihg"],
    [
      { a: { use: "int", low: 0, high: 4, step: 0 } },
      "space: `a`: int: Expected `step` to be a whole number ≥ 1",
      "a.step",
    ],
    [{ a: { use: "choice", options: [] } }, "space: `a`: choice: `options` is empty", "a.options"],
    [{ a: { use: "choice", choices: [1] } }, "unknown option `choices`", "a.choices"],
    [
      { a: { use: "choice", options: [1, { b: { use: "int", low: 2, high: 1 } }] } },
      "space: `a[1].b`: int: `low` (2) is above `high` (1)",
      "a[1].b.low",
    ],
    [
      { a: { use: "loguniform", low: 1, high: 2 } },
      "there is no parameter `loguniform`. Did you mean `logUniform`?",
      "a.use",
    ],
    [
      { a: { use: "normal", low: 1, high: 2 } },
      "no parameter `normal`. Known: uniform, logUniform, int, choice.",
      "a.use",
    ],
    [
      { a: { b: { use: "int", low: 0, high: 1 } }, "a.b": 2 },
      "space: `a.b` is given twice, once as a path and once nested. Leave one out.",
      "a.b",
    ],
    [
      { a: { use: "int", low: 0, high: 1 }, "a.b": 2 },
      "space: `a.b` lies within `a`, which is a value itself. Leave one out.",
      "a.b",
    ],
    [{ "a..b": 1 }, "`a..b` is no path: names with dots between them, such as optimizer.lr.", "a..b"],
    [{ a: [[1]] }, "`a[0]`: a list in a space holds plain values only", "a[0]"],
  ])("refuses %j and says where", (config, message, option) => {
    let error: unknown;
    try {
      spaceFromConfig(config);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(OptionError);
    expect((error as OptionError).message).toContain(message);
    expect((error as OptionError).option).toBe(option);
  });

  it("puts what is nested beside what is a path, in either order", () => {
    const [lr, wd] = [
      { use: "uniform", low: 0, high: 1 },
      { use: "uniform", low: 0, high: 2 },
    ];
    const paths = (config: object): readonly string[] => spaceFromConfig(config).parameters.map(({ path }) => path);
    expect(paths({ optimizer: { wd, a: { b: lr } }, "optimizer.lr": lr })).toHaveLength(3);
    expect(paths({ "optimizer.lr": lr, "optimizer.a": { c: lr }, optimizer: { wd, a: { b: lr } } })).toEqual([
      "optimizer.lr",
      "optimizer.a.c",
      "optimizer.a.b",
      "optimizer.wd",
    ]);
    expect(() => paths({ "optimizer.lr": lr, optimizer: { lr } })).toThrow("`optimizer.lr` is given twice");
  });

  it("refuses what is no object", () => {
    expect(() => spaceFromConfig([1])).toThrow("space: expected an object of parameters by name, got `[1]` (array)");
    expect(() => spaceFromConfig(null)).toThrow(OptionError);
  });
});

describe("space in a journal", () => {
  it("makes the space that was described", () => {
    const space = new Space({
      seed: 1,
      lr: logUniform(1e-4, 1e-1),
      width: int(4, 64, { log: true }),
      layers: int(1, 9, { step: 2 }),
      optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }, "none"]),
      sizes: choice([[1, 2], [3]]),
    });
    const described = describeSpace(space.root);
    const again = spaceFromJournal(JSON.parse(JSON.stringify(described)));
    expect(describeSpace(again.root)).toEqual(described);
    const params = space.fromUnit(space.parameters.map((_, i) => (i + 0.3) / 8));
    expect(again.toUnit(params)).toEqual(space.toUnit(params));
  });

  it("knows a linear whole number from a logarithmic one", () => {
    const [linear, log] = [int(4, 64), int(4, 64, { log: true })].map((width) => new Space({ width }));
    expect(describeSpace(linear!.root)).not.toEqual(describeSpace(log!.root));
  });
});
