// One rank of distributed.ts: trains a model with one thread, and the main rank says how long its steps took.
import { Trainer } from "hookline";
import { chain } from "../../src/core/maybe.ts";
import type { MaybePromise } from "../../src/core/model.ts";
import { type Strategy, openStrategy } from "../../src/distributed/strategy.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { RANK_MODELS, type RankModel } from "./engine-models.ts";

export interface RankTimes {
  /** Milliseconds of each step. */
  readonly times: readonly number[];
  /** Of it, from the beginning of a reduction to its end: also waiting for a slower rank. */
  readonly communication: readonly number[];
}

const [model, steps] = process.argv.slice(2) as [RankModel, string];
let spent = 0;

function clocked<T>(body: () => MaybePromise<T>): MaybePromise<T> {
  const begun = performance.now();
  return chain(body(), (result) => {
    spent += performance.now() - begun;
    return result;
  });
}

/** The strategy, with a clock. */
function timed(strategy: Strategy): Strategy {
  return {
    name: strategy.name,
    rank: strategy.rank,
    size: strategy.size,
    allReduce: (values, op) => clocked(() => strategy.allReduce(values, op)),
    vector: (capacity) =>
      chain(strategy.vector?.(capacity), (vector) => {
        return vector && { ...vector, sum: (length, scaling) => clocked(() => vector.sum(length, scaling)) };
      }),
    broadcast: (bytes) => strategy.broadcast(bytes),
    barrier: () => strategy.barrier(),
    abort: (exitCode) => strategy.abort(exitCode),
    close: () => strategy.close(),
  };
}

const strategy = timed(await openStrategy("auto"));
const times: number[] = [];
const communication: number[] = [];
let begun = performance.now();
await new Trainer({
  ...RANK_MODELS[model].make(),
  engine: new NativeEngine({ threads: 1 }),
  strategy,
  signals: false,
  steps: Number(steps),
  hooks: [
    {
      name: "clock",
      onStepEnd(ctx) {
        // Read, as PyTorch's side does.
        void ctx.loss;
        times.push(performance.now() - begun);
        communication.push(spent);
        spent = 0;
        begun = performance.now();
      },
    },
  ],
}).fit();
if (strategy.rank === 0) console.log(JSON.stringify({ times, communication } satisfies RankTimes));
