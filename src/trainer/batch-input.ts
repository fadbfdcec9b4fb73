// Batches on their way to the device: counted by shape, uploaded.
import { isHostArray, type HostArray } from "../core/arrays.ts";
import type { HostBatch } from "../core/model.ts";
import type { Buffer, Engine } from "../engines/engine.ts";
import type { Buffers } from "./device-state.ts";

/** Each new shape costs a compilation; more than this many is probably a mistake. */
const MANY_SHAPES = 8;

export const describeBatch = (batch: HostBatch): string =>
  `{ ${Object.entries(batch)
    .map(([name, array]) => `${name}: [${isHostArray(array) ? array.shape.join(", ") : typeof array}]`)
    .join(", ")} }`;

function sameShapes(shapes: readonly (readonly number[])[], arrays: readonly HostArray[]): boolean {
  if (shapes.length !== arrays.length) return false;
  for (let i = 0; i < arrays.length; i++) {
    const [known, { shape }] = [shapes[i]!, arrays[i]!];
    if (known.length !== shape.length) return false;
    for (let d = 0; d < shape.length; d++) if (known[d] !== shape[d]) return false;
  }
  return true;
}

export class BatchInput {
  readonly #engine: Engine;
  readonly #warn: (message: string) => void;
  /** By loader: all shapes so far, each as one word, and those of the last batch. */
  readonly #shapes = new Map<string, Set<string>>();
  readonly #last = new Map<string, readonly (readonly number[])[]>();

  constructor(engine: Engine, warn: (message: string) => void) {
    this.#engine = engine;
    this.#warn = warn;
  }

  put(batch: HostBatch, loader: string): Buffers {
    const names = Object.keys(batch);
    const arrays = Object.values(batch);
    // Nearly every batch has the shape of the one before: only another one is worth a look.
    const last = this.#last.get(loader);
    if (last === undefined || !sameShapes(last, arrays)) this.#watchShapes(batch, loader, arrays);
    const buffers: Record<string, Buffer> = {};
    for (let i = 0; i < names.length; i++) buffers[names[i]!] = this.#engine.put(arrays[i]!);
    return buffers;
  }

  #watchShapes(batch: HostBatch, loader: string, arrays: readonly HostArray[]): void {
    this.#last.set(
      loader,
      arrays.map(({ shape }) => [...shape]),
    );
    let seen = this.#shapes.get(loader);
    if (!seen) this.#shapes.set(loader, (seen = new Set()));
    const shape = arrays.map((array) => array.shape.join("x")).join();
    if (seen.has(shape)) return;
    seen.add(shape);
    if (seen.size !== MANY_SHAPES + 1) return;
    this.#warn(
      `Loader \`${loader}\` has given batches of ${seen.size} different shapes, the last ${describeBatch(batch)}. Each is compiled anew; pad or bucket them to a few shapes.`,
    );
  }
}
