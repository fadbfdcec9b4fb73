// Random keys: host-side numbers for initialization, one key per (seed, step, micro-batch), and streams of keys inside a program.
import { numpy as np } from "@jax-js/jax";
import { sizeOf } from "../core/arrays.ts";
import { OptionError } from "../core/errors.ts";
import type { InitKey, KeyStream, Tensor } from "../core/model.ts";
import { show } from "../core/options.ts";

// Initialization and steps draw from different families, so that a seed never gives both the same words.
const INIT_FAMILY = 0x696e6974;
const STEP_FAMILY = 0x73746570;
const GOLDEN = 0x9e3779b9;

function seedWords(seed: number): readonly [number, number] {
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new OptionError(`Expected \`seed\` to be a whole number ≥ 0, got ${show(seed)}`);
  return [seed >>> 0, Math.floor(seed / 2 ** 32)];
}

/** The words of a jax-js key for one micro-batch: a bijection of (step, micro) for each seed, so keys never repeat. */
export function stepKey(seed: number, step: number, micro: number): Uint32Array {
  const [low, high] = seedWords(seed);
  const words = new Uint32Array(2);
  threefry(low, high ^ STEP_FAMILY, step, micro, words);
  return words;
}

/** Numbers for initialization: the same seed gives the same bits on every engine. */
export function initKey(seed: number): InitKey {
  const [low, high] = seedWords(seed);
  const words = new Uint32Array(2);
  threefry(low, high ^ INIT_FAMILY, 0, 0, words);
  return keyOf(words);
}

function keyOf(words: Uint32Array): InitKey {
  const fill = (shape: readonly number[], pair: (a: number, b: number, data: Float32Array, at: number) => void) => {
    const data = new Float32Array(sizeOf(shape));
    const bits = new Uint32Array(2);
    for (let at = 0; at < data.length; at += 2) {
      threefry(words[0]!, words[1]!, 0, at, bits);
      // Writing past the end of a typed array is a no-op: an odd size needs no special case.
      pair((bits[0]! >>> 8) * 2 ** -24, (bits[1]! >>> 8) * 2 ** -24, data, at);
    }
    return { data, shape };
  };
  return {
    words,
    fold(part) {
      const mixed = new Uint32Array(2);
      threefry(words[0]!, words[1]!, 1, hash(String(part)), mixed);
      return keyOf(mixed);
    },
    uniform: (shape, low, high) =>
      fill(shape, (a, b, data, at) => {
        data[at] = low + a * (high - low);
        data[at + 1] = low + b * (high - low);
      }),
    // Box-Muller; 1 − a keeps the logarithm's argument above zero.
    normal: (shape, mean, std) =>
      fill(shape, (a, b, data, at) => {
        const radius = std * Math.sqrt(-2 * Math.log(1 - a));
        data[at] = mean + radius * Math.cos(2 * Math.PI * b);
        data[at + 1] = mean + radius * Math.sin(2 * Math.PI * b);
      }),
  };
}

/** FNV-1a: names become counter words; threefry does the mixing. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h;
}

/**
 * Keys for the layers of one traced program: the nth `next()` is the base key with a constant added, which costs
 * nothing at run time; threefry makes neighboring keys independent. The caller keeps the base key.
 */
export function keyStream(key: Tensor): KeyStream {
  let calls = 0;
  return {
    next() {
      calls++;
      return key.ref.add(np.array(Math.imul(calls, GOLDEN) >>> 0, { dtype: np.uint32 }));
    },
  };
}

// Threefry-2x32 with 20 rounds, the generator that JAX uses: a key and a counter in, two well-mixed words out.

/** The rotation of each round, in bits. */
export const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24] as const;

/** Writes the two words for key (k0, k1) and counter (c0, c1) into `out` at `at`. */
export function threefry(k0: number, k1: number, c0: number, c1: number, out: Uint32Array, at = 0): void {
  const k2 = k0 ^ k1 ^ 0x1bd11bda;
  let a = (c0 + k0) | 0;
  let b = (c1 + k1) | 0;
  for (let group = 0; group < 5; group++) {
    const first = (group & 1) * 4;
    for (let i = first; i < first + 4; i++) {
      const r = ROTATIONS[i]!;
      a = (a + b) | 0;
      b = ((b << r) | (b >>> (32 - r))) ^ a;
    }
    // The key schedule: words k1, k2, k0 in turn, with the group's number added.
    const turn = group % 3;
    a = (a + (turn === 0 ? k1 : turn === 1 ? k2 : k0)) | 0;
    b = (b + (turn === 0 ? k2 : turn === 1 ? k0 : k1) + group + 1) | 0;
  }
  out[at] = a;
  out[at + 1] = b;
}
