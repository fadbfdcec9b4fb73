// Batches on their way to the device: checked, counted by shape, uploaded.
import { isHostArray, toHostArray } from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import type { HostBatch } from "../core/model.ts";
import type { Engine } from "../engines/engine.ts";
import type { Buffers } from "./device-state.ts";

/** Each new shape costs a compilation; more than this many is probably a mistake. */
const MANY_SHAPES = 8;

export const describeBatch = (batch: HostBatch): string =>
  `{ ${Object.entries(batch)
    .map(([name, array]) => `${name}: [${isHostArray(array) ? array.shape.join(", ") : typeof array}]`)
    .join(", ")} }`;

export class BatchInput {
  readonly #engine: Engine;
  readonly #warn: (message: string) => void;
  readonly #shapes = new Map<string, Set<string>>();

  constructor(engine: Engine, warn: (message: string) => void) {
    this.#engine = engine;
    this.#warn = warn;
  }

  put(batch: HostBatch, loader: string): Buffers {
    const names = Object.keys(batch);
    if (names.length === 0)
      throw new DataError(
        `Loader \`${loader}\` gave an empty batch. A batch is an object of arrays, such as { x, y }.`,
      );
    const arrays = names.map((name) => toHostArray(batch[name]!, `Loader \`${loader}\`, batch field \`${name}\``));
    this.#watchShapes(batch, loader, arrays.map((array) => array.shape.join("x")).join());
    return Object.fromEntries(names.map((name, i) => [name, this.#engine.put(arrays[i]!)]));
  }

  #watchShapes(batch: HostBatch, loader: string, shape: string): void {
    let seen = this.#shapes.get(loader);
    if (!seen) this.#shapes.set(loader, (seen = new Set()));
    if (seen.has(shape)) return;
    seen.add(shape);
    if (seen.size !== MANY_SHAPES + 1) return;
    this.#warn(
      `Loader \`${loader}\` has given batches of ${seen.size} different shapes, the last ${describeBatch(batch)}. Each is compiled anew; pad or bucket them to a few shapes.`,
    );
  }
}
