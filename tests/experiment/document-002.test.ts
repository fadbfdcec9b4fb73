// Document 002 configures hooks by name, and own ones by class: the same configs do the same here.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildExperiment, readConfig } from "hookline/config";
import { Experiment } from "hookline/experiment";
import { readRun } from "hookline/runs";
import { tinyTrainer } from "hookline/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

const folder = fileURLToPath(new URL("document-002", import.meta.url));

const runs = mkdtempSync(join(tmpdir(), "hookline-"));
afterAll(() => rmSync(runs, { recursive: true, force: true }));
let count = 0;

async function run(file: string, ...set: readonly string[]) {
  const dir = join(runs, `run-${count++}`);
  const lines: string[] = [];
  const said = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  try {
    const doc = await readConfig(join(folder, file), { set: [`runDir=${dir}`, ...set] });
    const result = await new Experiment(await buildExperiment(doc)).run();
    return { dir, lines, model: result.models.model!, log: await readRun(dir).catch(() => undefined) };
  } finally {
    said.mockRestore();
  }
}

describe("HooksConfig", () => {
  let { dir, lines, model, log }: Partial<Awaited<ReturnType<typeof run>>> = {};
  beforeAll(async () => void ({ dir, lines, model, log } = await run("hooks-config.yaml")));

  test("the run is complete, and the logging hook has written it", () => {
    expect(model!.training).toMatchObject({ status: "completed", epochs: 6 });
    expect(log!.get("loss").values.length).toBeGreaterThan(0);
    expect(new Set(log!.get("val/accuracy").steps).size).toBe(6);
  });

  test("the gradient monitor looks every third step, at the parameters of the filter", () => {
    const { steps } = log!.get("grad/p50/encoder.weight");
    expect([...steps].length).toBeGreaterThan(0);
    const names = log!.names.filter((name) => name.startsWith("grad/"));
    for (const parameter of ["encoder.weight", "encoder.bias", "decoder.weight", "decoder.bias"])
      for (const kind of ["norm", "p10", "p50", "p90"]) expect(names).toContain(`grad/${kind}/${parameter}`);
    expect(names.filter((name) => name.includes("head"))).toEqual([]);
    const records = readFileSync(join(dir!, "metrics.jsonl"), "utf8");
    expect(records).toMatch(/"grad\/encoder.weight":\{"edges":\[/);
  });

  test("the three best checkpoints and the last are there, under names of the template", () => {
    const names = readdirSync(join(dir!, "checkpoints")).filter((name) => name.startsWith("epoch_"));
    expect(names.length).toBeGreaterThanOrEqual(3);
    expect(names.length).toBeLessThanOrEqual(4);
    for (const name of names) expect(name).toMatch(/^epoch_\d+_loss_\d\.\d\d(-|$)/);
    const losses = [...log!.get("val/loss").values].sort((a, b) => a - b);
    const kept = names.map((name) => /loss_(\d\.\d\d)/.exec(name)![1]!);
    for (const best of losses.slice(0, 3)) expect(kept).toContain(best.toFixed(2));
  });

  test("early stopping tells of each of its checks", () => {
    expect(lines!.filter((line) => line.startsWith("earlyStopping: val/loss"))).toHaveLength(6);
  });

  test("the rate, momentum and weight decay are logged once an epoch", () => {
    const rates = log!.get("lr").values;
    expect(log!.get("momentum").values).toEqual(new Float64Array(6).fill(0.9));
    expect(log!.get("weightDecay").values).toEqual(new Float64Array(6).fill(0.01));
    expect(rates.at(-1)).toBeLessThan(rates[0]!);
  });

  test("hooks talk to each other, in the order in which they are registered", () => {
    expect(log!.get("custom/received").values).toEqual(new Float64Array(6).fill(0.95));
  });
});

test("early stopping stops when nothing improves by min_delta", async () => {
  const { model } = await run(
    "hooks-config.yaml",
    "hooks.earlyStopping.minDelta=100",
    "hooks.earlyStopping.patience=2",
  );
  expect(model.training).toMatchObject({ status: "stopped", requestedBy: "earlyStopping", epochs: 3 });
});

test("a metric that is not there is an error, with strict", async () => {
  await expect(run("hooks-config.yaml", "hooks.earlyStopping.monitor=val/nothing")).rejects.toThrow(/val\/nothing/);
});

test("an own hook gets its config, and changes the run", async () => {
  const calm = await run("hooks-config.yaml", "epochs=2");
  const nervous = await run("hooks-config.yaml", "epochs=2", "hooks.5.threshold=0");
  const rate = ({ log }: typeof calm): number => log!.get("lr").values.at(-1)!;
  expect(rate(nervous)).toBeCloseTo(rate(calm) / 2);
});

test("user hooks run before built-in ones, each in the order of the config", async () => {
  const { hooks } = await buildExperiment(await readConfig(join(folder, "hooks-config.yaml")));
  await using trainer = tinyTrainer({ hooks: hooks! });
  const order = trainer.hooks.list().map(({ name }) => name);
  const users = ["myCustomHook", "producer", "consumer"];
  const builtins = ["gradientMonitor", "earlyStopping", "lrMonitor", "modelCheckpoint", "logger"];
  expect(order.filter((name) => [...users, ...builtins].includes(name))).toEqual([...users, ...builtins]);
});

test.each(["callback.yaml", "callbacks.yaml"])("document 003: %s, at the points of the pipeline", async (file) => {
  const { model } = await run(file);
  expect(model.results).toMatchObject({ "custom/points": 4, "custom/trainRows": 30 });
});
