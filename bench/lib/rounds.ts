// Contenders take turns in many short rounds, so that a busy or a slow moment of the machine meets all of them.
import { median } from "./stats.ts";

export interface Contender {
  readonly name: string;
  /** Does the work `times` over. */
  run(times: number): void;
}

/** Median nanoseconds for one piece of work, by contender. */
export function inRounds(contenders: readonly Contender[], { rounds = 61, times = 20_000 } = {}): Map<string, number> {
  const samples = new Map(contenders.map(({ name }) => [name, [] as number[]]));
  const warmUp = Math.ceil(rounds / 4);
  for (let round = -warmUp; round < rounds; round++) {
    // The first of a round meets the caches that the last one left: rotate.
    for (let i = 0; i < contenders.length; i++) {
      const { name, run } = contenders[(i + round + warmUp) % contenders.length]!;
      const start = performance.now();
      run(times);
      const took = performance.now() - start;
      if (round >= 0) samples.get(name)!.push((took * 1e6) / times);
    }
  }
  return new Map([...samples].map(([name, values]) => [name, median(values)]));
}
