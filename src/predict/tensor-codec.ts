// Rows of a model without a preprocessor: each input is a number, nested numbers, a typed array or `{ data, shape }`.
import {
  type DType,
  type HostArray,
  isHostArray,
  isTypedArray,
  sizeOf,
  toHostArray,
  type TypedArray,
} from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import type { HostBatch, HostTensors } from "../core/model.ts";
import { didYouMean } from "../core/names.ts";
import { show } from "../core/options.ts";
import { Table } from "../data/table/table.ts";
import type { Codec, ColumnRows } from "./codec.ts";
import { InputError } from "./input-error.ts";
import type {
  InputColumns,
  PredictedValue,
  Prediction,
  PredictionColumns,
  PredictSignature,
  TensorSpec,
} from "./types.ts";

/** Deeper nesting than any model's input: it limits the recursion over what a client sends. */
const DEEPEST = 8;

type Inputs = Readonly<Record<string, TensorSpec>>;

export class TensorCodec implements Codec<HostTensors> {
  readonly signature: PredictSignature;
  readonly #inputs: Inputs | undefined;

  /** `inputs` is undefined for a model given by code whose run does not state its inputs. */
  constructor(inputs: Inputs | undefined, outputs: Inputs | undefined) {
    this.#inputs = inputs;
    this.signature = { inputs, outputs };
  }

  check(row: unknown, position: number): HostTensors {
    if (typeof row !== "object" || row === null || Array.isArray(row))
      throw new InputError(position, undefined, `expected an object of inputs by name, got ${show(row)}.`);
    const given = row as Readonly<Record<string, unknown>>;
    const names = this.#inputs ? Object.keys(this.#inputs) : Object.keys(given);
    if (names.length === 0) throw new InputError(position, undefined, "it has no inputs.");
    return Object.fromEntries(
      names.map((name) => {
        if (!Object.hasOwn(given, name))
          throw new InputError(position, name, `it is missing.${didYouMean(name, Object.keys(given))}`);
        const spec = this.#inputs?.[name];
        return [name, toRow(given[name], spec, (problem) => new InputError(position, name, problem))];
      }),
    );
  }

  batch(rows: readonly HostTensors[]): HostBatch {
    return Object.fromEntries(
      Object.entries(rows[0]!).map(([name, { data: first, shape, dtype }]) => {
        const data = new (first.constructor as new (length: number) => TypedArray)(rows.length * first.length);
        for (const [i, row] of rows.entries()) {
          const array = row[name];
          if (array?.shape.join() !== shape.join())
            throw new InputError(i, name, `expected shape [${shape.join(", ")}] as in the row before.`);
          data.set(array.data, i * first.length);
        }
        return [name, { data, shape: [rows.length, ...shape], ...(dtype && { dtype }) }];
      }),
    );
  }

  columns(columns: InputColumns | Table): ColumnRows {
    if (columns instanceof Table)
      throw new DataError(
        "predict.columns: this model has no preprocessor, so it takes its own inputs and not a table.",
      );
    const names = Object.keys(this.#inputs ?? columns);
    const arrays = names.map((name) => {
      if (!Object.hasOwn(columns, name))
        throw new DataError(`predict.columns: input \`${name}\` is missing.${didYouMean(name, Object.keys(columns))}`);
      return [name, toColumn(columns[name]!, this.#inputs?.[name], `predict.columns: input \`${name}\``)] as const;
    });
    const rows = arrays[0]?.[1].shape[0] ?? 0;
    const other = arrays.find(([, { shape }]) => shape[0] !== rows);
    if (other)
      throw new DataError(
        `predict.columns: input \`${other[0]}\` has ${other[1].shape[0]} rows, and \`${arrays[0]![0]}\` has ${rows}.`,
      );
    return {
      rows,
      batch: (from, to) => Object.fromEntries(arrays.map(([name, array]) => [name, rowsOf(array, from, to)])),
    };
  }

  example(rows: number): HostBatch | undefined {
    if (!this.#inputs) return undefined;
    return Object.fromEntries(
      Object.entries(this.#inputs).map(([name, { shape, dtype }]) => {
        const whole = [rows, ...shape.slice(1).map((size) => size ?? 1)];
        return [name, { data: zeros(dtype, sizeOf(whole)), shape: whole, ...boolean(dtype) }];
      }),
    );
  }

  predictions(outputs: HostTensors, rows: number): Prediction[] {
    const named = Object.entries(outputs);
    return Array.from({ length: rows }, (_, row) =>
      Object.fromEntries(named.map(([name, array]) => [name, outputOf(array, row)])),
    );
  }

  predictionColumns(outputs: HostTensors): PredictionColumns {
    return outputs;
  }
}

const boolean = (dtype: string): { dtype?: DType } => (dtype === "bool" ? { dtype: "bool" } : {});

function zeros(dtype: string, length: number): TypedArray {
  if (dtype === "int32") return new Int32Array(length);
  if (dtype === "uint32") return new Uint32Array(length);
  return dtype === "bool" ? new Uint8Array(length) : new Float32Array(length);
}

/** One input of one row. Without a spec its own shape counts, and plain numbers are floats. */
function toRow(value: unknown, spec: TensorSpec | undefined, problem: (text: string) => InputError): HostArray {
  const shape = spec?.shape.slice(1) ?? shapeOf(value);
  const fits = (own: readonly number[]): boolean =>
    own.length === shape.length && shape.every((size, i) => size === null || size === own[i]);
  const wrong = (): InputError =>
    problem(
      `expected ${shape.length === 0 ? "a number" : `numbers of shape [${shape.join(", ")}]`}, got ${show(value)}.`,
    );
  const own = shapeOf(value);
  if (!fits(own)) throw wrong();
  if (isTypedArray(value)) return { data: value, shape: own };
  if (isHostArray(value)) {
    if (sizeOf(own) !== value.data.length) throw wrong();
    return value;
  }
  const data = zeros(spec?.dtype ?? "float32", sizeOf(own));
  if (!fill(data, 0, value, own)) throw wrong();
  return { data, shape: own, ...boolean(spec?.dtype ?? "") };
}

/** The shape that nested numbers seem to have, by their first entries. */
function shapeOf(value: unknown): number[] {
  if (isTypedArray(value)) return [value.length];
  if (isHostArray(value)) return [...value.shape];
  const shape: number[] = [];
  for (let inner = value; Array.isArray(inner) && shape.length < DEEPEST; inner = inner[0]) shape.push(inner.length);
  return shape;
}

/** Copies nested numbers; false if they have another shape, or something else among them. */
function fill(data: TypedArray, at: number, value: unknown, [size, ...rest]: readonly number[]): boolean {
  if (size === undefined) {
    if (typeof value !== "number" && typeof value !== "boolean") return false;
    data[at] = Number(value);
    return Number.isFinite(data[at]);
  }
  if (!Array.isArray(value) || value.length !== size) return false;
  const step = sizeOf(rest);
  return value.every((inner, i) => fill(data, at + i * step, inner, rest));
}

function toColumn(value: InputColumns[string], spec: TensorSpec | undefined, what: string): HostArray {
  if (isTypedArray(value) || isHostArray(value)) {
    const array = toHostArray(value, what);
    const fits =
      !spec ||
      (array.shape.length === spec.shape.length &&
        spec.shape.every((size, i) => size === null || i === 0 || size === array.shape[i]));
    if (fits && array.shape.length > 0) return array;
    throw new DataError(
      `${what} has shape [${array.shape.join(", ")}]; expected [rows, ${spec?.shape.slice(1).join(", ") ?? "…"}].`,
    );
  }
  return toRow(
    value,
    spec && { ...spec, shape: [null, null, ...spec.shape.slice(1)] },
    (text) => new InputError(0, undefined, text),
  );
}

function rowsOf({ data, shape, dtype }: HostArray, from: number, to: number): HostArray {
  const width = sizeOf(shape.slice(1));
  return {
    data: data.subarray(from * width, to * width),
    shape: [to - from, ...shape.slice(1)],
    ...(dtype && { dtype }),
  };
}

/** A number, a vector, or an array of more dimensions. Vectors are copies: a row must not keep its whole batch alive. */
function outputOf({ data, shape }: HostArray, row: number): PredictedValue {
  const rest = shape.slice(1);
  if (rest.length === 0) return data[row]!;
  const width = sizeOf(rest);
  const own = data.slice(row * width, (row + 1) * width);
  return rest.length === 1 ? own : { data: own, shape: rest };
}
