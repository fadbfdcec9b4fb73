// What hooks see of the configuration: the trainer's options, and the whole experiment around them.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { logger, type Hook } from "hookline";
import { buildExperiment, readConfig } from "hookline/config";
import { Experiment } from "hookline/experiment";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempDir } from "../support/temp-dir.ts";
import { tinyExperiment } from "../support/tiny-experiment.ts";

const BASE = `
model: { use: linear, in: 2, out: 1 }
loss: mse
optimizer: { use: sgd, lr: 0.1 }
epochs: 1

`;

const CONFIG = `
extends: ./base.yaml
name: whole
data: { use: ./own.ts#data, rows: 12 }
split: { use: holdout, val: 0.25 }
loader: { batchSize: 4 }
engine: wasm
signals: false
hooks:
  - { use: ./own.ts#Look, label: "\${LABEL}", other: plain }
`;

const OWN = `
export const data = ({ rows }) => ({
  x: { data: Float32Array.from({ length: rows * 2 }, (_, i) => Math.sin(i)), shape: [rows, 2] },
  y: { data: Float32Array.from({ length: rows }, (_, i) => Math.cos(i)), shape: [rows, 1] },
});
export const seen = [];
export class Look {
  name = "look";
  constructor(options) { this.options = options; }
  onTrainBegin(ctx) { globalThis.wholeConfigSeen = { options: this.options, config: ctx.config }; }
}
`;

test("in a run from a config: all that it says, after extends and --set, without the environment's secrets", async () => {
  vi.stubEnv("MY_API_TOKEN", "hunter2-hunter2");
  onTestFinished(() => void vi.unstubAllEnvs());
  const dir = tempDir();
  const files = { "base.yaml": BASE, "whole.yaml": CONFIG, "own.ts": OWN };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const set = ["optimizer.lr=0.05", "hooks.0.other=hunter2-hunter2", `runDir=${join(dir, "run")}`];
  const doc = await readConfig(join(dir, "whole.yaml"), { cwd: dir, env: { LABEL: "from outside" }, set });
  await new Experiment(await buildExperiment(doc)).run();
  const { options, config } = (globalThis as unknown as { wholeConfigSeen: Record<string, Record<string, unknown>> })
    .wholeConfigSeen;
  expect(options).toEqual({ label: "from outside", other: "hunter2-hunter2" });
  expect(config!.epochs).toBe(1);
  expect(config!.experiment).toEqual({
    name: "whole",
    model: { use: "linear", in: 2, out: 1 },
    loss: "mse",
    optimizer: { use: "sgd", lr: 0.05 },
    epochs: 1,
    data: { use: "./own.ts#data", rows: 12 },
    split: { use: "holdout", val: 0.25 },
    loader: { batchSize: 4 },
    engine: "wasm",
    signals: false,
    hooks: [{ use: "./own.ts#Look", label: "${LABEL}", other: "${MY_API_TOKEN}" }],
    runDir: join(dir, "run"),
  });
});

test("in an experiment of a program: its options, which run.json does not repeat", async () => {
  const runDir = join(tempDir(), "run");
  const seen: unknown[] = [];
  const look: Hook = { name: "look", onTrainBegin: (ctx) => void seen.push(ctx.config.experiment) };
  const experiment = tinyExperiment({ runDir, loader: { batchSize: 8 }, hooks: [look, logger(["jsonl"])] });
  await experiment.run();
  expect(seen).toEqual([experiment.options]);
  expect(seen[0]).toMatchObject({ loader: { batchSize: 8 } });
  const record = join(runDir, "run.json");
  expect(existsSync(record)).toBe(true);
  expect(JSON.parse(readFileSync(record, "utf8"))).not.toHaveProperty("options.experiment");
});
