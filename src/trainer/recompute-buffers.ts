// Recomputes the buffers of a model for given parameters, as torch's `update_bn` does. Batch norm's running statistics
// belong to the parameters they were measured with, so an average of parameters needs statistics of its own.
import type { HostBatch } from "../core/model.ts";
import type { Plan } from "../core/loop/session.ts";
import type { LoaderSet } from "../data/loader-set.ts";
import type { Strategy } from "../distributed/strategy.ts";
import { freeAll, readBuffer, type Engine } from "../engines/engine.ts";
import { stepKey } from "../nn/key.ts";
import type { Buffers, DeviceState, ModelBuffers } from "./device-state.ts";
import { nextBuffers } from "./programs/programs.ts";
import { BatchInput, ProgramCache, runProgram } from "./programs/run.ts";
import type { Specs } from "./specs.ts";

export interface RecomputeParts {
  readonly engine: Engine;
  readonly state: DeviceState;
  readonly specs: Specs;
  readonly data: LoaderSet;
  readonly seed: number;
  /** Undefined for a process that trains alone. */
  readonly strategy: Strategy | undefined;
  readonly warn: (message: string) => void;
}

const PLAN: Plan = {
  kind: "fused",
  because: "",
  outputs: false,
  gradNorm: false,
  batchMetrics: false,
  finite: false,
  probes: [],
};

export class BufferRecomputer {
  readonly #parts: RecomputeParts;
  readonly #programs: ProgramCache;
  readonly #input: BatchInput;

  constructor(parts: RecomputeParts) {
    this.#parts = parts;
    this.#programs = new ProgramCache(parts.engine);
    this.#input = new BatchInput(parts.engine, parts.warn);
  }

  /** Can the training data be read once more? A stream may be a socket, and going back in one reads it from its start. */
  get isPossible(): boolean {
    return this.#parts.data.loaders.every(({ loader }) => loader.length !== undefined);
  }

  /**
   * Consumes the model's buffers and returns new ones, from at most this many batches of the first epoch. The same batches
   * every time, so that the result depends on nothing but the parameters; the training continues where it was in the data.
   */
  async recompute(model: ModelBuffers, batches: number): Promise<Buffers> {
    const { data, seed } = this.#parts;
    const position = data.state();
    try {
      data.begin(0, seed);
      return await this.#pass(model, batches);
    } finally {
      await data.close();
      await data.load(position);
    }
  }

  async #pass({ params, state }: ModelBuffers, batches: number): Promise<Buffers> {
    const { engine } = this.#parts;
    // Counts of batches are no statistics: they stay as they are.
    const names = Object.keys(state).filter((name) => state[name]!.dtype === "float32");
    const kept = Object.fromEntries(
      Object.keys(state)
        .filter((name) => !names.includes(name))
        .map((name) => [name, engine.copy(state[name]!)]),
    );
    let buffers = state;
    let count = 0;
    for (let i = 0; i < batches; i++) {
      const fetched = await this.#next();
      if (!fetched) break;
      if (fetched.empty) continue;
      buffers = await this.#batch(params, buffers, fetched.batch, ++count);
    }
    freeAll(engine, Object.fromEntries(Object.keys(kept).map((name) => [name, buffers[name]!])));
    const own = { ...buffers, ...kept };
    return this.#parts.strategy ? this.#join(this.#parts.strategy, own, names, count) : own;
  }

  async #next(): Promise<{ readonly batch: HostBatch; readonly empty: boolean } | undefined> {
    const { data, strategy } = this.#parts;
    if (strategy) return data.nextShare({ rank: strategy.rank, size: strategy.size });
    const batch = await data.next();
    return batch && { batch, empty: false };
  }

  /** One pass in training mode. The n-th batch has the share 1/n, so that the result is the mean over all batches. */
  async #batch(params: Buffers, state: Buffers, host: HostBatch, n: number): Promise<Buffers> {
    const { engine, data, specs, seed, state: device } = this.#parts;
    const loader = data.names[data.source!]!;
    const spec = specs.get(PLAN, loader);
    const program = this.#programs.of(spec, "recompute", () => nextBuffers(spec), { donate: [1, 2, 3, 4] });
    const key = engine.put({ data: stepKey(seed, 0, n), shape: [2] });
    const share = engine.put({ data: Float32Array.of(1 / n), shape: [] });
    const batch = this.#input.put(host, loader);
    const out = await runProgram(
      program,
      { what: "step", loader, host },
      device.withBase(params),
      state,
      batch,
      key,
      share,
    );
    return out as Buffers;
  }

  /** The mean over the ranks, each weighted by its number of batches. */
  async #join(strategy: Strategy, buffers: Buffers, names: readonly string[], count: number): Promise<Buffers> {
    const { engine } = this.#parts;
    const host = await Promise.all(names.map((name) => readBuffer(engine, buffers[name]!)));
    const values = Float64Array.from([count, ...host.flatMap(({ data }) => Array.from(data, (x) => count * x))]);
    await strategy.allReduce(values);
    let at = 1;
    const joined = names.map((name, i) => {
      const { data, shape } = host[i]!;
      const mean = Float32Array.from(data, (_, j) => values[at + j]! / values[0]!);
      at += data.length;
      engine.free(buffers[name]!);
      return [name, engine.put({ data: mean, shape })] as const;
    });
    return { ...buffers, ...Object.fromEntries(joined) };
  }
}
