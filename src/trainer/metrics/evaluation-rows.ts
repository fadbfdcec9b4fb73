// The rows that metrics such as ROC AUC keep until an evaluation ends, and their values: on the host, since an evaluation
// may have any number of rows, and in a process group from all ranks, in the order of the ranks.
import { type HostArray, sizeOf, type TypedArray } from "../../core/arrays.ts";
import { DataError } from "../../core/errors.ts";
import { all, chain } from "../../core/maybe.ts";
import type { HostTensors, MaybePromise, RowMetric } from "../../core/model.ts";
import { allocateLike } from "../../data/indexed.ts";
import type { Strategy } from "../../distributed/strategy.ts";
import type { Buffer, Engine } from "../../engines/engine.ts";
import { namedValues } from "./metric-kinds.ts";
import type { RowsLayout } from "./rows-layout.ts";

/** Numbers in one exchange with other ranks: some megabytes, as in a joint step. */
const BUCKET = 2 ** 18;

/** What one metric has kept. */
interface Kept {
  readonly name: string;
  readonly metric: RowMetric;
  rows: number;
  readonly batches: Readonly<Record<string, HostArray>>[];
}

export class EvaluationRows {
  readonly #engine: Engine;
  readonly #kept: readonly Kept[];

  constructor(engine: Engine, { metrics }: RowsLayout) {
    this.#engine = engine;
    this.#kept = metrics.map(([name, metric]) => ({ name, metric, rows: 0, batches: [] }));
  }

  reset(): void {
    for (const kept of this.#kept) {
      kept.rows = 0;
      kept.batches.length = 0;
    }
  }

  /** Takes over what a program returned for one batch; `counts`: the batch has any weight. */
  add(rows: Readonly<Record<string, Readonly<Record<string, Buffer>>>>, counts: boolean): MaybePromise<void> {
    return chain(all(this.#kept.map((kept) => this.#addTo(kept, rows[kept.name]!, counts))), () => undefined);
  }

  #addTo(kept: Kept, buffers: Readonly<Record<string, Buffer>>, counts: boolean): MaybePromise<void> {
    const entries = Object.entries(buffers);
    return chain(all(entries.map(([, buffer]) => this.#engine.read(buffer))), (values: TypedArray[]) => {
      const rows: Record<string, HostArray> = {};
      for (const [i, [key, buffer]] of entries.entries()) {
        // A copy: what an engine gives to read may be its own memory.
        rows[key] = { data: values[i]!.slice(), shape: [...buffer.shape] };
        this.#engine.free(buffer);
      }
      const batch = kept.metric.reduce?.(rows) ?? rows;
      // Even without rows that count, a rank must know their names and shapes to join the others.
      if (counts) kept.rows += Object.values(batch)[0]!.shape[0]!;
      checkRoom(kept, kept.rows);
      kept.batches.push(counts ? batch : withoutRows(batch));
    });
  }

  /** The values of all metrics. Each rank has its own rows; all get the values over all rows. */
  async compute(strategy: Strategy | undefined): Promise<Record<string, number>> {
    const values: Record<string, number> = {};
    for (const kept of this.#kept) {
      const own = joined(kept.batches);
      const rows = strategy ? await gatherRows(kept, own, strategy) : own;
      if (Object.keys(rows).length > 0) Object.assign(values, namedValues(kept.name, kept.metric.compute(rows)));
    }
    return values;
  }
}

function checkRoom({ name, metric }: Kept, rows: number): void {
  if (rows <= metric.maxRows) return;
  throw new DataError(
    `Metric \`${name}\` keeps every row of an evaluation in memory, at most ${metric.maxRows} of them (its \`maxRows\`), and this evaluation has more. Raise maxRows if there is memory for it, or evaluate fewer batches: limitBatches: { eval: … }.`,
  );
}

/** One array for each name from those of all batches. */
function joined(batches: readonly Readonly<Record<string, HostArray>>[]): HostTensors {
  const [first = {}] = batches;
  return Object.fromEntries(
    Object.entries(first).map(([key, { data, shape }]) => {
      const parts = batches.map((batch) => batch[key]!);
      const rows = parts.reduce((sum, part) => sum + part.shape[0]!, 0);
      const whole = allocateLike(data, rows * sizeOf(shape.slice(1)));
      let at = 0;
      for (const part of parts) {
        whole.set(part.data, at);
        at += part.data.length;
      }
      return [key, { data: whole, shape: [rows, ...shape.slice(1)] }];
    }),
  );
}

const withoutRows = (batch: Readonly<Record<string, HostArray>>): Record<string, HostArray> =>
  Object.fromEntries(
    Object.entries(batch).map(([key, { data, shape }]) => [
      key,
      { data: allocateLike(data, 0), shape: [0, ...shape.slice(1)] },
    ]),
  );

/** The rows of all ranks. Strategies add numbers, so each rank adds its rows to zeros in its place. */
async function gatherRows(kept: Kept, own: HostTensors, strategy: Strategy): Promise<HostTensors> {
  const { rank, size } = strategy;
  const counts = new Float64Array(size);
  counts[rank] = kept.rows;
  await strategy.allReduce(counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  checkRoom(kept, total);
  const before = counts.subarray(0, rank).reduce((sum, count) => sum + count, 0);
  const gathered: HostTensors = {};
  for (const [key, { data, shape }] of Object.entries(own)) {
    const width = sizeOf(shape.slice(1));
    const whole = allocateLike(data, total * width);
    whole.set(data, before * width);
    for (let at = 0; at < whole.length; at += BUCKET) {
      // Float64 keeps every float32 and int32.
      const bucket = Float64Array.from(whole.subarray(at, at + BUCKET));
      await strategy.allReduce(bucket);
      whole.set(bucket, at);
    }
    gathered[key] = { data: whole, shape: [total, ...shape.slice(1)] };
  }
  return gathered;
}
