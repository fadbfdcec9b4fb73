// Rounds of contenders on a GPU: processes start together, each is compiled alone, since XLA times kernels while it compiles;
// then they take turns.
import { XlaEngine } from "hookline/xla";
import { EngineError } from "../../src/core/errors.ts";
import type { Gpu } from "./gpu-contenders.ts";
import type { GpuAnswer } from "./gpu-takes.ts";
import { median } from "./stats.ts";

export interface GpuRounds<Name> {
  readonly title: string;
  /** Those who compile while others do: most of it is work for the processor, and it takes them long. */
  readonly beside?: readonly Name[];
  /** Steps before the first round: they compile. */
  readonly warmUp: number;
  readonly rounds: number;
  /** Of a round. */
  readonly steps: number;
}

/** Milliseconds of a step in each round. Who cannot start, or fails, has none. */
export async function gpuRounds<Name extends string>(
  starting: readonly (readonly [Name, Promise<Gpu | undefined>])[],
  { title, beside = [], warmUp, rounds, steps }: GpuRounds<Name>,
): Promise<ReadonlyMap<Name, readonly number[]>> {
  const running = new Map<Name, Gpu>();
  for (const [name, promise] of starting) {
    const gpu = await promise;
    if (gpu) running.set(name, gpu);
    else console.error(`${title}: ${name} cannot be measured here, its column stays empty.`);
  }
  const times = new Map([...running.keys()].map((name) => [name, [] as number[]]));
  const ask = async (name: Name, count: number): Promise<GpuAnswer | undefined> => {
    try {
      return (await running.get(name)!.ask({ steps: count })) as GpuAnswer;
    } catch (error) {
      console.error(`${title}: ${name} failed. ${(error as Error).message}`);
      running.delete(name);
      times.delete(name);
      return undefined;
    }
  };
  try {
    const compiled = async (name: Name): Promise<void> => {
      const { version } = running.get(name)!;
      const begun = performance.now();
      const answer = await ask(name, warmUp);
      if (!answer) return;
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      const loss = answer.loss.toPrecision(4);
      console.error(`${title}, ${name} (${version}): the first ${warmUp} steps took ${seconds} s; loss ${loss}`);
    };
    const names = [...running.keys()];
    const meanwhile = names.filter((name) => beside.includes(name)).map(compiled);
    for (const name of names) if (!beside.includes(name)) await compiled(name);
    await Promise.all(meanwhile);
    for (let round = 0; round < rounds; round++) {
      for (const name of running.keys()) {
        const answer = await ask(name, steps);
        if (answer) times.get(name)!.push(answer.ms);
      }
    }
    const medians = [...times].map(([name, taken]) => `${name} ${median(taken).toFixed(2)}`);
    console.error(`${title}, ms a step: ${medians.join(", ")}`);
    return times;
  } finally {
    for (const gpu of running.values()) await gpu.close();
  }
}

/** Says so where there is none to measure. */
export async function hasGpu(): Promise<boolean> {
  try {
    await new XlaEngine().close();
    return true;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    console.error(`Nothing was measured, since there is no GPU to use. ${error.message}`);
    return false;
  }
}
