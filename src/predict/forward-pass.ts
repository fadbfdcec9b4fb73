// The forward pass of a model on an engine: compiled once for each batch size, with every buffer freed after the call.
import { type HostArray, isHostArray, sizeOf } from "../core/arrays.ts";
import { HooklineError, ProgramError } from "../core/errors.ts";
import { messageOf } from "../core/maybe.ts";
import {
  isTensor,
  type HostBatch,
  type HostTensors,
  type MaybePromise,
  type Model,
  type Outputs,
  type Tensor,
  type TensorBatch,
  type Tensors,
} from "../core/model.ts";
import { type Buffer, type Engine, freeAll, readBuffer } from "../engines/engine.ts";
import { expectation, firstOutside, type PlacedRange, visitIndices } from "../nn/indices.ts";
import { keyStream, stepKey } from "../nn/key.ts";
import { layerOf } from "../nn/tap.ts";
import { padBatch } from "./batch-sizes.ts";
import { InputError } from "./input-error.ts";

/** What a model computes from: a batch's fields are its inputs unless a function chooses. */
export type ModelInputs = (batch: TensorBatch) => Tensor | TensorBatch;

/** A model with its weights, as it was saved. */
export interface TrainedModel {
  readonly model: Model<never>;
  readonly params: HostTensors;
  /** Buffers, such as the statistics of batch normalization. */
  readonly state: HostTensors;
  readonly inputs: ModelInputs;
}

type Buffers = Readonly<Record<string, Buffer>>;
type Program = (params: Buffers, state: Buffers, batch: Buffers, key: Buffer) => MaybePromise<Buffers>;

/** The name of the output of a model that returns one array. */
export const ONLY_OUTPUT = "output";

export class ForwardPass {
  readonly #engine: Engine;
  readonly #sizes: readonly number[];
  readonly #program: Program;
  readonly #params: Buffers;
  readonly #state: Buffers;
  readonly #key: Buffer;
  /** The ranges of ids, by field, learned when the program is traced. */
  readonly #ids = new Map<string, PlacedRange>();
  /** The batch that is computed now. */
  #batch: HostBatch = {};
  #last: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, trained: TrainedModel, sizes: readonly number[]) {
    this.#engine = engine;
    this.#sizes = sizes;
    this.#params = this.#putAll(trained.params);
    this.#state = this.#putAll(trained.state);
    // A model may ask for random numbers even if it is not trained: always the same ones.
    this.#key = engine.put({ data: stepKey(0, 0, 0), shape: [2] });
    this.#program = engine.jit((params: Tensors, state: Tensors, batch: TensorBatch, key: Tensor) =>
      this.#trace(trained, params, state, batch, key),
    );
  }

  /** The outputs by name, for `rows` rows. Calls run one after the other. */
  run(batch: HostBatch, rows: number): Promise<HostTensors> {
    const next = this.#last.then(() => this.#runNow(batch, rows));
    this.#last = next.catch(() => undefined);
    return next;
  }

  async close(): Promise<void> {
    await this.#last;
    freeAll(this.#engine, [this.#params, this.#state, this.#key]);
    await this.#engine.close();
  }

  async #runNow(batch: HostBatch, rows: number): Promise<HostTensors> {
    this.#batch = batch;
    for (const [field, range] of this.#ids) this.#checkIds(field, range);
    const fields = this.#putAll(padBatch(batch, rows, this.#sizes));
    let outputs: Readonly<Record<string, Buffer>> = {};
    try {
      outputs = await this.#program(this.#params, this.#state, fields, this.#key);
      const read: [string, HostArray][] = [];
      const size = Object.values(fields)[0]!.shape[0]!;
      for (const [name, buffer] of Object.entries(outputs))
        read.push([name, withoutPadding(name, await readBuffer(this.#engine, buffer), rows, size)]);
      return Object.fromEntries(read);
    } catch (error) {
      throw explained(error, batch);
    } finally {
      freeAll(this.#engine, [fields, outputs]);
    }
  }

  #trace({ model, inputs }: TrainedModel, params: Tensors, state: Tensors, batch: TensorBatch, key: Tensor): Tensors {
    const learn = (x: Tensor, range: PlacedRange): void => {
      const field = Object.keys(batch).find((name) => batch[name] === x);
      if (field === undefined) return;
      this.#ids.set(field, range);
      this.#checkIds(field, range);
    };
    return visitIndices(learn, () => {
      const held = Object.fromEntries(Object.entries(batch).map(([name, tensor]) => [name, tensor.ref]));
      const ctx = { train: false, key: keyStream(key), state, loader: "predict" };
      const result = model.apply(params, inputs(held) as never, ctx);
      const outputs = (model.initState ? (result as [Outputs, Tensors])[0] : result) as Outputs;
      return isTensor(outputs) ? { [ONLY_OUTPUT]: outputs } : outputs;
    });
  }

  #checkIds(field: string, range: PlacedRange): void {
    const { data, shape } = this.#batch[field]!;
    const at = firstOutside(range, data);
    if (at === undefined) return;
    const row = Math.floor((at * shape[0]!) / data.length);
    throw new InputError(row, field, `${range.what} ${data[at]} ${expectation(range)}.`);
  }

  #putAll(tensors: HostTensors): Buffers {
    return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, this.#engine.put(tensor)]));
  }
}

function withoutPadding(name: string, { data, shape }: HostArray, rows: number, size: number): HostArray {
  if (shape[0] !== size)
    throw new ProgramError(
      `The model's output \`${name}\` has shape [${shape.join(", ")}] for a batch of ${size}: its first dimension must be the rows.`,
    );
  const rest = shape.slice(1);
  return { data: data.subarray(0, rows * sizeOf(rest)), shape: [rows, ...rest] };
}

function explained(error: unknown, batch: HostBatch): Error {
  if (error instanceof HooklineError && !(error instanceof ProgramError)) return error;
  const fields = Object.entries(batch).map(
    ([name, array]) => `${name}: [${isHostArray(array) ? array.shape.join(", ") : "?"}]`,
  );
  const layer = layerOf(error);
  const where = layer === undefined ? "" : `, in layer \`${layer}\``;
  return new ProgramError(`The model failed on { ${fields.join(", ")} }${where}: ${messageOf(error)}`, {
    cause: error,
  });
}
