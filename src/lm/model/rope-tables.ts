// Cosines and sines of rotary positions. They are computed on the host: WebGPU's own sine is only exact to 2⁻¹¹.
import { numpy as np } from "@jax-js/jax";
import type { Tensor } from "../../core/model.ts";
import type { Rope } from "../config/architecture.ts";
import { ropeFrequencies } from "../config/rope.ts";

/** Cosines and sines that fit arrays [batch, heads, time, half of a head]. */
export interface RopeTables {
  readonly cos: Tensor;
  readonly sin: Tensor;
}

/** The tables for positions 0 to `count − 1`, or for the given positions [batch, time] below `count`. Keeps `positions`. */
export function ropeTables(rope: Rope, headDim: number, count: number, positions?: Tensor): RopeTables {
  const frequencies = ropeFrequencies(rope, headDim);
  const half = frequencies.length;
  const table = (fn: (radians: number) => number): Tensor => {
    const angle = (i: number): number => Math.fround(Math.floor(i / half) * frequencies[i % half]!);
    const all = np.array(
      Float32Array.from({ length: count * half }, (_, i) => fn(angle(i))),
      { shape: [count, half] },
    );
    if (!positions) return all.reshape([1, 1, count, half]);
    const [batch, time] = positions.shape as [number, number];
    return np.take(all, positions.ref.reshape([batch * time]), 0).reshape([batch, 1, time, half]);
  };
  return { cos: table(Math.cos), sin: table(Math.sin) };
}

/** Turns pairs of features, of which one is in each half of a head. Keeps the tables. */
export function rotated(x: Tensor, { cos, sin }: RopeTables): Tensor {
  const [a, b] = np.split(x, 2, -1) as [Tensor, Tensor];
  const first = a.ref.mul(cos.ref).sub(b.ref.mul(sin.ref));
  return np.concatenate([first, b.mul(cos.ref).add(a.mul(sin.ref))], -1);
}
