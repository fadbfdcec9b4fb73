// A predictor: rows in, predictions out, with one queue, one codec and one forward pass behind the call.
import { HooklineError } from "../core/errors.ts";
import type { HostTensors } from "../core/model.ts";
import type { Engine } from "../engines/engine.ts";
import type { Table } from "../data/table/table.ts";
import { BatchQueue } from "./batch-queue.ts";
import type { Codec } from "./codec.ts";
import { ForwardPass, type TrainedModel } from "./forward-pass.ts";
import { InputError } from "./input-error.ts";
import { joinColumns } from "./join-columns.ts";
import type {
  InputColumns,
  InputRow,
  PredictCallOptions,
  Prediction,
  PredictionColumns,
  Predictor,
  PredictorStats,
} from "./types.ts";

/** What a predictor is made of. */
export interface PredictorParts<Row> {
  readonly trained: TrainedModel;
  readonly codec: Codec<Row>;
  readonly engine: Engine;
  /** Whether `close` closes the engine: not one that the user gave. */
  readonly ownsEngine: boolean;
  /** Ascending. */
  readonly batchSizes: readonly number[];
  readonly deadline: number;
  readonly source: string;
  readonly metrics: Readonly<Record<string, number>>;
}

/** The rows of a call in pieces of at most `size`, each from its first row to behind its last. */
const pieces = (rows: number, size: number): [number, number][] =>
  Array.from({ length: Math.ceil(rows / size) }, (_, i) => [i * size, Math.min(rows, (i + 1) * size)]);

export function makePredictor<Row>(parts: PredictorParts<Row>): Predictor {
  const { codec, engine, batchSizes, source, metrics } = parts;
  const forward = new ForwardPass(engine, parts.trained, batchSizes);
  const maxRows = batchSizes.at(-1)!;
  let [computed, columnBatches] = [0, 0];
  let closing: Promise<void> | undefined;

  const compute = async (batch: ReturnType<Codec<Row>["batch"]>, rows: number): Promise<HostTensors> => {
    const outputs = await forward.run(batch, rows);
    checkFinite(outputs);
    computed += rows;
    return outputs;
  };
  const queue = new BatchQueue<Row, Prediction>(
    async (rows) => codec.predictions(await compute(codec.batch(rows), rows.length), rows.length),
    { maxRows, deadline: parts.deadline },
  );
  const mustBeOpen = (): void => {
    if (closing) throw new HooklineError(`The predictor of ${source} is closed.`);
  };

  async function predictRows(given: readonly unknown[], { signal }: PredictCallOptions): Promise<Prediction[]> {
    const rows = given.map((row, i) => codec.check(row, i));
    const parts = await Promise.all(
      pieces(rows.length, maxRows).map(([from, to]) =>
        queue.add(rows.length <= maxRows ? rows : rows.slice(from, to), signal).catch((error: unknown) => {
          throw error instanceof InputError ? error.shifted(from) : error;
        }),
      ),
    );
    return parts.length === 1 ? parts[0]! : parts.flat();
  }

  async function predict(given: InputRow | readonly InputRow[], options: PredictCallOptions = {}): Promise<unknown> {
    mustBeOpen();
    return Array.isArray(given) ? predictRows(given, options) : (await predictRows([given], options))[0];
  }

  async function columns(given: InputColumns | Table, { signal }: PredictCallOptions = {}): Promise<PredictionColumns> {
    mustBeOpen();
    const table = codec.columns(given);
    const parts: PredictionColumns[] = [];
    for (const [from, to] of pieces(table.rows, maxRows)) {
      signal?.throwIfAborted();
      const outputs = await compute(table.batch(from, to), to - from).catch((error: unknown) => {
        throw error instanceof InputError ? error.shifted(from) : error;
      });
      columnBatches++;
      parts.push(codec.predictionColumns(outputs));
    }
    return joinColumns(parts);
  }

  async function warmUp(): Promise<void> {
    mustBeOpen();
    for (const size of batchSizes) {
      const example = codec.example(size);
      if (!example)
        throw new HooklineError(
          `predict.warmUp: ${source} does not say which inputs its model takes, so that there is nothing to compile for. Call the predictor once instead.`,
        );
      await forward.run(example, size);
    }
  }

  const close = (): Promise<void> =>
    (closing ??= (async () => {
      await queue.drained();
      await forward.close();
      if (parts.ownsEngine) await engine.close();
    })());

  const flush = (): Promise<void> => queue.drained();
  const rest = {
    columns,
    warmUp,
    flush,
    close,
    [Symbol.asyncDispose]: close,
    signature: codec.signature,
    metrics,
    source,
  };
  const stats = (): PredictorStats => ({
    rows: computed,
    batches: queue.batches + columnBatches,
    pending: queue.pending,
  });
  Object.defineProperty(predict, "stats", { get: stats, enumerable: true });
  return Object.assign(predict, { ...rest, engine: engine.name }) as unknown as Predictor;
}

/** A number that is none would become a wrong label without a word. */
function checkFinite(outputs: HostTensors): void {
  for (const [name, { data, shape }] of Object.entries(outputs)) {
    const at = data.findIndex((value) => !Number.isFinite(value));
    if (at >= 0)
      throw new InputError(
        Math.floor((at * shape[0]!) / data.length),
        undefined,
        `the model's output \`${name}\` is ${data[at]}, not a finite number. A number in the row is too large, or the model's weights are damaged.`,
      );
  }
}
