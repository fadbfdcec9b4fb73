// The data of the starter project.

export const data = `// The data: three arms of a spiral. Which arm does a point of the plane lie on?
import { Rng } from "hookline/data";

export interface SpiralOptions {
  readonly points?: number;
  /** How far points stray from their arm. */
  readonly noise?: number;
  readonly seed?: number;
}

const ARMS = 3;

/** \`x\` goes into the model, \`y\` into the loss. Any typed arrays will do, and read from anywhere. */
export function spirals({ points = 1800, noise = 0.25, seed = 0 }: SpiralOptions = {}) {
  const rng = new Rng(seed);
  const x = new Float32Array(2 * points);
  const y = new Int32Array(points);
  for (let i = 0; i < points; i++) {
    const arm = i % ARMS;
    const radius = Math.sqrt(rng.next());
    const angle = (2 * Math.PI * arm) / ARMS + 4 * radius + noise * rng.normal();
    x[2 * i] = radius * Math.cos(angle) + (noise / 4) * rng.normal();
    x[2 * i + 1] = radius * Math.sin(angle) + (noise / 4) * rng.normal();
    y[i] = arm;
  }
  return { x: { data: x, shape: [points, 2] }, y };
}
`;
