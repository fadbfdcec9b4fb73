// Training runs that differ only in what they log to, one after the other: what a backend puts off is paid in its own run.
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { logger, Trainer, type BackendSpec, type Hook } from "hookline";
import { consoleLog } from "hookline/loggers";
import { oneLayer } from "./models.ts";
import { median } from "./stats.ts";
import { timedEngine } from "./timed-engine.ts";
import { threadClock } from "./logging-clock.ts";
import { withNext } from "./turns.ts";

/** What a run logs to, created for each run. */
export type MakeHooks = (dir: string) => Promise<Logging> | Logging;

interface Logging {
  readonly hooks: readonly Hook[];
  close?(): Promise<void> | void;
}

/** Microseconds. */
export interface Run {
  /** Of every step, whole and outside of the program. */
  readonly whole: readonly number[];
  readonly own: readonly number[];
  /** Of a step of each block, all that the training thread did but for the program: also what is put off, and garbage. */
  readonly blocks: readonly number[];
}

/** Long enough that what is put off, for 50 ms or until a buffer is full, comes in every block. */
const BLOCK = 1000;

/** What is written goes to the system, which throws it away. */
export function toNowhere(): { readonly backend: BackendSpec; close(): void } {
  const fd = openSync("/dev/null", "w");
  const backend = consoleLog({ write: (text) => void writeSync(fd, text) });
  return { backend, close: () => closeSync(fd) };
}

/** The logger's settings that all contenders share: a flush within every run, and nothing of the options. */
export const loggerOf = (...backends: BackendSpec[]): Hook => logger(backends, { flushEvery: 0.2, hparams: {} });

/** Logs one number more than the loop and the logger do, which makes five. In all runs, also in the one without logger. */
const note = (): Hook => ({
  name: "note",
  onStepEnd(ctx) {
    ctx.log({ "note/step": ctx.step / 7 });
  },
});

/** Each does the same work: one that took twice as long as others do was waiting for a processor. */
function inPrograms(ms: readonly number[]): number {
  const most = 2 * median(ms);
  return ms.reduce((sum, each) => sum + Math.min(each, most), 0);
}

export async function timedRun(make: MakeHooks, steps: number, warmUp: number): Promise<Run> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const { hooks, close } = await make(dir);
  const engine = await timedEngine();
  const whole: number[] = [];
  const own: number[] = [];
  const blocks: number[] = [];
  const clock = threadClock();
  let last = Number.NaN;
  let worked = 0;
  let programs: number[] = [];
  let step = -warmUp;
  const { train, ...options } = oneLayer();
  const loader = withNext(train, () => {
    const inside = engine.takeProgramTime();
    programs.push(inside);
    const took = performance.now() - last;
    if (step > 0) {
      whole.push(took * 1000);
      own.push((took - inside) * 1000);
    }
    if (step >= 0 && step % BLOCK === 0) {
      const now = clock();
      if (step > 0) blocks.push(((now - worked - inPrograms(programs)) * 1000) / BLOCK);
      programs = [];
      worked = now;
    }
    step++;
    last = performance.now();
    return train.next();
  });
  try {
    await using trainer = new Trainer({
      ...options,
      train: loader,
      runDir: dir,
      steps: steps + warmUp,
      engine,
      signals: false,
      logEvery: 1,
      hooks: [note(), ...hooks],
      warn: (message) => {
        throw new Error(message);
      },
    });
    await trainer.fit();
  } finally {
    await close?.();
    rmSync(dir, { recursive: true, force: true });
  }
  return { whole, own, blocks };
}
