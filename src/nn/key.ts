// Random keys: host-side numbers for initialisation, one key per (seed, step, micro-batch), and streams of keys inside a program.
import { numpy as np } from "@jax-js/jax";
import { sizeOf } from "../core/arrays.ts";
import { OptionError } from "../core/errors.ts";
import type { InitKey, KeyStream, Tensor } from "../core/model.ts";
import { show } from "../core/options.ts";
import { threefry } from "./threefry.ts";

// Initialisation and steps draw from different families, so that a seed never gives both the same words.
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

/** Numbers for initialisation: the same seed gives the same bits on every engine. */
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
 * nothing at run time, and threefry makes unrelated numbers of neighbouring keys. The base stays the caller's.
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
