// What ranks exchange outside of steps: messages, agreement in an experiment, the comparison of how they were started (and
// its error, from the facts of trainer/start-facts.ts), and the check that all keep the same parameters.
import type { HostTensors } from "../core/model.ts";
import type { Strategy } from "./strategy.ts";
import type { TypedArray } from "../core/arrays.ts";
import { DistributedError } from "../core/errors.ts";

/** What of a trainer is needed to give its parameters to others. */
interface Holder {
  stateDict(): Promise<HostTensors>;
  loadStateDict(tensors: HostTensors): Promise<unknown>;
}

export class Agreement {
  readonly strategy: Strategy;

  constructor(strategy: Strategy) {
    this.strategy = strategy;
  }

  /** Fails on all processes alike where they were not started alike. */
  async compareStarts(facts: StartFacts): Promise<void> {
    if (this.strategy.size === 1) return;
    const error = await findUnlikeStarts(this.strategy, facts);
    if (error) throw error;
  }

  /** What the first of those says that have something to say. It must be JSON. */
  async first<T>(own: T | undefined): Promise<T | undefined> {
    const { rank, size } = this.strategy;
    if (size === 1) return own;
    const bytes = own === undefined ? new Uint8Array(0) : encode(own);
    const lengths = new Float64Array(size);
    lengths[rank] = bytes.length;
    await this.strategy.allReduce(lengths);
    if (lengths.every((length) => length === 0)) return undefined;
    const [first] = await gatherMessages(this.strategy, bytes, [...lengths]);
    return first!.said as T;
  }

  /** Gives all of them the main one's parameters and buffers. */
  async shareParameters(holder: Holder): Promise<void> {
    if (this.strategy.size === 1) return;
    const shared: HostTensors = {};
    for (const [name, tensor] of Object.entries(await holder.stateDict())) {
      // A copy: what was given may be an engine's own memory.
      const data = tensor.data.slice();
      await this.strategy.broadcast(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      shared[name] = { ...tensor, data };
    }
    await holder.loadStateDict(shared);
  }
}

// Words between ranks: what each has to say reaches all, through sums of numbers alone.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const encode = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** What every rank says, in the order of the ranks; those with nothing to say are left out. `lengths` are known to all. */
export async function gatherMessages(
  strategy: Pick<Strategy, "rank" | "allReduce">,
  own: Uint8Array,
  lengths: readonly number[],
): Promise<{ readonly rank: number; readonly said: unknown }[]> {
  const ends = lengths.map((_, i) => lengths.slice(0, i + 1).reduce((sum, length) => sum + length, 0));
  const startOf = (i: number): number => ends[i]! - lengths[i]!;
  // A byte is a number that floats keep exactly, and everyone else adds 0 to it.
  const all = new Float32Array(ends.at(-1)!);
  all.set(own, startOf(strategy.rank));
  await strategy.allReduce(all);
  return lengths.flatMap((length, i) => {
    if (length === 0) return [];
    const bytes = Uint8Array.from(all.subarray(startOf(i), ends[i]));
    return [{ rank: i, said: JSON.parse(decoder.decode(bytes)) as unknown }];
  });
}

// Do all ranks have the same parameters? Hashes of them are compared; the first that differs is named.

export interface TensorHash {
  readonly name: string;
  /** Of 53 bits, which a float64 keeps exactly. */
  readonly hash: number;
}

/** Two chains of multiplications over the words of an array. */
export function hashOf(data: TypedArray): number {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const isAligned = data.byteOffset % 4 === 0 && data.byteLength % 4 === 0;
  const words = isAligned ? new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4) : bytes;
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < words.length; i++) {
    a = Math.imul(a ^ words[i]!, 0x9e3779b1);
    b = Math.imul(b ^ words[i]!, 0x5f356495);
    a ^= b >>> 15;
    b ^= a >>> 13;
  }
  return (b & 0x1fffff) * 2 ** 32 + (a >>> 0);
}

/** The error to be thrown, on all ranks alike; undefined when they agree. */
export async function findDesync(
  strategy: Strategy,
  hashes: readonly TensorHash[],
  step: number,
): Promise<DistributedError | undefined> {
  const count = hashes.length;
  const extremes = Float64Array.from([...hashes.map(({ hash }) => hash), ...hashes.map(({ hash }) => -hash)]);
  await strategy.allReduce(extremes, "max");
  const at = hashes.findIndex((_, i) => extremes[i] !== -extremes[count + i]!);
  if (at < 0) return undefined;
  const each = new Float64Array(strategy.size);
  each[strategy.rank] = hashes[at]!.hash;
  await strategy.allReduce(each);
  return new DistributedError(
    `\`${hashes[at]!.name}\` is not the same on all processes after step ${step}: ${describe([...each])}. Something changed it on some of them only: a hook that acts on one rank, random numbers that are not drawn from the key, or a function (the model, a loss, a schedule) that works with other values there. Let hooks ask through the verbs of ctx, which reach all ranks.`,
    { onAllRanks: true },
  );
}

/** Where most agree, those that do not are to blame. */
function describe(each: readonly number[]): string {
  const ranksWith = (hash: number): number[] => [...each.keys()].filter((rank) => each[rank] === hash);
  const groups = [...new Set(each)].map(ranksWith).sort((a, b) => b.length - a.length);
  const [most, ...others] = groups;
  const list = (ranks: readonly number[]): string => `rank${ranks.length === 1 ? "" : "s"} ${ranks.join(", ")}`;
  const verb = others.flat().length === 1 ? "differs" : "differ";
  return `${list(others.flat())} ${verb} from ${list(most!)}`;
}

// Do all ranks start the same training? Each describes it as named texts; where those differ, all ranks fail with one error.

/** What must be the same on all ranks, by name. A name that a rank lacks counts as a difference. */
export type StartFacts = Readonly<Record<string, string>>;

/** Differences that an error lists. */
const MOST_SHOWN = 8;

/**
 * The error to be thrown, on all ranks alike; undefined when they agree. Every rank reduces a vector of the same length,
 * whatever it has to tell, so that ranks that differ cannot deadlock here.
 */
export async function findUnlikeStarts(strategy: Strategy, facts: StartFacts): Promise<DistributedError | undefined> {
  const { rank, size } = strategy;
  const bytes = Uint8Array.from(encode(facts));
  const digest = hashOf(bytes);
  // The greatest and the least digest, then the length of each rank's facts.
  const exchanged = new Float64Array(2 + size);
  exchanged[0] = digest;
  exchanged[1] = -digest;
  exchanged[2 + rank] = bytes.length;
  await strategy.allReduce(exchanged, "max");
  if (exchanged[0] === -exchanged[1]) return undefined;
  const gathered = await gatherMessages(strategy, bytes, Array.from(exchanged.subarray(2)));
  return unlikeError(gathered.map(({ said }) => said as StartFacts));
}

/** `ranks` has the facts of each rank. */
function unlikeError(ranks: readonly StartFacts[]): DistributedError {
  const names = new Set(ranks.flatMap((facts) => Object.keys(facts)));
  const differing = [...names].filter((name) => new Set(ranks.map((facts) => facts[name])).size > 1);
  const lines = differing.slice(0, MOST_SHOWN).map((name) => `\n  ${name}: ${whoHasWhat(ranks, name)}`);
  const rest = differing.length - lines.length;
  return new DistributedError(
    `The ${ranks.length} ranks were not started alike, so they would not train one model:${lines.join("")}${rest > 0 ? `\n  and ${rest} more` : ""}\nStart all ranks with the same options and the same data, in the same order: a loader of your own draws random numbers from the seed that \`begin\` gets.`,
    { onAllRanks: true },
  );
}

/** The main rank's value last: the others are compared with it. */
function whoHasWhat(ranks: readonly StartFacts[], name: string): string {
  const ranksOf = new Map<string | undefined, number[]>();
  ranks.forEach((facts, rank) => ranksOf.set(facts[name], [...(ranksOf.get(facts[name]) ?? []), rank]));
  const values = [...ranksOf].map(
    ([value, list]) =>
      `${list.length === 1 ? `rank ${list[0]} has` : `ranks ${list.join(", ")} have`} ${value ?? "none"}`,
  );
  return [...values.slice(1), values[0]].join(", ");
}
