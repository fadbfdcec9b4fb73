// Two spirals that wind around each other, and a network to tell them apart.
import { Rng } from "hookline/data";
import { linear, sequential, tanh } from "hookline/nn";

/** Points on the two spirals, a little off them. */
export function spirals({ points }: { readonly points: number }) {
  const rng = new Rng(0);
  const x = new Float32Array(2 * points);
  const y = new Int32Array(points);
  for (let i = 0; i < points; i++) {
    const radius = rng.next();
    const angle = 7 * radius + (i % 2) * Math.PI;
    x[2 * i] = radius * Math.cos(angle) + 0.03 * (rng.next() - 0.5);
    x[2 * i + 1] = radius * Math.sin(angle) + 0.03 * (rng.next() - 0.5);
    y[i] = i % 2;
  }
  return { x: { data: x, shape: [points, 2] }, y };
}

/** So many hidden layers of the same width. */
export function network({ width, layers }: { readonly width: number; readonly layers: number }) {
  const hidden = Array.from({ length: layers }, (_, i) => [linear(i === 0 ? 2 : width, width), tanh()]).flat();
  return sequential(...hidden, linear(width, 2));
}
