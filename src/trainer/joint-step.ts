// A step of several processes: their gradients, model state and sums become those of the whole batch, in one exchange.
import { type TypedArray, sizeOf } from "../core/arrays.ts";
import type { RankGroup } from "../distributed/process-group.ts";
import type { Buffer, Engine } from "../engines/engine.ts";
import type { Buffers, DeviceState } from "./device-state.ts";
import type { OpenStep } from "./open-step.ts";
import { hashOf, type TensorHash } from "../distributed/exchange.ts";
import type { Scaling, Strategy, SummedVector } from "../distributed/strategy.ts";

/** Numbers in one reduction: some megabytes, which go through caches and networks better than everything at once. */
const BUCKET = 2 ** 20;

/** A tensor's place among the numbers that are exchanged. */
interface Place {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly at: number;
  readonly length: number;
}

export class JointStep {
  readonly rank: number;
  readonly size: number;
  readonly #engine: Engine;
  readonly #device: DeviceState;
  readonly #group: RankGroup;
  readonly #sumsSize: number;
  /** Kept from step to step, where the strategy has no vector of its own. */
  #memory = new Float32Array(0);

  constructor(engine: Engine, device: DeviceState, group: RankGroup, sumsSize: number) {
    this.rank = group.rank;
    this.size = group.size;
    this.#engine = engine;
    this.#device = device;
    this.#group = group;
    this.#sumsSize = sumsSize;
  }

  /**
   * Joins the open steps of all ranks. What a rank does not keep counts for nothing, but it takes part. Returns the
   * loss of the whole step; undefined when it has no weight. All ranks expect the same number of `samples`, so that
   * what each adds is its share of the mean already.
   */
  async join(open: OpenStep, names: readonly string[], keeps: boolean, samples: number): Promise<number | undefined> {
    await open.gather();
    const group = this.#group;
    const own = keeps ? open.weight : 0;
    const weightAt = group.headerSize;
    const sumsAt = weightAt + 1;
    const tensorsAt = sumsAt + this.#sumsSize;
    const { params, state } = this.#device;
    const grads = placesOf(params, names, tensorsAt);
    const statesAt = endOf(grads, tensorsAt);
    const states = placesOf(state, Object.keys(state), statesAt);
    const length = endOf(states, statesAt);
    const vector = await this.#vector(length);
    const numbers = vector.own.subarray(0, length);
    numbers.fill(own, weightAt, sumsAt);
    group.writeHeader(numbers);
    if (own === 0) numbers.fill(0, sumsAt);
    else {
      numbers.set(await this.#engine.read(open.sums!), sumsAt);
      await this.#readAll(open.grads, grads, numbers);
      await this.#readAll(open.state!, states, numbers);
      vector.scale(own / samples, open.inPart ? statesAt : tensorsAt, length);
    }
    // Where rows were left out or replaced, or count differently, what they weigh is not what was expected.
    const factor = (weight: number): number => (weight === 0 ? 1 : samples / weight);
    const summed = vector.sum(length, { at: weightAt, from: tensorsAt, factor });
    const total = summed instanceof Promise ? await summed : summed;
    const weight = total[weightAt]!;
    await group.readHeader(total);
    if (weight === 0) return undefined;
    const sums = total.slice(sumsAt, tensorsAt);
    open.join(this.#put(grads, total), this.#put(states, total), { sums, weight });
    return sums[0]! / weight;
  }

  async #vector(length: number): Promise<SummedVector> {
    const { strategy } = this.#group;
    const vector = await strategy.vector?.(length);
    if (vector) return vector;
    if (this.#memory.length !== length) this.#memory = new Float32Array(length);
    const own = this.#memory;
    return {
      own,
      scale: (factor, from) => scale(own, factor, from),
      sum: (_, scaling) => sumInBuckets(strategy, own, scaling),
    };
  }

  async #readAll(buffers: Buffers, places: readonly Place[], numbers: Float32Array): Promise<void> {
    for (const { name, at, length, dtype } of places) {
      const into = numbers.subarray(at, at + length);
      const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
      if (dtype === "float32" && this.#engine.readInto?.(buffers[name]!, bytes)) continue;
      into.set(await this.#engine.read(buffers[name]!));
    }
  }

  #put(places: readonly Place[], means: Float32Array): Buffers {
    const put = ({ at, length, shape, dtype }: Place): Buffer => {
      const mean = means.subarray(at, at + length);
      return this.#engine.put({ data: dtype === "float32" ? mean : whole(mean, dtype), shape });
    };
    return Object.fromEntries(places.map((place) => [place.name, put(place)]));
  }
}

async function sumInBuckets(
  strategy: Strategy,
  numbers: Float32Array,
  { at, from, factor }: Scaling,
): Promise<Float32Array> {
  for (let start = 0; start < numbers.length; start += BUCKET) {
    const wait = strategy.allReduce(numbers.subarray(start, Math.min(numbers.length, start + BUCKET)));
    if (wait) await wait;
  }
  scale(numbers, factor(numbers[at]!), from);
  return numbers;
}

function scale(numbers: Float32Array, factor: number, from: number): void {
  if (factor === 1) return;
  // As engines and MPI multiply, in float32.
  const times = Math.fround(factor);
  for (let i = from; i < numbers.length; i++) numbers[i]! *= times;
}

/** A count, such as that of batches, is the same on all ranks: its mean is itself but for rounding. */
const whole = (mean: Float32Array, dtype: string): TypedArray =>
  dtype === "uint32" ? Uint32Array.from(mean, Math.round) : Int32Array.from(mean, Math.round);

function placesOf(buffers: Buffers, names: readonly string[], from: number): Place[] {
  let at = from;
  return names.map((name) => {
    const { shape, dtype } = buffers[name]!;
    const place = { name, shape, dtype, at, length: sizeOf(shape) };
    at += place.length;
    return place;
  });
}

function endOf(places: readonly Place[], otherwise: number): number {
  const last = places.at(-1);
  return last ? last.at + last.length : otherwise;
}

// The state on the device where several processes train together: made equal at the start, and hashed to prove that it stays so.

/** Hashes of parameters and buffers, in their order. */
export async function hashState({ engine, params, state }: DeviceState): Promise<TensorHash[]> {
  const hashes: TensorHash[] = [];
  for (const [name, buffer] of Object.entries({ ...params, ...state }))
    hashes.push({ name, hash: hashOf(await engine.read(buffer)) });
  return hashes;
}

/** Gives every rank the main one's parameters, buffers and optimizer state. */
export async function shareState(strategy: Strategy, device: DeviceState): Promise<void> {
  const { engine } = device;
  for (const part of ["params", "state", "opt"] as const) {
    const next: Record<string, Buffer> = {};
    for (const [name, { shape, dtype }] of Object.entries(device[part])) {
      // A copy: what an engine gives to read may be its own memory.
      const data = (await engine.read(device[part][name]!)).slice() as TypedArray;
      await strategy.broadcast(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      next[name] = engine.put({ data, shape, ...(dtype === "bool" && { dtype }) });
    }
    device.commit(part, next, false);
  }
}
