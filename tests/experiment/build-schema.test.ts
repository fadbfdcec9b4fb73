// The JSON Schema says of a config what hookline itself says of it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import sweepSchema from "../../schema/hookline-sweep.schema.json" with { type: "json" };
import schema from "../../schema/hookline.schema.json" with { type: "json" };
import { is, type Check } from "../../src/core/options.ts";
import { config as starter } from "../../src/cli/init/starter.ts";
import { root } from "../support/sources.ts";

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
ajv.addSchema(schema, "hookline.schema.json");
const validate = ajv.getSchema("hookline.schema.json")!;
const validateSweep = ajv.compile(sweepSchema);

function problems(config: unknown, check: ValidateFunction = validate): ErrorObject[] {
  void check(config);
  return check.errors ?? [];
}

const configs = ["examples", "tests/experiment"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.ya?ml$/.test(file) && !file.includes("node_modules"))
    .map((file) => join(folder, file)),
);

test("there are configs to look at", () => {
  expect(configs).toContain("tests/experiment/document-002/hooks-config.yaml");
});

test.each(configs)("%s is valid", (file) => {
  const check = /sweep[^/]*$/.test(file) ? validateSweep : validate;
  expect(problems(parse(readFileSync(join(root, file), "utf8")), check)).toEqual([]);
});

test("the config of the starter project is valid", () => {
  expect(problems(parse(starter("schema.json")))).toEqual([]);
});

const whole = {
  $schema: "./node_modules/hookline/schema/hookline.schema.json",
  extends: ["./base.yaml"],
  name: "digits",
  seed: 0,
  data: { use: "csv", file: "a.csv", columns: { x: { of: ["a", "b"] }, y: "int32" } },
  split: { use: "holdout", val: 0.1 },
  loader: { batchSize: "${BATCH:-32}", shuffle: true },
  model: { use: "sequential", layers: [{ use: "linear", in: 4, out: "${WIDTH}" }, "relu", "./layers.ts#mine"] },
  loss: "crossEntropy",
  metrics: { accuracy: "accuracy", top5: { use: "accuracy", topK: 5 } },
  optimizer: { use: "adamw", lr: 1e-3, groups: [{ params: "bias", weightDecay: 0 }], schedule: "cosine" },
  schedule: { use: "sequence", parts: [{ until: "10%", schedule: "linear" }, { schedule: { use: "cosine" } }] },
  inputs: "./inputs.ts#inputs",
  epochs: 5,
  evalEvery: "1 epoch",
  evaluate: { use: "./rank.ts#rank", k: 10 },
  hooks: [
    "progressBar",
    { use: "schedule", cadence: { every: 10 }, hook: { use: "gradientMonitor", filter: ["a", "b"] } },
    { use: "when", predicate: "./mine.ts#late", hook: "lrMonitor" },
    { use: "logger", backends: ["jsonl", { use: "wandb", project: "p" }] },
    { use: "lossSchedule", schedule: [{ from: "2 epochs", loss: { use: "huber", delta: 2 } }] },
    { use: "./hooks.ts#Mine", anything: [1] },
  ],
  models: { small: { model: { use: "linear", in: 1, out: 1 } }, gan: { optimizer: { d: "adam", g: { use: "sgd" } } } },
};

test("a config with all there is, is valid", () => {
  expect(problems(whole)).toEqual([]);
});

test("options may be taken back with null, but not arguments", () => {
  expect(
    problems({ ...whole, schedule: null, clipNorm: null, loader: null, hooks: [{ use: "ema", decay: null }] }),
  ).toEqual([]);
  expect(problems({ model: { use: "linear", in: null, out: 2 } })).not.toEqual([]);
});

describe("what hookline refuses, an editor marks", () => {
  test.each<[change: object, what: string]>([
    [{ epohcs: 5 }, "an unknown key"],
    [{ epochs: "five" }, "a text for a number"],
    [{ epochs: -1 }, "a number out of range"],
    [{ loss: "crossEntropie" }, "an unknown name"],
    [{ loss: { use: "huber", dleta: 2 } }, "an unknown option"],
    [{ model: "linear" }, "a name alone where options are needed"],
    [{ model: { use: "linear", in: 4 } }, "a missing argument"],
    [{ model: { use: "sequential", layers: [{ use: "linear", in: 4, out: 0 }] } }, "a wrong argument, deep inside"],
    [{ hooks: [{ use: "earlyStopping", patiense: 3 }] }, "an unknown option of a hook"],
    [{ hooks: { use: "earlyStopping", mode: "least" } }, "a wrong choice"],
    [{ hooks: [{ name: "mine" }] }, "a component without `use`"],
    [{ hooks: [{ use: "logger" }] }, "a logger without backends"],
    [{ hooks: [{ use: "customStep", update: "update" }] }, "a function that is no export of a module"],
    [{ loader: { batchsize: 3 } }, "an unknown option of the loader"],
    [{ models: { small: { data: "./data.ts#data" } } }, "data of one model"],
    [{ optimizer: { use: "adamw", betas: [0.9] } }, "one beta"],
    [{ metrics: "accuracy" }, "a metric without a list"],
  ])("%j: %s", (change) => {
    expect(problems({ ...whole, ...change })).not.toEqual([]);
  });
});

const sweep = {
  $schema: "./node_modules/hookline/schema/hookline-sweep.schema.json",
  name: "digits",
  dir: "runs/${USER}-digits",
  experiment: { use: "./hookline.yaml", epochs: 2 },
  space: {
    "optimizer.lr": { use: "logUniform", low: 1e-4, high: "${HIGH:-0.1}" },
    width: { use: "int", low: 8, high: 64, log: true },
    optimizer: { use: "choice", options: [{ use: "sgd", momentum: { use: "uniform", low: 0, high: 1 } }, "adamw"] },
    loader: { batchSize: { use: "choice", options: [16, 32] }, shuffle: true },
  },
  objectives: ["val/loss", { metric: "seconds", mode: "min" }],
  sampler: { use: "tpe", startup: 5 },
  scheduler: { use: "asha", maxSteps: 100 },
  runner: { use: "local", timeout: 60 },
  hooks: ["./hooks.ts#Mine", { use: "webhook", url: "https://example.com" }],
  trials: 20,
  retries: null,
};

test("a sweep with all there is, is valid", () => {
  expect(problems(sweep, validateSweep)).toEqual([]);
  const inline = { experiment: { data: "./data.ts#digits", epochs: 3 }, objective: "loss", runner: "inProcess" };
  expect(problems({ ...sweep, objectives: null, ...inline }, validateSweep)).toEqual([]);
  expect(problems({ ...sweep, experiment: null, trial: "./trial.ts#train" }, validateSweep)).toEqual([]);
});

describe("of a sweep too", () => {
  test.each<[change: object, what: string]>([
    [{ trails: 5 }, "an unknown key"],
    [{ trials: 0 }, "a number out of range"],
    [{ space: { x: { use: "uniform", low: 0 } } }, "a missing bound"],
    [{ space: { x: { use: "uniform", low: 0, hihg: 1 } } }, "an unknown option of a parameter"],
    [{ space: { x: { use: "choice", options: [] } } }, "a choice of nothing"],
    [{ sampler: "radnom" }, "an unknown name"],
    [{ scheduler: { use: "asha" } }, "a missing option"],
    [{ sampler: { use: "grid", space: {} } }, "what only its maker gives"],
    [{ runner: { use: "local", directory: "." } }, "as above"],
    [{ hooks: ["progresBar"] }, "an unknown hook"],
    [{ experiment: { epohcs: 5 } }, "an unknown key of a config within"],
    [{ objective: { mode: "min" } }, "an objective without a metric"],
  ])("%j: %s", (change) => {
    expect(problems({ ...sweep, ...change }, validateSweep)).not.toEqual([]);
  });
});

// What JSON cannot hold is left out: no config but a TypeScript one has it.
const VALUES = [true, false, 0, 1, -1, 0.5, 1.5, 2 ** 40, "", "a", "b", [], [1], ["a"], {}, { a: 1 }];

test.each<[string, Check]>([
  ...Object.entries(is).filter((entry): entry is [string, Check] => typeof entry[1] !== "function"),
  ["wholeFrom", is.wholeFrom(1)],
  ["between", is.between(0, 1)],
  ["oneOf", is.oneOf("a", "c")],
  ["or", is.or(is.positive, is.arrayOf(is.name))],
  ["arrayOf", is.arrayOf(is.positive)],
])("is.%s and its schema agree", (name, check) => {
  // How a function is written, only the whole schema says.
  if (name === "function") return;
  const agrees = ajv.compile(check.schema!);
  for (const value of VALUES) expect(agrees(value), JSON.stringify(value)).toBe(check.test(value));
});
