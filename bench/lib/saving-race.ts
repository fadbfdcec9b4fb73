// Trainers of one large model that take turns, some of them saving: when each step began and ended, and each save.
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Trainer, type Hook, type TrainerOptions } from "hookline";
import { openDirectoryStore, type CheckpointStore } from "hookline/checkpoint";
import type { Loader } from "../../src/core/model.ts";
import { large } from "./models.ts";
import { Turns, withNext } from "./turns.ts";

export interface Step {
  readonly begin: number;
  end: number;
  /** Milliseconds of the training thread's processor: on a busy machine, without the waiting for one. */
  cpu: number;
}

/** One save, in the order of what happens. */
export interface Save {
  /** A hook asked for it. */
  readonly asked: number;
  /** The snapshot is taken: the store begins to write. */
  handed: number;
  durable: number;
  /** Old ones are removed, the new one is read back: the writing thread rests. */
  idle: number;
}

/** What came of one trainer. */
export interface Trace {
  readonly steps: Step[];
  readonly saves: Save[];
  /** Milliseconds from the last step, which asks for a save, to the end of `fit`. */
  endWait: number;
}

export interface Racer {
  readonly save?: "sync" | "async";
  /** Asks for saves at these steps. */
  readonly hook?: (at: readonly number[]) => Hook;
}

export interface Race {
  readonly optimizer: TrainerOptions["optimizer"];
  /** Steps of a turn. */
  readonly turn: number;
  /** In each turn, the steps that end with a save. */
  readonly saveAt: readonly number[];
  readonly turns: number;
  readonly batchSize: number;
}

/** What the training thread has used of its processor so far; not a number where the system does not tell. */
function cpuTime(): number {
  try {
    return Number.parseInt(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8")) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** The store, taking note of when it works. */
function timed(store: CheckpointStore, saves: readonly Save[]): CheckpointStore {
  const noted = async <T>(work: Promise<T>, done?: (save: Save) => void): Promise<T> => {
    const save = saves.at(-1);
    const result = await work;
    if (!save) return result;
    save.idle = performance.now();
    done?.(save);
    return result;
  };
  return {
    save(name, files, info) {
      saves.at(-1)!.handed = performance.now();
      return noted(store.save(name, files, info), (save) => (save.durable = save.idle));
    },
    saveLent(name, files, lent, info) {
      saves.at(-1)!.handed = performance.now();
      return noted(store.saveLent!(name, files, lent, info), (save) => (save.durable = save.idle));
    },
    verify: (name, files) => noted(store.verify(name, files)),
    remove: (names) => noted(store.remove(names)),
    list: () => store.list(),
    read: (name, file) => store.read(name, file),
    load: (options) => store.load(options),
    sweep: () => store.sweep(),
    close: () => store.close(),
  };
}

function endStep(steps: readonly Step[]): void {
  const last = steps.at(-1);
  if (!last) return;
  last.end = performance.now();
  last.cpu += cpuTime();
}

/** Waits for its turn, and takes note of every step. */
function watched(loader: Loader, { steps }: Trace, turns: Turns, { turn }: Race): Loader {
  return withNext(loader, async () => {
    endStep(steps);
    if (steps.length % turn === 0) await turns.pass();
    steps.push({ begin: performance.now(), end: Number.NaN, cpu: -cpuTime() });
    return loader.next();
  });
}

async function train(racer: Racer, race: Race, turns: Turns, dir: string): Promise<Trace> {
  const trace: Trace = { steps: [], saves: [], endWait: Number.NaN };
  const steps = race.turn * race.turns;
  const at = Array.from({ length: race.turns }, (_, i) => race.saveAt.map((step) => i * race.turn + step)).flat();
  const store = await openDirectoryStore(dir);
  const { train: loader, ...setup } = large(race.batchSize);
  const trainer = new Trainer({
    ...setup,
    optimizer: race.optimizer,
    train: watched(loader, trace, turns, race),
    steps,
    engine: "wasm",
    signals: false,
    store: timed(store, trace.saves),
    ...(racer.save && { save: racer.save }),
    hooks: [
      ...(racer.hook ? [racer.hook([...at, steps])] : []),
      {
        name: "watch",
        stage: "logger",
        onStepEnd({ step }) {
          if (racer.hook && (step === steps || at.includes(step))) {
            trace.saves.push({ asked: performance.now(), handed: Number.NaN, durable: Number.NaN, idle: Number.NaN });
          }
          if (step === steps) endStep(trace.steps);
        },
        onTrainEnd: () => void (trace.endWait = performance.now() - trace.steps.at(-1)!.end),
      },
    ],
  });
  await trainer.fit();
  turns.leave();
  await trainer.close();
  await store.close();
  return trace;
}

/** All of them in one process, a turn each after the other. */
export async function raceSaving(racers: readonly Racer[], race: Race): Promise<Trace[]> {
  const root = await mkdtemp(join(tmpdir(), "hookline-bench-"));
  const turns = new Turns(racers.length);
  try {
    return await Promise.all(racers.map((racer, i) => train(racer, race, turns, join(root, `${i}`))));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Asks for saves at these steps, and keeps the newest. */
export function plainSaves(at: readonly number[]): Hook {
  let newest: string | undefined;
  return {
    name: "saves",
    onStepEnd(ctx) {
      if (at.includes(ctx.step)) ctx.requestSave();
    },
    onAfterSave({ saved, checkpoints }) {
      if (newest !== undefined) checkpoints.release([newest]);
      newest = saved.name;
    },
  };
}
