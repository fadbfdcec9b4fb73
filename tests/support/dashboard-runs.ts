// Directories of runs for the dashboard: as many as one likes, without as much disk: their logs are links to one file.
import { linkSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { headerLine, recordLine } from "../../src/runs/log-lines.ts";

const BEGAN = Date.UTC(2026, 0, 5, 9);
const DAY = 86_400_000;

/** A pseudo-random number in [0, 1) for two whole numbers: the same on every machine. */
function noise(a: number, b: number): number {
  const mixed = Math.imul(a + 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  return ((Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) ^ (mixed >>> 13)) >>> 0) / 2 ** 32;
}

/** A log of one metric, which is written sooner. */
export function writeLossLog(file: string, records: number, seed: number): void {
  mkdirSync(dirname(file), { recursive: true });
  const lines = Array.from({ length: records }, (_, i) => {
    const scalars = { loss: 0.05 + 2 * Math.exp((-6 * i) / records) + 0.2 * noise(seed, i) };
    return recordLine({ step: i + 1, epoch: 0, time: BEGAN + i, elapsed: i, scalars, media: {} });
  });
  writeFileSync(file, headerLine("metrics", { id: "bench", startedAt: BEGAN }) + lines.join(""));
}

/** The run.json of a run that has ended. */
export function writeInfo(dir: string, name: string, steps: number, more: object = {}): void {
  mkdirSync(dir, { recursive: true });
  const info = { schema: "hookline.run", version: 1, id: name, name, status: "completed", reason: "done" };
  const times = { startedAt: BEGAN, partStartedAt: BEGAN, resumedAt: null, totalSteps: steps, step: steps };
  const rest = { elapsed: steps / 50, hparams: {}, about: {}, metrics: {}, best: {} };
  writeFileSync(join(dir, "run.json"), JSON.stringify({ ...info, ...times, ...rest, ...more }));
}

/** The log of a training that learns, with a spike here and there. */
export function writeLog(file: string, records: number, seed = 1): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, headerLine("metrics", { id: "bench", startedAt: BEGAN }));
  const every = Math.max(10, Math.round(records / 200));
  for (let from = 0; from < records; from += 100_000) {
    const lines: string[] = [];
    for (let i = from; i < Math.min(records, from + 100_000); i++) {
      const progress = i / records;
      const floor = 0.05 + 0.02 * noise(seed, 0);
      const loss = floor + 2.3 * Math.exp(-6 * progress) + 0.15 * (noise(seed, i) - 0.5) * (1 - 0.6 * progress);
      const spike = noise(seed + 1, i) > 1 - 20 / records ? 3 : 0;
      const scalars: Record<string, number> = {
        loss: Math.max(0.001, loss) + spike,
        lr: 1e-3 * Math.min(1, (20 * i) / records) * (0.5 + 0.5 * Math.cos(Math.PI * progress)),
        gradNorm: 0.3 + 2 * Math.exp(-5 * progress) + 0.4 * noise(seed + 2, i),
        "perf/samplesPerSecond": 41_000 + 2000 * noise(seed + 3, i),
        "data/samples": 64 * (i + 1),
      };
      if (i % every === every - 1) {
        scalars["val/loss"] = floor + 0.03 + 2.2 * Math.exp(-5.5 * progress) + 0.02 * noise(seed + 4, i);
        scalars["val/accuracy"] = 0.98 - 0.85 * Math.exp(-6 * progress) + 0.01 * noise(seed + 5, i);
      }
      const about = { step: i + 1, epoch: Math.floor(progress * 20), time: BEGAN + 20 * i, elapsed: i / 50 };
      lines.push(recordLine({ ...about, scalars, media: {} }));
    }
    writeFileSync(file, lines.join(""), { flag: "a" });
  }
}

const MODELS = ["mlp", "lenet", "resnet", "transformer", "tabular"];
const STATUSES = ["completed", "completed", "completed", "completed", "stopped", "interrupted", "error"] as const;

/** Runs in folders by model and day, each of whose logs is one of a few. */
export function writeRuns(root: string, count: number, records: number): void {
  const logs = Array.from({ length: 5 }, (_, i) => join(root, ".logs", `${i}.jsonl`));
  logs.forEach((file, i) => writeLog(file, records, i + 1));
  for (let i = 0; i < count; i++) {
    const model = MODELS[i % MODELS.length]!;
    const dir = join(root, model, `run-${String(i).padStart(5, "0")}`);
    mkdirSync(dir, { recursive: true });
    const status = STATUSES[Math.floor(noise(7, i) * STATUSES.length)]!;
    const step = status === "completed" ? records : Math.ceil(records * noise(8, i));
    const startedAt = BEGAN + Math.floor((i / count) * 30 * DAY);
    const best = (value: number, at: number) => ({ value, step: Math.max(1, Math.round(step * at)) });
    writeInfo(dir, `run-${i}`, records, {
      status,
      reason: status === "error" ? "hook `nanGuard` threw in stepEnd: loss is NaN" : status,
      startedAt,
      partStartedAt: startedAt,
      step,
      elapsed: step / 50,
      hparams: { model, lr: Number((10 ** (-4 + 3 * noise(9, i))).toPrecision(3)), width: 2 ** (5 + (i % 4)), seed: i },
      about: { engine: "native", pid: 1, host: "lab3" },
      best: {
        loss: best(0.05 + 0.2 * noise(12, i), 0.97),
        "val/loss": best(0.08 + 0.2 * noise(11, i), 0.9),
        "val/accuracy": best(0.9 + 0.09 * noise(13, i), 0.95),
      },
    });
    linkSync(logs[i % logs.length]!, join(dir, "metrics.jsonl"));
  }
}
