// How many scalars a second reach TensorBoard files: ours, and PyTorch's SummaryWriter where a Python has it.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { tensorboard } from "hookline/loggers";
import { median, quantile } from "./stats.ts";

export interface Throughput {
  readonly label: string;
  /** Microseconds of one scalar: until the call returns, and until all of it is in the file. */
  readonly caller: number;
  readonly written: number;
}

const ROUNDS = 15;
/** Of the rounds, most of which are disturbed on a shared machine. */
const quiet = (values: readonly number[]): number => quantile(values, 0.1);

/** `records` times `width` scalars, handed to the system at the end. */
async function round(records: number, width: number): Promise<[caller: number, written: number]> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  try {
    const backend = tensorboard({ dir });
    const facts = { dir, name: "bench", id: "bench", resumedAt: undefined, hparams: {}, about: {} };
    await backend.open({ ...facts, startedAt: Date.now(), totalSteps: records });
    const names = Array.from({ length: width }, (_, i) => `metric/${i}`);
    const start = performance.now();
    for (let step = 1; step <= records; step++) {
      const scalars: Record<string, number> = {};
      for (const name of names) scalars[name] = step / 7;
      backend.log({ step, epoch: 0, time: 1.8e12 + step, elapsed: step, scalars, media: {} });
    }
    const called = performance.now();
    await backend.flush?.();
    const written = performance.now();
    const end = { status: "completed", reason: "", step: records, time: Date.now(), elapsed: 1, metrics: {} } as const;
    await backend.close(end);
    return [called - start, written - start];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export async function ours(records: number, width: number): Promise<Throughput> {
  await round(records, width);
  const rounds: [number, number][] = [];
  for (let i = 0; i < ROUNDS; i++) rounds.push(await round(records, width));
  const each = (which: 0 | 1): number => (1000 * quiet(rounds.map((times) => times[which]))) / (records * width);
  const label = `tensorboard(), ${width} ${width === 1 ? "scalar" : "scalars"} a record`;
  return { label, caller: each(0), written: each(1) };
}

const SCRIPT = `
import json, sys, tempfile, time
from torch.utils.tensorboard import SummaryWriter
rounds = []
for _ in range(5):
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        start = time.perf_counter()
        for step in range(20000):
            writer.add_scalar("metric/0", step / 7, step)
        called = time.perf_counter()
        writer.close()
        rounds.append([1e6 * (called - start) / 20000, 1e6 * (time.perf_counter() - start) / 20000])
print(json.dumps(rounds))
`;

const execute = promisify(execFile);
/** Those that may have PyTorch; Debian's belongs to Debian's Python. */
const PYTHONS = [process.env.HOOKLINE_PYTHON, "/usr/bin/python3", "python3"].filter((python) => python !== undefined);

/** TensorBoard may lie in an environment of its own: the folders where that one's Python finds its packages. */
async function tensorboardPath(): Promise<string> {
  const python = process.env.HOOKLINE_TENSORBOARD_PYTHON;
  if (python === undefined) return "";
  const { stdout } = await execute(python, ["-c", "import site; print(':'.join(site.getsitepackages()))"]);
  return stdout.trim();
}

/** Undefined where no Python has both. */
export async function summaryWriter(): Promise<Throughput | undefined> {
  const env = { ...process.env, PYTHONPATH: await tensorboardPath() };
  for (const python of PYTHONS) {
    try {
      const { stdout } = await execute(python, ["-W", "ignore", "-c", SCRIPT], { env });
      const rounds = JSON.parse(stdout) as [number, number][];
      const each = (which: 0 | 1): number => median(rounds.map((times) => times[which]));
      return { label: "PyTorch's SummaryWriter.add_scalar", caller: each(0), written: each(1) };
    } catch {
      // Not this one.
    }
  }
  return undefined;
}
