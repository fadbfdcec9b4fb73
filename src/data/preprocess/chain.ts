// The transforms of one column, one after the other: fitted on the training data, applied to blocks of rows.
import { DataError } from "../../core/errors.ts";
import type { Json } from "../../core/options.ts";
import type { Column, ColumnType } from "../table/column.ts";
import type { Table } from "../table/table.ts";
import { firstMissing, numbersOf } from "./numbers.ts";
import { CellError, NUMERIC, type Step, type Transform } from "./transform.ts";

interface Link {
  readonly transform: Transform;
  readonly state: Json;
  readonly step: Step;
}

/** A fitted chain as plain data. */
export interface ChainJson {
  readonly column: string;
  readonly type: ColumnType;
  readonly steps: readonly { readonly use: string; readonly options: Json; readonly state: Json }[];
}

/** Where the chain writes: its features in `x`, and fields of its own by name. */
export interface Destination {
  readonly out: Float32Array | Int32Array;
  /** The first feature of the chain in the first of the rows. */
  readonly at: number;
  /** From a row to the next. */
  readonly stride: number;
}

const TYPE_NAMES: Readonly<Record<ColumnType, string>> = {
  number: "numbers",
  boolean: "booleans",
  date: "dates",
  string: "text",
};

export class Chain {
  readonly column: string;
  readonly type: ColumnType;
  readonly #links: readonly Link[];
  /** The names of its features in `x`, in their order. */
  readonly features: readonly string[];
  /** Fields of its own, with the number of values in each row. */
  readonly fields: readonly { readonly name: string; readonly width: number }[];
  /** Whether the last transform leaves a number, which is a feature. */
  readonly #endsInNumber: boolean;

  /** @throws DataError when the transforms do not fit each other or the type */
  constructor(column: string, type: ColumnType, links: readonly Link[]) {
    this.column = column;
    this.type = type;
    this.#links = links;
    const last = links.at(-1)!;
    this.#endsInNumber = last.step.map !== undefined;
    if (this.#endsInNumber && !NUMERIC.includes(last.step.gives!)) {
      throw new DataError(
        `\`${column}\` is still text after \`${last.transform.use}\`. Add a transform that makes numbers of it, such as oneHot: [${last.transform.use}, oneHot].`,
      );
    }
    const inX = links.flatMap(({ step }) => (step.field === undefined ? step.features : []));
    // The value comes before the indicators that the transforms on the way have added.
    this.features = [...(this.#endsInNumber ? [column] : []), ...inX.map((suffix) => column + suffix)];
    this.fields = links.flatMap(({ step: { field, features } }) =>
      field === undefined ? [] : [{ name: field, width: features.length }],
    );
  }

  /** Learns from a column of the training data. Errors name the column and, where there is one, the row. */
  static fit(name: string, table: Table, transforms: readonly Transform[]): Chain {
    let column = table.column(name);
    const { type } = column;
    const links: Link[] = [];
    for (const [i, transform] of transforms.entries()) {
      const before = transforms[i - 1];
      if (before && !links.at(-1)!.step.map)
        throw new DataError(`\`${name}\`: \`${before.use}\` makes features, so \`${transform.use}\` cannot follow it.`);
      if (!transform.takes.includes(column.type)) throw wrongType(name, table, transform, column.type);
      const link = inColumn(table, name, 0, () => {
        if (!transform.acceptsMissing) checkPresent(column, transform);
        const state = transform.fit(column);
        checkFinite(transform, state);
        return { transform, state, step: transform.open(state, column.type) };
      });
      links.push(link);
      if (i < transforms.length - 1 && link.step.map) column = inColumn(table, name, 0, () => link.step.map!(column));
    }
    return new Chain(name, type, links);
  }

  get isEmpty(): boolean {
    return this.features.length === 0 && this.fields.length === 0;
  }

  /** The classes, where the column is a target of classes. */
  get classes(): readonly string[] | undefined {
    return this.#links.at(-1)!.step.classes;
  }

  /** Whether predictions can be turned back into the column's own values. */
  get isInvertible(): boolean {
    return this.#links.every(({ step }) => step.invert !== undefined);
  }

  invert(value: number): number {
    return this.#links.reduceRight((result, { step }) => step.invert!(result), value);
  }

  /** Writes the features of rows. */
  write(given: Column, into: Destination, fields: Readonly<Record<string, Destination>>): void {
    let column = given;
    let { at } = into;
    if (this.#endsInNumber) at++;
    for (const { transform, step } of this.#links) {
      if (!transform.acceptsMissing) checkPresent(column, transform);
      if (step.write) {
        const own = step.field === undefined ? { ...into, at } : fields[step.field]!;
        step.write(column, own.out, own.at, own.stride);
        if (step.field === undefined) at += step.features.length;
      }
      if (step.map) column = step.map(column);
    }
    if (this.#endsInNumber) writeNumbers(column, into);
  }

  toJSON(): ChainJson {
    const steps = this.#links.map(({ transform: { use, options }, state }) => ({
      use,
      options: options as Json,
      state,
    }));
    return { column: this.column, type: this.type, steps };
  }
}

/** Rejects what a model must not see: a number beyond float32 would be infinite, and the loss NaN. */
function writeNumbers(column: Column, { out, at, stride }: Destination): void {
  const values = numbersOf(column);
  let sound = 0;
  for (let i = 0, to = at; i < values.length; i++, to += stride) {
    out[to] = values[i]!;
    // 0, or NaN from the first number that is not finite.
    sound += out[to]! * 0;
  }
  if (sound === 0) return;
  const bad = values.findIndex((_, i) => !Number.isFinite(out[at + i * stride]));
  throw new CellError(
    bad,
    `is ${values[bad]} as a feature, which float32 cannot hold. Scale it, for example with \`standardise\`.`,
  );
}

function checkPresent(column: Column, { use }: Transform): void {
  const row = firstMissing(column);
  if (row >= 0)
    throw new CellError(row, `is missing, and \`${use}\` needs a value. Fill gaps first: [impute, ${use}].`);
}

/** Statistics of numbers near the largest that there are overflow. */
function checkFinite({ use }: Transform, state: unknown): void {
  if (typeof state === "number" && !Number.isFinite(state))
    throw new DataError(`has numbers too large for \`${use}\`, or infinite ones.`);
  if (typeof state === "object" && state !== null)
    for (const part of Object.values(state)) checkFinite({ use } as Transform, part);
}

/** Adds the column's name, and the place in the file, to an error of a transform. */
export function inColumn<T>(table: Table, name: string, firstRow: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof CellError)
      throw new DataError(`Preprocessor: ${table.where(firstRow + error.row)}: \`${name}\` ${error.message}`, {
        cause: new CellError(firstRow + error.row, error.message, name),
      });
    if (error instanceof DataError && !error.message.startsWith("Preprocessor:"))
      throw new DataError(`Preprocessor: ${table.source}: \`${name}\` ${error.message}`, { cause: error });
    throw error;
  }
}

function wrongType(name: string, table: Table, { use, takes }: Transform, type: ColumnType): DataError {
  const wanted = takes.map((each) => TYPE_NAMES[each]).join(", ");
  const text = type === "string" ? firstText(table, name) : "";
  return new DataError(
    `Preprocessor: ${table.source}: \`${name}\` is ${TYPE_NAMES[type]}, and \`${use}\` takes ${wanted}.${text}`,
  );
}

/** The first text that is no number: the reason why a column of numbers was read as text. */
function firstText(table: Table, name: string): string {
  const column = table.column(name);
  if (column.type !== "string") return "";
  const isText = column.names.map((text) => text.trim() === "" || Number.isNaN(Number(text)));
  const texts = column.codes.findIndex((code) => isText[code] === true);
  if (texts < 0) return ` Declare it as numbers where it is read: columns: { ${name}: number }.`;
  return ` ${table.where(texts)} has ${JSON.stringify(column.names[column.codes[texts]!])}.`;
}
