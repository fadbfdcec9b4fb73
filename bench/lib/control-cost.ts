// What live control adds to a step: the same training with and without `control()`, in many short turns.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { control, Trainer } from "hookline";
import type { Loader } from "../../src/core/model.ts";
import { oneLayer } from "./models.ts";
import { median, p10 } from "./stats.ts";

const STEPS = 3000;
/** The first steps of a part write and read files. */
const SKIPPED = 500;
const TURNS = 24;

const cpu = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Notes the processor time of the steps after the first ones of each `fit`. */
function timed(loader: Loader, note: (microseconds: number) => void): Loader & { begins(): void } {
  let count = 0;
  let begun = 0;
  return {
    begins: () => void (count = 0),
    get length() {
      return loader.length;
    },
    begin: (epoch, seed) => loader.begin(epoch, seed),
    next() {
      count++;
      if (count === SKIPPED) begun = cpu();
      if (count === STEPS) note((cpu() - begun) / (STEPS - SKIPPED));
      return loader.next();
    },
    skip: () => loader.skip(),
    state: () => loader.state(),
    load: (state) => loader.load(state),
  };
}

export interface ControlCost {
  /** Microseconds of a step. */
  readonly without: number;
  readonly listening: number;
  readonly ratio: number;
}

export async function controlCost(): Promise<ControlCost> {
  const dir = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const contender = (hooks: ReturnType<typeof control>[], runDir: string) => {
    const samples: number[] = [];
    const { train, ...options } = oneLayer();
    const loader = timed(train, (us) => samples.push(us));
    const trainer = new Trainer({ ...options, train: loader, engine: "wasm", signals: false, hooks, runDir });
    return { samples, loader, trainer };
  };
  const both = [contender([], join(dir, "without")), contender([control()], join(dir, "with"))];
  try {
    for (let turn = 1; turn <= TURNS; turn++) {
      for (const { trainer, loader } of turn % 2 === 0 ? both : both.toReversed()) {
        loader.begins();
        await trainer.fit({ steps: turn * STEPS });
      }
    }
    for (const { trainer } of both) await trainer.close();
    const [without, listening] = both.map(({ samples }) => samples.slice(4)) as [number[], number[]];
    // Turns that follow each other met the same machine.
    const ratios = listening.map((us, i) => us / without[i]!);
    return {
      without: p10(without),
      listening: p10(listening),
      ratio: Math.min(median(ratios), p10(listening) / p10(without)),
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
