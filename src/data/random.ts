// Random numbers as pure functions of a few whole numbers, so that data order and augmentation resume exactly.

/** The finaliser of murmur3: every bit of the input moves every bit of the output. */
function scramble(word: number): number {
  let h = word;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/**
 * A small fast generator (sfc32) whose whole sequence is a function of `key`.
 * @example new Rng(seed, epoch, index).next()
 */
export class Rng {
  #a: number;
  #b: number;
  #c = 0x6a09e667;
  #counter = 1;

  constructor(...key: readonly number[]) {
    // Two independent 32-bit hashes, or the keys of a large data set would soon collide.
    let [a, b] = [0x243f6a88, 0x3c6ef372];
    for (const part of key) {
      for (const word of [part | 0, Math.floor(part / 0x1_0000_0000) | 0]) {
        a = scramble(Math.imul(a, 0x9e3779b1) + word);
        b = scramble(Math.imul(b ^ word, 0x85ebca77) + a);
      }
    }
    [this.#a, this.#b] = [a, b];
    for (let i = 0; i < 12; i++) this.uint32();
  }

  /** A whole number from 0 up to 2³² (exclusive). */
  uint32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A number from 0 up to 1 (exclusive). */
  next(): number {
    return this.uint32() / 0x1_0000_0000;
  }

  /** A whole number from 0 up to `n` (exclusive), each equally likely; `n` is at most 2³². */
  int(n: number): number {
    // Draw just enough bits and reject what is too large: no bias, and integer operations only.
    const shift = Math.clz32(n - 1);
    if (n <= 1) return 0;
    for (;;) {
      const draw = this.uint32() >>> shift;
      if (draw < n) return draw;
    }
  }

  /** A number from the standard normal distribution. */
  normal(): number {
    // 1 - u is never zero, so the logarithm is finite.
    const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
    return radius * Math.cos(2 * Math.PI * this.next());
  }
}

/** The numbers 0 … count-1 in random order, every order equally likely (Fisher-Yates). */
export function permutation(count: number, seed: number, epoch: number): Uint32Array {
  const order = new Uint32Array(count);
  const rng = new Rng(seed, epoch);
  // Inside out: filling and shuffling in one pass.
  for (let i = 0; i < count; i++) {
    const j = rng.int(i + 1);
    order[i] = order[j]!;
    order[j] = i;
  }
  return order;
}
