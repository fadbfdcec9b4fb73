// What all layers of one forward pass share: which token sees which, and where each is in its text.
import { numpy as np } from "@jax-js/jax";
import { ProgramError } from "../../core/errors.ts";
import type { Tensor, TensorBatch } from "../../core/model.ts";
import { both, showShape } from "../../nn/layer.ts";
import type { Architecture, Rope } from "../config/architecture.ts";
import type { DecodeCache } from "./key-values.ts";
import { ropeTables, type RopeTables } from "./rope-tables.ts";

export interface Pass {
  /** [batch or 1, time] int32; undefined: 0, 1, 2, … */
  readonly positions: Tensor | undefined;
  /** Which keys each query sees: [time, keys], or [batch, 1, time, keys]. */
  visible(window: number | undefined): Tensor;
  /** The tables for a layer that turns queries and keys. */
  rope(rope: Rope): RopeTables;
  /** What is used no longer. */
  dispose(): void;
}

/** Checks what goes into the model. */
function checkInputs(inputs: TensorBatch, { contextLength }: Architecture): readonly [number, number] {
  const { ids } = inputs;
  if (!ids || ids.ndim !== 2)
    throw new ProgramError(
      `The language model expects { ids } of shape [batch, time], got ${ids ? showShape(ids) : `{ ${Object.keys(inputs).join(", ")} }`}.`,
    );
  const [batch, time] = ids.shape as [number, number];
  if (time > contextLength)
    throw new ProgramError(`A row has ${time} tokens, but the model reads at most ${contextLength} (its context).`);
  for (const name of ["positions", "segments"]) {
    const given = inputs[name];
    if (given && given.shape.join() !== `${batch},${time}`)
      throw new ProgramError(`\`${name}\` has shape ${showShape(given)}, but ids have ${showShape(ids)}.`);
  }
  return [batch, time];
}

/** Whole rows: a token sees those before it, of its own segment. Keeps the inputs. */
export function rowPass(architecture: Architecture, inputs: TensorBatch): Pass {
  const [batch, time] = checkInputs(inputs, architecture);
  const { positions, segments } = inputs;
  return {
    ...sharedTables(architecture, time, positions),
    visible(window) {
      const place = np.arange(time);
      const seen = within(place.ref.reshape([time, 1]), place.reshape([1, time]), window);
      if (!segments) return seen;
      const same = segments.ref.reshape([batch, 1, time, 1]).equal(segments.ref.reshape([batch, 1, 1, time]));
      return both(seen.reshape([1, 1, time, time]), same);
    },
  };
}

/** Rows that continue what is in a cache. Keeps its arrays. */
export function cachedPass(architecture: Architecture, ids: Tensor, cache: DecodeCache): Pass {
  const [batch, time] = checkInputs({ ids }, architecture);
  const capacity = cache.keyValues[0]!.k.shape[2]!;
  const ahead = np.arange(time).astype(np.int32).reshape([1, time]);
  // Padding may reach beyond the last slot.
  const positions = np.minimum(cache.starts.ref.reshape([batch, 1]).add(ahead), capacity - 1);
  const tables = sharedTables(architecture, capacity, positions);
  return {
    ...tables,
    visible(window) {
      const keys = np.arange(capacity).astype(np.int32).reshape([1, 1, 1, capacity]);
      return within(positions.ref.reshape([batch, 1, time, 1]), keys, window);
    },
    dispose() {
      tables.dispose();
      positions.dispose();
    },
  };
}

/** Is a key not after the query, and less than `window` before it? Consumes both. */
function within(query: Tensor, key: Tensor, window: number | undefined): Tensor {
  if (window === undefined) return query.greaterEqual(key);
  const seen = query.ref.greaterEqual(key.ref);
  return both(seen, query.sub(window).less(key));
}

/** Tables are made once for each kind of layer. */
function sharedTables({ headDim }: Architecture, count: number, positions: Tensor | undefined) {
  const made = new Map<Rope, RopeTables>();
  return {
    positions,
    rope(rope: Rope): RopeTables {
      const tables = made.get(rope) ?? ropeTables(rope, headDim, count, positions);
      made.set(rope, tables);
      return tables;
    },
    dispose() {
      for (const { cos, sin } of made.values()) [cos, sin].forEach((table) => table.dispose());
    },
  };
}
