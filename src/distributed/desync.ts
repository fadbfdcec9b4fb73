// Do all ranks have the same parameters? Hashes of them are compared; the first that differs is named.
import type { TypedArray } from "../core/arrays.ts";
import { DistributedError } from "../core/errors.ts";
import type { Strategy } from "./strategy.ts";

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
