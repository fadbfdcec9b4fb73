import { expect, it } from "vitest";
import { messageOf, read, valueOf } from "../../../tests/support/config-files.ts";

const TEXT = `
name: digits
optimizer: { use: adamw, lr: 1, betas: [1, 2] }
schedule: cosine
loader: null
hook: { use: earlyStopping, patience: 3 }
space:
  optimizer.lr: { use: uniform, low: 0 }
  model: { width: 1 }
  model.layers.0: { depth: 1 }
hooks:
  - { use: earlyStopping, patience: 3 }
  - progressBar
  - { use: ./hooks.ts#MyHook, threshold: 1 }
  - { use: logger, name: one }
  - { use: logger, name: two }
`;

const SPACE = {
  "optimizer.lr": { use: "uniform", low: 0 },
  model: { width: 1 },
  "model.layers.0": { depth: 1 },
};

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((here, key) => (here as Record<string, unknown>)[key], value);

it.each<[set: string, path: string, expected: unknown]>([
  ["optimizer.lr=1e-3", "optimizer.lr", 0.001],
  ["optimizer.lr=1e-3", "optimizer.use", "adamw"],
  ["optimizer.betas.1=0.5", "optimizer.betas", [1, 0.5]],
  ["optimizer.betas.2=3", "optimizer.betas", [1, 2, 3]],
  ["optimizer.use=sgd", "optimizer", { use: "sgd" }],
  ["optimizer.use=adamw", "optimizer.lr", 1],
  ["optimizer={ use: sgd, lr: 2 }", "optimizer", { use: "sgd", lr: 2 }],
  ["optimizer=sgd", "optimizer", "sgd"],
  ["schedule.warmup=5%", "schedule", { use: "cosine", warmup: "5%" }],
  ["loader.batchSize=4", "loader", { batchSize: 4 }],
  ["new.deep.key=true", "new", { deep: { key: true } }],
  ["name=", "name", null],
  ["name=a=b", "name", "a=b"],
  ['name="5"', "name", "5"],
  ["name=${WHO}", "name", "me"],
  ["a\\.b\\=c\\\\=1", "a.b=c\\", undefined],
  ["hooks.earlyStopping.patience=5", "hooks.0", { use: "earlyStopping", patience: 5 }],
  ["hooks.progressBar.every=2", "hooks.1", { use: "progressBar", every: 2 }],
  ["hooks.MyHook.threshold=5", "hooks.2.threshold", 5],
  ["hooks.3.name=three", "hooks.3.name", "three"],
  ["hooks.progressBar=null", "hooks.1", null],
  ["hooks.5=ema", "hooks.5", "ema"],
  ["hook.patience=5", "hook.patience", 5],
  ["hook.earlyStopping.patience=5", "hook", { use: "earlyStopping", patience: 5 }],
  // A key may have dots of its own: the longest that is there is meant.
  ["space.optimizer.lr.low=1", "space", { ...SPACE, "optimizer.lr": { use: "uniform", low: 1 } }],
  ["space.optimizer\\.lr.low=1", "space", { ...SPACE, "optimizer.lr": { use: "uniform", low: 1 } }],
  ["space.optimizer.lr=1", "space", { ...SPACE, "optimizer.lr": 1 }],
  ["space.optimizer.wd=1", "space", { ...SPACE, optimizer: { wd: 1 } }],
  ["space.model.layers.0.depth=2", "space", { ...SPACE, "model.layers.0": { depth: 2 } }],
  ["space.model.width=2", "space", { ...SPACE, model: { width: 2 } }],
])("%s", async (set, path, expected) => {
  const value = await valueOf({ "c.yaml": TEXT }, { set: [set], env: { WHO: "me" } });
  if (expected === undefined) expect((value as Record<string, unknown>)[path]).toBe(1);
  else expect(at(value, path)).toEqual(expected);
});

it("applies one after the other", async () => {
  const set = [
    "optimizer.use=sgd",
    "optimizer.lr=1",
    "optimizer.lr=2",
    "hooks=[]",
    "hooks.0=ema",
    "hooks.ema.decay=0.9",
  ];
  const value = await valueOf({ "c.yaml": TEXT }, { set });
  expect(at(value, "optimizer")).toEqual({ use: "sgd", lr: 2 });
  expect(at(value, "hooks")).toEqual([{ use: "ema", decay: 0.9 }]);
});

it("is where what it set was written, and nothing else", async () => {
  const doc = await read({ "sub/c.yaml": TEXT }, { set: ["optimizer.lr=1e-3", "loss=./loss.ts#loss"] });
  expect(doc.locate(["optimizer", "lr"])).toEqual({ file: "--set optimizer.lr=1e-3" });
  expect(doc.locate(["optimizer", "betas"])).toEqual({ file: "sub/c.yaml", line: 3, column: 33 });
  expect(doc.locate(["optimizer", "unknown"])).toEqual({ file: "sub/c.yaml", line: 3, column: 1 });
  expect(doc.directoryOf(["loss"])).toBe(doc.project);
});

it.each([
  ["optimizer.lr", "Expected `path=value`"],
  ["", "Expected `path=value`"],
  ["=1", "A part of the path is empty"],
  ["a..b=1", "A part of the path is empty"],
  ["extends=x.yaml", "cannot be set"],
  ["optimizer.lr.x=1", "optimizer.lr: Expected a map to set `x` in, found `1` (number)"],
  ["optimizer.betas.5=1", "optimizer.betas: There is no entry 5: the list has 2."],
  ["optimizer.betas.x=1", "The list names none"],
  ["hooks.earlyStoping.patience=5", "hooks: No entry uses `earlyStoping`. Did you mean `earlyStopping`?"],
  ["hooks.logger.name=x", "2 entries use `logger`. Say which one by its index: hooks.3 or hooks.4"],
  ["a=[1, 2", "This is not valid YAML"],
  ["a={ b: 1, b: 2 }", "a.b: `b` is written twice. Remove one."],
  ["a=*b", "There is no anchor `&b`"],
  ["name=${MISSING}", "`MISSING` is not set"],
])("refuses %j", async (set, says) => {
  const message = await messageOf(read({ "c.yaml": TEXT }, { set: [set] }));
  expect(message).toContain(says);
  expect(message).toContain(`--set ${set}: `);
});
