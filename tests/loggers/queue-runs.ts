// Runs as a logger would tell them, for tests of the backends that send.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { LoggerBackend } from "../../src/loggers/backend.ts";
import type { LogRecord, RunEnd, RunFacts } from "../../src/runs/types.ts";
import { logRecord, runEnd, runFacts } from "../support/logger-facts.ts";

export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export const START = 1_700_000_000_000;

export const facts = (more: Partial<RunFacts> = {}): RunFacts =>
  runFacts({ name: "digits", id: "run-1", startedAt: START, hparams: { lr: 0.1, model: { width: 32 } }, ...more });

export const record = (step: number, scalars: Record<string, number> = { loss: 1 / step }): LogRecord =>
  logRecord(step, { time: START + step * 10, elapsed: step / 100, scalars });

export const ending = (step: number, status: RunEnd["status"] = "completed"): RunEnd =>
  runEnd({ status, step, time: START + step * 10, elapsed: step / 100 });

/** Steps, with a turn of the event loop now and then, as a trainer gives it. */
export async function logSteps(backend: LoggerBackend, from: number, to: number, every = 20): Promise<void> {
  for (let step = from; step <= to; step++) {
    backend.log(record(step));
    if (step % every === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

/** All that lies in a directory, as one text. */
export const textOf = (dir: string): string =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");

export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
