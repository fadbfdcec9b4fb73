// From a config to the options of an experiment: what is made, and when; what is refused, and where.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Table } from "hookline/data";
import { Experiment, type ModelPlan } from "hookline/experiment";
import { int, Space } from "hookline/tune";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { buildExperiment } from "../../src/experiment/build/build-experiment.ts";
import { prepareComponent } from "../../src/experiment/build/build-component.ts";
import { BuildContext } from "../../src/experiment/build/build-context.ts";
import { ConfigError } from "../../src/experiment/config/config-error.ts";
import { readConfig, type ReadConfigOptions } from "../../src/experiment/config/read-config.ts";
import type { Kind } from "../../src/core/options.ts";
import { SWEEP_KINDS as KINDS } from "../../src/tune/sweep/build-sweep.ts";
import { tempDir } from "../support/temp-dir.ts";
import { NEEDED } from "./needed-options.ts";

const OWN = `
export const data = ({ rows = 8 } = {}) => ({
  x: { data: Float32Array.from({ length: rows * 2 }, (_, i) => Math.sin(i)), shape: [rows, 2] },
  y: { data: Float32Array.from({ length: rows }, (_, i) => Math.cos(i)), shape: [rows, 1] },
});
export class MyHook {
  name = "mine";
  constructor(options) { this.options = options; }
  onStepEnd() {}
}
export const makeHook = (options) => ({ name: "made", options, onStepEnd() {} });
export const readyHook = { name: "ready", onStepEnd() {} };
export const slowHook = async () => ({ name: "slow", onStepEnd() {} });
export const noHook = () => ({ onStepEnd() {} });
export const throws = () => { throw new Error("no disk"); };
export const model = (options, setup) => ({ init: () => ({}), apply: (_, x) => x, options, setup });
export const metric = (options, setup) => ({ update: () => ({}), compute: () => 0, options, setup });
export const evaluate = (options, setup) => ({ got: options.k, seed: setup.seed, trainer: setup.trainer === "trainer" ? 1 : 0 });
export const loaders = (options, setup) => ({ train: { options, setup } });
export const late = (ctx) => ctx.step > 3;
export const number = 3;
export default MyHook;
`;

const BASE = `
data: ./own.ts#data
model: { use: linear, in: 2, out: 1 }
loss: mse
optimizer: { use: sgd, lr: 0.1 }
epochs: 1
`;

/** Writes files beside each other, and reads the first as a config. */
async function build(
  text: string,
  options: ReadConfigOptions & { files?: Record<string, string>; file?: string; forRun?: boolean } = {},
) {
  const dir = tempDir();
  const { file = "hookline.yaml", files = {}, forRun, ...more } = options;
  for (const [name, content] of Object.entries({ "package.json": "{}", "own.ts": OWN, ...files, [file]: text })) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  return buildExperiment(await readConfig(file, { cwd: dir, env: {}, ...more }), { forRun });
}

async function errorOf(text: string, options: Parameters<typeof build>[1] = {}): Promise<ConfigError> {
  const error: unknown = await build(text, options).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  return error as ConfigError;
}

test("a config becomes an experiment that runs", async () => {
  const options = await build(`${BASE}\nsplit: { use: holdout, val: 0.5, test: 0 }\nloader: { batchSize: 2 }`);
  const { runDir: _runDir, ...inMemory } = options;
  const result = await new Experiment(inMemory).run();
  expect(result.models.model!.training).toMatchObject({ status: "completed", steps: 2 });
});

describe("every built-in component can be made", () => {
  test.each(Object.keys(KINDS) as Kind[])("%s", async (kind) => {
    const { load, test: isOne } = KINDS[kind];
    const dir = tempDir();
    writeFileSync(join(dir, "package.json"), "{}");
    writeFileSync(join(dir, "own.ts"), OWN);
    writeFileSync(join(dir, "c.yaml"), "name: x");
    for (const file of ["a.csv", "a.jsonl", "a.safetensors"]) writeFileSync(join(dir, file), "");
    cpSync(new URL("../lm/fixtures/llama", import.meta.url), join(dir, "llama"), { recursive: true });
    const problems = new BuildContext(await readConfig("c.yaml", { cwd: dir }), KINDS);
    const gives = { space: new Space({ layers: int(1, 3) }), directory: dir };
    for (const use of Object.keys(await load())) {
      const recipe = await prepareComponent(problems, kind, { use, ...NEEDED[`${kind}.${use}`] }, [], gives);
      problems.check();
      const made = await recipe!.make();
      expect(isOne(made), use).toBe(true);
      expect(recipe!.needsSetup, use).toBe(false);
    }
  });
});

describe("own components", () => {
  test("a class is constructed with its options, a function called with them, a ready one is taken as it is", async () => {
    const { hooks } = await build(`${BASE}
hooks:
  - { use: ./own.ts#MyHook, threshold: 5 }
  - { use: ./own.ts#makeHook, deep: { list: [1, two] } }
  - ./own.ts#readyHook
  - ./own.ts#slowHook
`);
    expect(hooks).toMatchObject([
      { name: "mine", options: { threshold: 5 } },
      { name: "made", options: { deep: { list: [1, "two"] } } },
      { name: "ready" },
      { name: "slow" },
    ]);
  });

  test("one hook stands for a list of one; a module without a name gives its default export", async () => {
    const { hooks } = await build(`${BASE}\nhooks: ./own.ts`);
    expect(hooks).toMatchObject([{ name: "mine", options: {} }]);
  });

  test("data is not read before it is asked for", async () => {
    const options = await build(BASE.replace("./own.ts#data", "{ use: ./own.ts#data, rows: 3 }"));
    expect(await options.data()).toMatchObject({ y: { shape: [3, 1] } });
    const broken = await build(BASE.replace("#data", "#throws"));
    expect(() => broken.data()).toThrow("no disk");
  });

  test("models and metrics are made when the data is there, and see it", async () => {
    const { model, metrics } = (await build(`
data: ./own.ts#data
model: { use: sequential, layers: [relu, { use: ./own.ts#model, width: 3 }] }
loss: mse
metrics: [./own.ts#metric]
optimizer: sgd
epochs: 1
`)) as { model: (setup: object) => object; metrics: (setup: object) => object };
    const setup = { datasets: { train: {} }, seed: 4 };
    expect(metrics(setup)).toMatchObject({ metric: { options: {}, setup } });
    expect(model(setup)).toMatchObject({ init: expect.any(Function), apply: expect.any(Function) });
  });

  test("evaluate and loaders are called with their options and the setup", async () => {
    const plan = await build(`${BASE}\nevaluate: { use: ./own.ts#evaluate, k: 7 }\nloaders: ./own.ts#loaders`);
    const setup = { datasets: { train: {} }, seed: 4 } as never;
    expect(await plan.evaluate!("trainer" as never, setup)).toEqual({ got: 7, seed: 4, trainer: 1 });
    expect(await plan.loaders!(setup)).toEqual({ train: { options: {}, setup } });
  });

  test.each([
    ["./own.ts#noHook", "hooks: Expected ./own.ts#noHook to make a hook (an object with a `name` and methods"],
    ["./own.ts#number", "Expected ./own.ts#number to be a hook"],
    ["./own.ts#throws", "./own.ts#throws failed: no disk"],
    ["./own.ts#MyHok", "has no export `MyHok`. Did you mean `MyHook`?"],
    ["./onw.ts#MyHook", "There is no file ./onw.ts"],
    ["{ use: ./own.ts#readyHook, a: 1 }", "is ready made and takes no options, but has a"],
    ["../own.ts#MyHook", "leaves the project"],
  ])("%s is refused", async (hooks, message) => {
    const error = await errorOf(`hooks: ${hooks}${BASE}`);
    expect(error.message).toContain(message);
    expect(error.position).toMatchObject({ file: "hookline.yaml", line: 1 });
  });

  // With types and an enum, so that a compiler reads it on every version of Node.
  const TYPED = `enum Kind { plain }
interface Options { readonly width: number; readonly layers?: number }
export function network({ width: w, layers = Kind.plain }: Options) { return { init: () => ({}), apply: () => [w, layers] }; }
export class Threshold {
  readonly name = "threshold";
  readonly threshold: number;
  constructor({ threshold }: { threshold: number }) { this.threshold = threshold; }
  onStepEnd(): void {}
}
export const open = ({ width, ...others }: Record<string, number>) => ({ name: "open", width, others, onStepEnd() {} });
export const evaluate = async ({ k }: { k: number }, setup: unknown) => ({ k });
export const points = async ({ rows }: { rows: number }) => ({ rows });
`;

  test.each([
    [
      BASE.replace(/model: .*/, "model: { use: ./typed.ts#network, widht: 16, layers: 2 }"),
      "hookline.yaml:3:35: model.widht: ./typed.ts#network: unknown option `widht`. Did you mean `width`? It takes: width, layers.",
    ],
    [
      `${BASE}hooks: [{ use: ./typed.ts#Threshold, treshold: 5 }]`,
      "7:38: hooks.0.treshold: ./typed.ts#Threshold: unknown option `treshold`. Did you mean `threshold`? It takes: threshold.",
    ],
    [
      `${BASE}evaluate: { use: ./typed.ts#evaluate, K: 7 }`,
      "7:39: evaluate.K: ./typed.ts#evaluate: unknown option `K`. Did you mean `k`?",
    ],
    [
      BASE.replace("./own.ts#data", "{ use: ./typed.ts#points, row: 3 }"),
      "2:33: data.row: ./typed.ts#points: unknown option `row`. Did you mean `rows`?",
    ],
    [
      `${BASE}hooks: [{ use: ./own.ts#slowHook, speed: 1 }]`,
      "hooks.0.speed: ./own.ts#slowHook: unknown option `speed`. It takes none.",
    ],
  ])("an option that its function does not take: %s", async (text, message) => {
    expect((await errorOf(text, { files: { "typed.ts": TYPED } })).message).toContain(message);
  });

  test("options that its function takes, by new names, with defaults and in a rest", async () => {
    const { hooks } = await build(
      `${BASE.replace(/model: .*/, "model: { use: ./typed.ts#network, width: 16, layers: 2 }")}hooks:
  - { use: ./typed.ts#Threshold, threshold: 5 }
  - { use: ./typed.ts#open, width: 1, height: 2 }`,
      { files: { "typed.ts": TYPED } },
    );
    expect(hooks).toMatchObject([{ threshold: 5 }, { width: 1, others: { height: 2 } }]);
  });
});

test("a TypeScript config may hold what is ready made", async () => {
  const options = await build(
    `import { data, MyHook, model } from "./own.ts";
    const schedule = { name: "half", interval: "epoch", factor: () => 0.5 };
    export default {
      data: () => data({ rows: 4 }),
      model: (setup) => model({}, setup),
      loss: (outputs) => outputs,
      metrics: { m: { update: () => ({}), compute: () => 1 } },
      optimizer: { use: "sgd", lr: 0.1, schedule },
      steps: 2,
      tokens: (batch) => 3,
      hooks: [new MyHook({ here: true }), { name: "plain", onStepEnd() {} }, "lrMonitor"],
    };`,
    { file: "hookline.config.ts" },
  );
  expect(options).toMatchObject({
    metrics: { m: { compute: expect.any(Function) } },
    optimizer: { schedule: { name: "half" } },
    hooks: [{ name: "mine", options: { here: true } }, { name: "plain" }, { name: "lrMonitor" }],
  });
  expect(options.params).toMatchObject({ steps: 2, loss: "[loss]", tokens: "[tokens]" });
});

describe("several models", () => {
  const config = `${BASE}
models:
  small: { epochs: 2 }
  large: { model: { use: linear, in: 2, out: 1, bias: false }, hooks: lrMonitor }
`;
  test("each has what it says itself, and all of it as its parameters", async () => {
    const { models } = await build(config);
    expect(models!.small).toMatchObject({ epochs: 2, params: { epochs: 2, loss: "mse", optimizer: { lr: 0.1 } } });
    expect(models!.large).toMatchObject({
      hooks: [{ name: "lrMonitor" }],
      params: { epochs: 1, model: { bias: false } },
    });
    expect((models!.small as ModelPlan).model).toBeUndefined();
  });

  test("what is missing or wrong in one is told of that one", async () => {
    const error = await errorOf(config.replace("loss: mse", "").replace("epochs: 2", "epochs: 2, schedule: cosin"));
    expect(error.errors.map(({ path }) => path)).toEqual(["models.small.schedule", "models.small", "models.large"]);
    expect(error.message).toContain("Did you mean `cosine`?");
    expect(error.message).toContain("models.large: missing `loss`");
  });
});

test("null takes back what an extended config says", async () => {
  const base = `${BASE}schedule: cosine\nclipNorm: 1\nloader: { batchSize: 2, shuffle: false }\nhooks: { use: ema, decay: 0.5 }`;
  const options = await build("extends: ./base.yaml\nschedule: null\nclipNorm: null\nloader: { shuffle: null }", {
    files: { "base.yaml": base },
  });
  expect(Object.keys(options)).not.toContain("schedule");
  expect(Object.keys(options)).not.toContain("clipNorm");
  expect(options.loader).toEqual({ batchSize: 2 });
});

test("parameters show variables of the environment as they are written", async () => {
  const env = { WIDTH: "2", TOKEN_OF_MINE: "s3cret-value" };
  const options = await build(
    BASE.replace("in: 2", 'in: "${WIDTH}"').replace(
      "loss: mse",
      'loss: { use: ./own.ts#makeHook2, key: "${TOKEN_OF_MINE}" }',
    ),
    { env, files: { "own.ts": `${OWN}\nexport const makeHook2 = ({ key }) => () => key;` } },
  );
  expect((options.loss as unknown as () => string)()).toBe("s3cret-value");
  expect(options.params).toMatchObject({ model: { in: "${WIDTH}" }, loss: { key: "${TOKEN_OF_MINE}" } });
});

describe("files", () => {
  test("runs go into the project, by the experiment's name", async () => {
    expect((await build(`name: digits${BASE}`)).runDir).toMatch(/runs\/digits$/);
    expect((await build(`runDir: /data/out${BASE}`)).runDir).toBe("/data/out");
    expect((await errorOf(`runDir: ../out${BASE}`)).message).toContain("hookline.yaml:1:1: runDir: `../out` leaves");
    expect((await errorOf(`name: ../../out${BASE}`)).message).toContain("leaves the project");
  });

  test("data lies beside the config", async () => {
    const csv = BASE.replace("./own.ts#data", "{ use: csv, file: a.csv, columns: { y: float32 } }");
    const { data } = await build("extends: ./sub/base.yaml", {
      files: { "sub/base.yaml": csv.replace("./own.ts", "../own.ts"), "sub/a.csv": "y\n1\n2\n" },
    });
    expect(await data()).toEqual({ y: new Float32Array([1, 2]) });
    expect((await errorOf(csv.replace("a.csv", "../a.csv"))).message).toContain(
      "data.file: `../a.csv` leaves the project",
    );
    expect((await errorOf(csv.replace("a.csv", "/etc/passwd"))).message).toContain("leaves the project");
    expect((await errorOf(csv)).message).toMatch(/data\.file: There is no file a\.csv in /);
    const table = csv.replace("use: csv", "use: table").replace("float32", "number");
    const read: unknown = await (await build(table, { files: { "a.csv": "y,plan\n1,x\n,\n" } })).data();
    expect(read).toBeInstanceOf(Table);
    expect((read as Table).schema).toEqual({ y: "number", plan: "string" });
    expect((await errorOf(table.replace("number", "float32"))).message).toContain(
      "table: Expected `columns` to be an object from columns to",
    );
    const hook = `${BASE}\nhooks: { use: timeline, file: ../../t.json }`;
    expect((await errorOf(hook)).message).toContain("hooks.file: `../../t.json` leaves the project");
  });
});

describe("what a run needs around it", () => {
  const bucket = "{ use: s3Upload, endpoint: https://s3.example.com, bucket: my-runs }";
  const logger = (backend: string): string => `{ use: logger, backends: [jsonl, ${backend}] }`;
  beforeEach(() => {
    for (const name of ["WANDB_API_KEY", "WANDB_MODE", "MLFLOW_TRACKING_URI"]) vi.stubEnv(name, "");
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "");
    onTestFinished(() => void vi.unstubAllEnvs());
  });

  test.each([
    [logger("wandb"), /:8:\d+: hooks\.0\.backends\.1: wandb: there is no key: set WANDB_API_KEY/],
    [logger("{ use: wandb, apiKey: k, baseUrl: http://x.org }"), /backends\.1: wandb: `baseUrl` is plain http/],
    [logger("mlflow"), /backends\.1: mlflow: there is no server: give `uri`/],
    [bucket, /:8:\d+: hooks\.0: s3Upload: there are no keys for s3\.example\.com\/my-runs: set AWS_ACCESS_KEY_ID/],
    [`{ use: schedule, cadence: 2, hook: ${bucket} }`, /hooks\.0\.hook: s3Upload: there are no keys/],
  ])("%s: told before it runs, and to nobody who only reads the config", async (hook, message) => {
    const text = `${BASE}\nhooks: [${hook}]`;
    expect((await errorOf(text, { forRun: true })).message).toMatch(message);
    await build(text);
  });

  test.each([
    logger("{ use: wandb, mode: offline }"),
    logger("{ use: wandb, apiKey: k }"),
    logger("{ use: mlflow, uri: http://127.0.0.1:5000 }"),
    bucket.replace("bucket:", "accessKeyId: a, secretAccessKey: b, bucket:"),
  ])("%s has it, or needs none", async (hook) => {
    expect((await build(`${BASE}\nhooks: [${hook}]`, { forRun: true })).hooks).toHaveLength(1);
  });

  test("W&B needs no key where the environment says offline", async () => {
    vi.stubEnv("WANDB_MODE", "offline");
    expect((await build(`${BASE}\nhooks: [${logger("wandb")}]`, { forRun: true })).hooks).toHaveLength(1);
  });
});

describe("mistakes, each at its place", () => {
  test("what is known is listed once, however many options are not", async () => {
    const { message } = await errorOf(`train: x\nvalidation: y${BASE.replace("lr:", "speed: 1, rate: 2, lr:")}`);
    const lines = message.split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/: train: Unknown option `train`\. Known options: epochs, .*\.$/);
    expect(lines[1]).toMatch(/: validation: Unknown option `validation`\.$/);
    expect(lines[2]).toMatch(/: optimizer\.speed: sgd: unknown option `speed`\. Known options: lr, .*\.$/);
    expect(lines[3]).toMatch(/: optimizer\.rate: sgd: unknown option `rate`\.$/);
  });

  test.each<[text: string, message: string]>([
    [`epohcs: 3${BASE}`, "1:1: epohcs: Unknown option `epohcs`. Did you mean `epochs`?"],
    [`train: x${BASE}`, "1:1: train: Unknown option `train`."],
    [BASE.replace("epochs: 1", "epochs: one"), '6:1: epochs: Expected `epochs` to be a whole number ≥ 1, got `"one"`'],
    [BASE.replace("epochs: 1", ""), "say how long to train: one of epochs, steps"],
    [
      BASE.replace("use: sgd", "use: sdg"),
      "5:14: optimizer.use: There is no optimizer `sdg`. Did you mean `sgd`? Known: adam,",
    ],
    [BASE.replace("lr: 0.1", "lr: -1"), "5:24: optimizer.lr: sgd: Expected `lr` to be a number ≥ 0, got `-1` (number)"],
    [BASE.replace("lr: 0.1", "nesterov: true"), "5:1: optimizer: sgd: `nesterov` needs a `momentum`"],
    [BASE.replace("in: 2, ", ""), "3:1: model: linear: missing option `in` (a whole number ≥ 1)"],
    [BASE.replace("in: 2", "in: 2.5"), "3:23: model.in: linear: Expected `in` to be a whole number ≥ 1, got `2.5`"],
    [
      BASE.replace("loss: mse", "loss: { delta: 1 }"),
      "4:1: loss: Expected a loss: its name, or { use: name } with options, got an object (Object). It has no `use`.",
    ],
    [
      BASE.replace("loss: mse", "loss: { use: 3 }"),
      "loss.use: Expected `use` to be a name or ./file.ts#Export, got `3`",
    ],
    [BASE.replace("loss: mse", "loss:"), "missing `loss`, such as crossEntropy"],
    [BASE.replace("loss: mse", ""), "missing `loss`, such as crossEntropy"],
    [BASE.replace("data: ./own.ts#data", ""), "config: missing option `data`"],
    [`${BASE}schedule: { use: cosine, warmup: 5 percent }`, "schedule.warmup: cosine: Expected `warmup` to be"],
    [`${BASE}evalEvery: 3 foos`, '7:1: evalEvery: `evalEvery`: unknown unit "foos"'],
    [`${BASE}engine: wasn`, "7:1: engine: Trainer: Expected `engine` to be"],
    [
      `${BASE}loader: { batchsize: 3 }`,
      "loader.batchsize: loader: unknown option `batchsize`. Did you mean `batchSize`?",
    ],
    [`${BASE}loader: 3`, "loader: Expected options such as { batchSize: 32 }, got `3`"],
    [`${BASE}metrics: [mae, mae]`, "metrics: There are two metrics `mae`"],
    [`${BASE}metrics: { loss: mae }`, "metrics: Trainer: `metrics.loss` is taken"],
    [`${BASE}models: {}`, "models: Expected models by name"],
    [`${BASE}models: { a: 3 }`, "models.a: Expected the options of a model, got `3`"],
    [`${BASE}models: { a: { data: ./own.ts#data } }`, "models.a.data: models.a: unknown option `data`"],
    [`${BASE}hooks: [lrMonitor, lrMonitor]`, "7:1: hooks: There is already a hook named `lrMonitor`"],
    [
      `${BASE}hooks: [{ use: customStep, update: late }]`,
      "hooks.0.update: customStep: Expected `update` to be a function",
    ],
    [
      `${BASE}hooks: [{ use: customStep, update: ./own.ts#number }]`,
      "Expected ./own.ts#number to be a function, got `3`",
    ],
    [
      `${BASE}hooks: [{ use: lossSchedule, schedule: 3 }]`,
      "hooks.0.schedule: Expected a list of objects with loss, got `3`",
    ],
    [
      `${BASE}hooks: [{ use: lossSchedule, schedule: [{ from: 1, loss: msee }] }]`,
      "hooks.0.schedule.0.loss: There is no loss `msee`",
    ],
    [`${BASE}hooks: [{ use: lrMonitor, every: 3 foos }]`, '7:9: hooks.0: `lrMonitor: every`: unknown unit "foos"'],
    [`${BASE}loaders: 3`, "loaders: Expected ./file.ts#export, or { use: ./file.ts#export } with options, got `3`"],
    [`${BASE}metrics: [./own.ts#metric, ./own.ts#metric]`, "7:1: metrics: There are two metrics `metric`"],
    [`${BASE}hooks: __proto__`, "There is no hook `__proto__`"],
    [`${BASE}hooks: [{ use: constructor }]`, "There is no hook `constructor`"],
    [`${BASE}evaluate: fast`, "evaluate: Expected ./file.ts#export, or { use: ./file.ts#export } with options"],
  ])("%j", async (text, message) => {
    const error = await errorOf(text);
    expect(error.message).toContain(message);
    expect(error.errors).toHaveLength(0);
    expect(error.message).toMatch(/^hookline.yaml:\d+:\d+: /);
  });

  test("0 epochs or steps, also from the command line", async () => {
    await expect(build(BASE.replace("epochs: 1", "steps: 0"))).rejects.toThrow(
      "hookline.yaml:6:1: steps: Expected `steps` to be a whole number ≥ 1, got `0` (number)",
    );
    await expect(build(BASE, { set: ["epochs=0"] })).rejects.toThrow("--set epochs=0: epochs: Expected `epochs`");
  });

  test("all of them are told, in the order of the file", async () => {
    const error = await errorOf(
      `epohcs: 3${BASE.replace("loss: mse", "loss: msee")}hooks: [{ use: ema, decay: 2 }, earlyStoping]`,
    );
    expect(error.errors.map(({ path }) => path)).toEqual(["epohcs", "loss", "hooks.0.decay", "hooks.1"]);
    expect(error.message.split("\n")).toHaveLength(4);
    expect(error.position).toMatchObject({ line: 1 });
  });

  test("a secret of the environment is in no message", async () => {
    const key = "abcdefghijklmnop";
    process.env.BUILD_TEST_API_KEY = key;
    try {
      const error = await errorOf(`${BASE}hooks: { use: ema, decay: "\${BUILD_TEST_API_KEY}" }`, { env: process.env });
      expect(error.message).toContain("Expected `decay`");
      expect(error.message).not.toContain(key);
    } finally {
      delete process.env.BUILD_TEST_API_KEY;
    }
  });
});
