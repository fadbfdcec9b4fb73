// Trials for processes of their own: what tests of the local and the bullmq runner name by module and export.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { control } from "hookline";
import { tinyTrainer } from "hookline/testing";
import type { Trial } from "hookline/tune";

type AnyTrial = Trial<{ readonly x: number }>;

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** Reports ten steps, with a checkpoint of its own after each; goes on from the last. */
export async function steps(trial: AnyTrial): Promise<void> {
  const from = trial.resume === undefined ? 0 : Number(readFileSync(trial.resume, "utf8"));
  for (let step = from + 1; step <= 10; step++) {
    appendFileSync(`${trial.runDir}/steps.txt`, `${step}\n`);
    const path = `${trial.runDir}/at-${step}`;
    writeFileSync(path, String(step));
    await trial.report({ loss: (trial.params.x - 1) ** 2 + 1 / step }, step);
    await trial.checkpoint(path);
    await pause(2);
  }
}

/** Its process dies at the fifth step, the first time. */
export async function diesOnce(trial: AnyTrial): Promise<void> {
  await steps({
    ...trial,
    async report(values, step) {
      await trial.report(values, step);
      if (step === 5 && trial.attempt === 0) process.kill(process.pid, "SIGKILL");
    },
  });
}

export function crashes(): never {
  throw new RangeError("no such width");
}

/** Prints, and says in which process it ran. */
export async function tells(trial: AnyTrial): Promise<{ loss: number; pid: number }> {
  console.log(`x is ${trial.params.x}`);
  console.error(`seed is ${trial.seed}`);
  trial.stash.seen = [...((trial.stash.seen as number[] | undefined) ?? []), trial.attempt];
  await trial.report({ loss: Number.NaN }, 1);
  return { loss: trial.params.x, pid: process.pid };
}

/** Blocks its process. */
export async function hangs(): Promise<void> {
  await pause(60_000);
}

export async function hogs(): Promise<{ loss: number }> {
  const kept: Uint8Array[] = [];
  for (let i = 0; i < 100; i++) {
    kept.push(new Uint8Array(10 << 20).fill(1));
    await pause(20);
  }
  // Until it is ended.
  await pause(600_000);
  return { loss: kept.length };
}

export const trivial = ({ params: { x } }: AnyTrial): { loss: number } => ({ loss: x });

/** Fails until a file is there. */
export function flaky(trial: AnyTrial): { loss: number } {
  const file = `${trial.runDir}/tried`;
  if (existsSync(file)) return { loss: 1 };
  writeFileSync(file, "");
  throw new Error("not yet");
}

/** Four steps with a checkpoint after each; notes where each attempt began, and every step. */
export async function noted(trial: AnyTrial): Promise<void> {
  const from = trial.resume === undefined ? 0 : Number(readFileSync(trial.resume, "utf8"));
  appendFileSync(`${trial.runDir}/starts.txt`, `${trial.attempt} ${trial.resume ?? "-"}\n`);
  for (let step = from + 1; step <= 4; step++) {
    await pause(25);
    appendFileSync(`${trial.runDir}/steps.txt`, `${step}\n`);
    const path = `${trial.runDir}/at-${step}`;
    writeFileSync(path, String(step));
    await trial.report({ loss: trial.params.x / step }, step);
    await trial.checkpoint(path);
  }
}

/** A result of each number that JSON lacks. */
export async function diverges(trial: AnyTrial): Promise<{ loss: number }> {
  for (const loss of [Number.NaN, Infinity, -Infinity]) await trial.report({ loss });
  return { loss: Number.NaN };
}

/** Blocks its process for twelve seconds, without a moment for anything else. */
export function blocks(trial: AnyTrial): { loss: number } {
  appendFileSync(`${trial.runDir}/starts.txt`, `${trial.attempt}\n`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 12_000);
  return { loss: 1 };
}

/** Goes on for long, with a checkpoint after each step; leaves when it is told to. */
export async function slow(trial: AnyTrial): Promise<void> {
  const from = trial.resume === undefined ? 0 : Number(readFileSync(trial.resume, "utf8"));
  appendFileSync(`${trial.runDir}/starts.txt`, `${trial.attempt} ${from} ${process.pid}\n`);
  for (let step = from + 1; step <= 30; step++) {
    await pause(100);
    const path = `${trial.runDir}/at-${step}`;
    writeFileSync(path, String(step));
    await trial.report({ loss: 1 / step }, step);
    await trial.checkpoint(path);
  }
}

export const notAFunction = 5;

/** A training that takes commands, of forty steps. */
export async function steered(trial: AnyTrial): Promise<{ loss: number }> {
  await using trainer = tinyTrainer({
    runDir: trial.runDir!,
    steps: 40,
    hooks: [control({ look: 20 }), trial.hook(), { name: "pace", onStepEnd: () => pause(10) }],
  });
  await trainer.fit({ signal: trial.signal });
  return { loss: trial.params.x };
}
