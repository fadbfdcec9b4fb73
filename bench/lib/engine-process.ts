// An engine in a process of its own, asked line by line: for the milliseconds of some steps, for where they go, for the
// memory that it took.
import { createInterface } from "node:readline";
import { Trainer } from "hookline";
import type { Engine } from "../../src/engines/engine.ts";
import { JaxEngine } from "../../src/engines/jax/jax-engine.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { ENGINE_MODELS, type EngineModel } from "./engine-models.ts";
import { withNext } from "./turns.ts";

export type Ask =
  | { readonly model: EngineModel; readonly steps: number; readonly threads?: number }
  | { readonly profile: EngineModel; readonly steps: number }
  | { readonly resident: true }
  | { readonly peak: true };

const engine: Engine = process.argv[2] === "native" ? new NativeEngine() : await JaxEngine.create("wasm");

/** A run that takes steps on request. */
class PacedRun {
  #steps = 0;
  #times: number[] = [];
  #begun: number | undefined;
  #goOn: () => void = () => {};
  #done: (times: number[]) => void = () => {};

  constructor(model: EngineModel) {
    const { train, ...setup } = ENGINE_MODELS[model].make();
    const paced = withNext(train, async () => {
      if (this.#begun !== undefined) this.#times.push(performance.now() - this.#begun);
      if (this.#times.length >= this.#steps) {
        this.#done(this.#times);
        await new Promise<void>((resolve) => (this.#goOn = resolve));
      }
      this.#begun = performance.now();
      return train.next();
    });
    void new Trainer({ ...setup, train: paced, engine, signals: false, steps: 10 ** 9 }).fit();
  }

  /** The milliseconds of each step. */
  take(steps: number): Promise<number[]> {
    return new Promise((resolve) => {
      this.#steps = steps;
      this.#times = [];
      this.#begun = undefined;
      this.#done = resolve;
      this.#goOn();
    });
  }
}

const runs = new Map<EngineModel, PacedRun>();

async function steps(model: EngineModel, count: number): Promise<number[]> {
  let run = runs.get(model);
  if (!run) {
    run = new PacedRun(model);
    runs.set(model, run);
  }
  return run.take(count);
}

async function answer(ask: Ask): Promise<unknown> {
  if ("model" in ask) return steps(ask.model, ask.steps);
  if ("peak" in ask) return process.resourceUsage().maxRSS * 1024;
  if ("resident" in ask) return process.memoryUsage.rss();
  const { profile } = engine as NativeEngine;
  profile.isOn = true;
  await steps(ask.profile, ask.steps);
  profile.isOn = false;
  return profile.steps;
}

console.log(JSON.stringify({ version: `Node ${process.versions.node}` }));
for await (const line of createInterface(process.stdin)) {
  console.log(JSON.stringify(await answer(JSON.parse(line) as Ask)));
}
process.exit(0);
