import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Hook } from "../core/hook.ts";
import { tinyTrainer } from "../testing/index.ts";
import { systemStats, type SystemStatsOptions } from "./system-stats.ts";

const SYSTEM = ["system/cpuPercent", "system/rssMiB", "system/heapMiB", "system/lagMs"];
const path = process.env.PATH;
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "hookline-"));
  // Whatever the machine has, a test sees its own.
  process.env.PATH = dir;
});
afterEach(() => {
  process.env.PATH = path;
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

/** A nvidia-smi that notes its process and its arguments. */
function fakeSmi(body: string): void {
  const file = join(dir, "nvidia-smi");
  writeFileSync(file, `#!/bin/sh\nPATH=/usr/bin:/bin\necho "$@" >> ${dir}/args\necho $$ >> ${dir}/pids\n${body}\n`);
  chmodSync(file, 0o755);
}
const noted = (what: "args" | "pids"): string[] =>
  // A file may be there before its first line is.
  existsSync(join(dir, what)) ? readFileSync(join(dir, what), "utf8").split("\n").filter(Boolean) : [];

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits in every step until that many have been started. */
const untilStarted = (count: () => number): Hook => ({
  name: "untilStarted",
  async onStepBegin() {
    while (noted("pids").length < count()) await sleep(20);
  },
});

/** Lets the run go on until a metric is there. */
const untilLogged = (metric: string): Hook => ({
  name: "untilLogged",
  async onStepEnd(ctx) {
    if (Object.hasOwn(ctx.metrics, metric)) ctx.stop(`${metric} is there`);
    else await sleep(20);
  },
});

async function metricsOf(options: SystemStatsOptions, hooks: Hook[] = [], steps = 2): Promise<Record<string, number>> {
  const result = await tinyTrainer({ steps, hooks: [systemStats({ every: 1, ...options }), ...hooks] }).fit();
  const own = Object.entries(result.metrics).filter(([key]) => /^(system|gpu)\//.test(key));
  return Object.fromEntries(own);
}

test("CPU, memory and lag, and nothing of a GPU where there is no nvidia-smi", async () => {
  const metrics = await metricsOf({});
  expect(Object.keys(metrics).sort()).toEqual([...SYSTEM].sort());
  expect(metrics["system/cpuPercent"]).toBeGreaterThanOrEqual(0);
  expect(metrics["system/rssMiB"]).toBeGreaterThan(metrics["system/heapMiB"]!);
  expect(metrics["system/heapMiB"]).toBeGreaterThan(1);
});

test("a hook that blocks shows as lag", async () => {
  const block: Hook = {
    name: "block",
    onStepBegin() {
      for (const end = performance.now() + 500; performance.now() < end;);
    },
  };
  expect((await metricsOf({}, [block]))["system/lagMs"]).toBeGreaterThan(350);
});

test("by default a short run is looked at once, at its end", async () => {
  const { metrics } = await tinyTrainer({ hooks: [systemStats()] }).fit();
  expect(metrics).toHaveProperty(["system/rssMiB"]);
});

describe("GPUs", () => {
  test("numbers of each from one child, which is gone after the run", async () => {
    fakeSmi(`while :; do echo "0, 37, 1024, 55, 120.50"; echo "1, 5, [N/A], 41, [Not Supported]"; sleep 0.05; done`);
    const listeners = process.listenerCount("exit");
    const metrics = await metricsOf({ gpuInterval: 7 }, [untilLogged("gpu/1/temperatureC")], 1_000_000);
    expect(metrics).toMatchObject({
      "gpu/0/utilPercent": 37,
      "gpu/0/memoryMiB": 1024,
      "gpu/0/temperatureC": 55,
      "gpu/0/powerW": 120.5,
      "gpu/1/utilPercent": 5,
      "gpu/1/temperatureC": 41,
    });
    expect(metrics).not.toHaveProperty(["gpu/1/memoryMiB"]);
    expect(noted("args")).toEqual([
      "--query-gpu=index,utilization.gpu,memory.used,temperature.gpu,power.draw --format=csv,noheader,nounits -l 7",
    ]);
    expect(noted("pids").map(Number).filter(isAlive)).toEqual([]);
    expect(process.listenerCount("exit")).toBe(listeners);
  });

  test("one that does not want to end is killed, and one that fails is passed over in silence", async () => {
    const error = vi.spyOn(console, "error");
    const warn = vi.spyOn(console, "warn");
    fakeSmi(`trap "" TERM; while :; do sleep 0.05; done`);
    await metricsOf({}, [untilStarted(() => 1)]);
    expect(noted("pids").map(Number).filter(isAlive)).toEqual([]);
    fakeSmi(`echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."; exit 9`);
    expect(Object.keys(await metricsOf({}, [untilStarted(() => 2)])).sort()).toEqual([...SYSTEM].sort());
    expect(error).not.toHaveBeenCalled();
    expect(warn).not.toHaveBeenCalled();
  });

  test("none is left behind by a run that fails, and each fit has its own", async () => {
    fakeSmi(`while :; do echo "0, 37, 1024, 55, 120.50"; sleep 0.05; done`);
    const broken: Hook = {
      name: "broken",
      onStepEnd(ctx) {
        if (ctx.step === 2) throw new Error("broken");
      },
    };
    let fits = 1;
    const trainer = tinyTrainer({ steps: 1, hooks: [systemStats(), untilStarted(() => fits), broken] });
    await trainer.fit();
    fits = 2;
    await expect(trainer.fit({ steps: 3 })).rejects.toThrow("broken");
    expect(noted("pids")).toHaveLength(2);
    expect(noted("pids").map(Number).filter(isAlive)).toEqual([]);
  });

  test("gpu: false does not ask", async () => {
    fakeSmi("exit 0");
    await metricsOf({ gpu: false });
    expect(existsSync(join(dir, "args"))).toBe(false);
  });
});

test("without Node there is still something to say", async () => {
  const { getBuiltinModule } = process;
  try {
    Object.assign(process, { getBuiltinModule: undefined });
    const hook = systemStats({ every: 1 });
    const trainer = tinyTrainer({ steps: 2, engine: "wasm", hooks: [hook] });
    const { metrics } = await trainer.fit();
    expect(Object.keys(metrics).filter((key) => key.startsWith("system/"))).toEqual(["system/lagMs"]);
  } finally {
    Object.assign(process, { getBuiltinModule });
  }
});

test("options are checked", () => {
  expect(() => systemStats({ gpus: true } as SystemStatsOptions)).toThrow(/Did you mean `gpu`\?/);
  expect(() => systemStats({ gpuInterval: 0.5 })).toThrow(/Expected `gpuInterval` to be a whole number ≥ 1/);
});
