// A trainer's whole step beside the loop that someone writes without a trainer, step by step in one process: what the
// trainer's program computes besides counts too, unlike in `overhead`.
import { Trainer } from "hookline";
import type { Loader } from "../src/core/model.ts";
import type { Engine } from "../src/engines/engine.ts";
import { JaxEngine } from "../src/engines/jax/jax-engine.ts";
import { NativeEngine } from "../src/engines/native/native-engine.ts";
import { type HandWritten, linearSgd, mlpAdamw, onEngine, onJax, overBatches } from "./lib/hand-written.ts";
import { mlp, oneLayer, type Setup } from "./lib/models.ts";
import type { Aim, Report } from "./lib/report.ts";
import { median, p10 } from "./lib/stats.ts";
import { withNext } from "./lib/turns.ts";

type EngineName = "wasm" | "native";

interface Race {
  readonly label: string;
  readonly engine: EngineName;
  readonly setup: () => Setup;
  readonly written: HandWritten;
  readonly rounds: number;
  readonly steps: number;
  readonly warmUp: number;
}

/** Microseconds of every step. */
interface Times {
  readonly hand: number[];
  readonly trainer: number[];
}

const makeEngine = (name: EngineName): Engine | Promise<Engine> =>
  name === "wasm" ? JaxEngine.create("wasm") : new NativeEngine({ threads: 1 });

/** When the trainer asks for a batch, its last step is over: the hand-written loop does one, and the trainer's next begins. */
function gated(loader: Loader, handStep: () => void, { hand, trainer }: Times): Loader {
  let resumed: number | undefined;
  return withNext(loader, () => {
    const asked = performance.now();
    if (resumed !== undefined) trainer.push((asked - resumed) * 1000);
    handStep();
    resumed = performance.now();
    hand.push((resumed - asked) * 1000);
    return loader.next();
  });
}

/** The first steps compile and warm up, and are left out. */
async function race({ engine: name, setup, written, steps, warmUp }: Race, into: Times): Promise<void> {
  const times: Times = { hand: [], trainer: [] };
  const engine = await makeEngine(name);
  const start = name === "wasm" ? onJax : onEngine(engine);
  const handStep = overBatches(setup().train, start(written));
  const { train, ...options } = setup();
  const trainer = new Trainer({
    ...options,
    train: gated(train, handStep, times),
    steps: steps + warmUp,
    engine,
    signals: false,
  });
  await trainer.fit();
  await trainer.close();
  await engine.close();
  for (const who of ["hand", "trainer"] as const) into[who].push(...times[who].slice(warmUp));
}

export async function run(): Promise<Report> {
  const small = { setup: oneLayer, written: linearSgd, rounds: 4, steps: 3000, warmUp: 1500 };
  const large = { setup: mlp, written: mlpAdamw, rounds: 3, steps: 250, warmUp: 30 };
  const races = (["wasm", "native"] as const).flatMap((engine): Race[] => [
    { label: `one layer, ${engine}`, engine, ...small },
    { label: `MLP 784-256-10, batch 128, ${engine}`, engine, ...large },
  ]);
  const rows: Report["rows"][number][] = [];
  const aims: Aim[] = [];
  for (const each of races) {
    const times: Times = { hand: [], trainer: [] };
    for (let round = 0; round < each.rounds; round++) await race(each, times);
    const { hand, trainer } = times;
    const added = p10(trainer) - p10(hand);
    rows.push([
      each.label,
      p10(hand),
      p10(trainer),
      median(hand),
      median(trainer),
      added,
      median(trainer) / median(hand),
    ]);
    if (each.written !== linearSgd) {
      aims.push({ what: each.label, measured: median(trainer) / median(hand), unit: "×", limit: 1.02 });
      continue;
    }
    const what = `${each.label}, added`;
    if (each.engine === "wasm") aims.push({ what, measured: added, unit: "µs", limit: 25, must: true });
    aims.push({ what, measured: added, unit: "µs", limit: 10 });
  }
  return {
    name: "steps",
    title: "steps: µs of a trainer's whole step beside a loop written by hand (valueAndGrad and update under one jit)",
    columns: ["hand p10", "trainer p10", "hand median", "trainer median", "added p10", "trainer ÷ hand"],
    rows,
    aims,
  };
}
