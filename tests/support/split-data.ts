// Data whose rows know their number, to see where a split puts each of them.
import type { SplitData } from "hookline/experiment";
import { Rng } from "hookline/data";
import { expect } from "vitest";

export type Numbered = ReturnType<typeof numbered>;

/** Fields of several types and shapes; `x` holds each row's number twice over, so that a torn row would show. */
export function numbered(count: number, seed = 0) {
  const rng = new Rng(seed, 99);
  const id = Int32Array.from({ length: count }, (_, i) => i);
  return {
    id,
    x: { data: Float32Array.from({ length: 2 * count }, (_, i) => Math.floor(i / 2)), shape: [count, 2] },
    y: Uint8Array.from({ length: count }, () => rng.int(3)),
    flag: { data: Uint8Array.from({ length: count }, (_, i) => i % 2), shape: [count], dtype: "bool" as const },
    user: Int32Array.from({ length: count }, () => rng.int(Math.max(1, Math.floor(count / 4)))),
    time: Float64Array.from({ length: count }, () => rng.int(Math.max(1, count))),
  };
}

export const idsOf = (part: Numbered | undefined): number[] => (part ? [...part.id] : []);

/** Every row is in exactly one part, whole, and the arrays are of the kind they were. */
export function expectWhole(data: Numbered, { main }: SplitData<Numbered>): void {
  const parts = [main.train, main.val, main.test].filter((part) => part !== undefined);
  expect(parts.flatMap(idsOf).sort((a, b) => a - b)).toEqual([...data.id]);
  for (const part of parts) {
    expect(Object.keys(part)).toEqual(Object.keys(data));
    const ids = idsOf(part);
    expect([...part.x.data]).toEqual(ids.flatMap((id) => [id, id]));
    expect(part.x.shape).toEqual([ids.length, 2]);
    expect([...part.y]).toEqual(ids.map((id) => data.y[id]));
    expect([part.y.constructor, part.time.constructor, part.flag.dtype]).toEqual([Uint8Array, Float64Array, "bool"]);
  }
}
