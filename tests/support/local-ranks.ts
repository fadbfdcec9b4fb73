// Several ranks in one process, for tests of what they say to each other: each is a strategy, and they meet in memory.
import type { MaybePromise } from "../../src/core/model.ts";
import type { ReduceOp, Strategy } from "../../src/distributed/strategy.ts";

type Values = Float32Array | Float64Array | Uint8Array;

const OPS: Record<ReduceOp, (a: number, b: number) => number> = {
  sum: (a, b) => a + b,
  min: Math.min,
  max: Math.max,
};

/** A call that waits until every rank has made it. */
class Meeting {
  readonly #size: number;
  #here: { readonly values: Values; go(): void }[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  meet(rank: number, values: Values, join: (all: readonly Values[]) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#here[rank] = { values, go: resolve };
      if (Object.keys(this.#here).length < this.#size) return;
      const all = this.#here;
      this.#here = [];
      join(all.map((each) => each.values));
      for (const { go } of all) go();
    });
  }
}

function reduce(all: readonly Values[], op: ReduceOp): void {
  const [first, ...others] = all;
  for (let i = 0; i < first!.length; i++) {
    for (const values of others) first![i] = OPS[op](first![i]!, values[i]!);
  }
  for (const values of others) values.set(first!);
}

export function localRanks(size: number): Strategy[] {
  const meeting = new Meeting(size);
  return Array.from({ length: size }, (_, rank): Strategy => ({
    name: "local",
    rank,
    size,
    allReduce: (values, op = "sum"): MaybePromise<void> => meeting.meet(rank, values, (all) => reduce(all, op)),
    broadcast: (bytes) => meeting.meet(rank, bytes, ([main, ...others]) => others.forEach((other) => other.set(main!))),
    barrier: () => meeting.meet(rank, new Uint8Array(0), () => undefined),
    abort: () => undefined,
    close: () => undefined,
  }));
}

/** Does the same on every rank at once. */
export const onAll = <T>(size: number, body: (strategy: Strategy) => Promise<T>): Promise<T[]> =>
  Promise.all(localRanks(size).map(body));
