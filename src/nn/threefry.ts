// Threefry-2x32 with 20 rounds, the generator that JAX uses: a key and a counter in, two well-mixed words out.

/** By how many bits each round turns a word. */
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
