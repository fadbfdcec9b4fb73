// Rows for training: packed ones as arrays with positions and segments, or one sequence each, padded by its batch.
import type { TypedArray } from "../../../core/arrays.ts";
import type { HostBatch, Loader } from "../../../core/model.ts";
import { DataLoader } from "../../../data/data-loader.ts";
import type { Dataset } from "../../../data/indexed.ts";
import type { Sample } from "../../../data/source.ts";
import { IGNORED } from "./convert.ts";
import type { Sequence } from "./fit.ts";
import { packRows } from "./pack.ts";

/** Options of `loader`. */
export interface RowLoaderOptions {
  /** Rows in a batch. */
  readonly batchSize: number;
  /** A new order every epoch. Default true for training rows, false for validation. */
  readonly shuffle?: boolean;
  /** Leave out the last batch when it is not full. Default false. */
  readonly dropLast?: boolean;
  /** Replaces the trainer's seed. */
  readonly seed?: number;
}

/** Rows of tokens, of which a loader makes batches. */
export interface Rows {
  readonly count: number;
  /** Tokens with which rows could be filled: of unpacked ones, with the padding of their length. */
  readonly capacity: number;
  loader(options: RowLoaderOptions): Loader;
}

export interface RowSettings {
  readonly length: number;
  /** Fills the rest of a row; its labels do not count. */
  readonly padId: number;
}

/**
 * Several sequences in a row. `segments` numbers them, `positions` restarts with each: a model that attends within a
 * segment only sees each of them as if it were alone. Padding is a segment of its own.
 */
export function packedRows(sequences: readonly Sequence[], { length, padId }: RowSettings): Rows {
  const sizes = sequences.map(({ x }) => x.length);
  const packed = packRows(sizes, length);
  const count = packed.length;
  const size = count * length;
  // Half the memory where the numbers are small enough: engines compute with int32 all the same.
  const small = (): TypedArray => (length <= 0xffff ? new Uint16Array(size) : new Int32Array(size));
  const [x, y] = [new Int32Array(size).fill(padId), new Int32Array(size).fill(IGNORED)];
  const [positions, segments] = [small(), small()];
  for (const [row, members] of packed.entries()) {
    let at = row * length;
    const number = (from: number, to: number, segment: number): void => {
      for (let i = from; i < to; i++) [positions[i], segments[i]] = [i - from, segment];
    };
    for (const [segment, member] of members.entries()) {
      const sequence = sequences[member]!;
      x.set(sequence.x, at);
      y.set(sequence.y, at);
      number(at, at + sequence.x.length, segment);
      at += sequence.x.length;
    }
    number(at, (row + 1) * length, members.length);
  }
  const shape = [count, length];
  const fields: HostBatch = {
    x: { data: x, shape },
    y: { data: y, shape },
    positions: { data: positions, shape },
    segments: { data: segments, shape },
  };
  return { count, capacity: size, loader: (options) => new DataLoader(fields, options) };
}

/** Lengths that batches are padded to: powers of two from 64, so that few shapes are compiled, and the longest. */
export function paddedLengths(length: number): number[] {
  const lengths: number[] = [];
  for (let each = 64; each < length; each *= 2) lengths.push(each);
  return [...lengths, length];
}

/** A sequence in a row; a batch has sequences of similar length. */
export function paddedRows(sequences: readonly Sequence[], settings: RowSettings): Rows {
  return bucketed(
    sequences.map(({ x }) => x.length),
    { x: settings.padId, y: IGNORED },
    (i) => ({ x: sequences[i]!.x, y: sequences[i]!.y }),
    settings,
  );
}

/**
 * What is chosen (`x`, `y`) and what is rejected (`rejectedX`, `rejectedY`), padded to the same length; `row` is the number of
 * the pair, by which `dpo` finds what the reference says of it.
 */
export function pairRows(sequences: readonly Sequence[], settings: RowSettings): Rows {
  const pairs = sequences.flatMap((chosen, i) => (i % 2 === 0 ? [[chosen, sequences[i + 1]!] as const] : []));
  return bucketed(
    pairs.map(([chosen, rejected]) => Math.max(chosen.x.length, rejected.x.length)),
    { x: settings.padId, y: IGNORED, rejectedX: settings.padId, rejectedY: IGNORED },
    (i) => {
      const [chosen, rejected] = pairs[i]!;
      return { x: chosen.x, y: chosen.y, rejectedX: rejected.x, rejectedY: rejected.y, row: Int32Array.of(i) };
    },
    settings,
  );
}

function bucketed(
  sizes: readonly number[],
  pad: Readonly<Record<string, number>>,
  sample: (i: number) => Sample,
  { length }: RowSettings,
): Rows {
  const lengths = paddedLengths(length);
  const dataset: Dataset<Sample> = { length: sizes.length, get: sample };
  const capacity = sizes.reduce((sum, size) => sum + lengths.find((each) => size <= each)!, 0);
  const sequencesPerRow = pad.rejectedX === undefined ? 1 : 2;
  return {
    count: sizes.length,
    capacity: capacity * sequencesPerRow,
    loader: (options) => new DataLoader(dataset, { ...options, buckets: { by: sizes, lengths, pad } }),
  };
}
