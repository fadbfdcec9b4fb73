// Columns as categories: the names that occur and how often, which of them are kept, and their places in new tables.
import { didYouMean } from "../../core/names.ts";
import { is } from "../../core/options.ts";
import { type Column, NO_BOOLEAN, NO_STRING } from "../table/column.ts";
import { CellError } from "./transform.ts";
import { numbersOf } from "./numbers.ts";

/** A column of strings as it is; of another, a string for each different value. */
export interface Coded {
  /** −1 is missing. */
  readonly codes: Int32Array;
  readonly names: readonly string[];
}

const BOOLEANS: readonly string[] = ["false", "true"];

export function codedOf(column: Column): Coded {
  if (column.type === "string") return column;
  if (column.type === "boolean")
    return {
      codes: Int32Array.from(column.values, (value) => (value === NO_BOOLEAN ? NO_STRING : value)),
      names: BOOLEANS,
    };
  const values = numbersOf(column);
  const codes = new Int32Array(values.length);
  const known = new Map<number, number>();
  for (let i = 0; i < values.length; i++) {
    // −0 and 0 are one category.
    const value = values[i]! + 0;
    if (Number.isNaN(value)) codes[i] = NO_STRING;
    else {
      let code = known.get(value);
      if (code === undefined) known.set(value, (code = known.size));
      codes[i] = code;
    }
  }
  return { codes, names: [...known.keys()].map(String) };
}

export interface Counted {
  readonly name: string;
  readonly count: number;
}

interface Counts {
  readonly counted: Counted[];
  /** Rows without a value. */
  readonly missing: number;
}

/** The names that occur, in no order. */
export function countUnsorted(column: Column): Counts {
  const { codes, names } = codedOf(column);
  const counts = new Float64Array(names.length);
  let missing = 0;
  for (let i = 0; i < codes.length; i++) {
    if (codes[i]! < 0) missing++;
    else counts[codes[i]!]!++;
  }
  const counted = names.map((name, code) => ({ name, count: counts[code]! })).filter(({ count }) => count > 0);
  return { counted, missing };
}

/** The names that occur, in order; those of numbers by value. */
export function countNames(column: Column): Counts {
  const { counted, missing } = countUnsorted(column);
  const isNumber = column.type === "number" || column.type === "date";
  counted.sort(isNumber ? (a, b) => Number(a.name) - Number(b.name) : (a, b) => (a.name < b.name ? -1 : 1));
  return { counted, missing };
}

/** Options that `oneHot` and `ordinal` share. */
export interface CategoryOptions {
  /** Categories that fewer rows of the training data have are rare: they are treated as one. */
  readonly minCount?: number;
  /** At most this many, with the rare ones as one of them: the most frequent are kept. */
  readonly maxCategories?: number;
  /** A category that the training data did not have is treated as the rare ones are (`"ignore"`, the default), or is an error. */
  readonly unknown?: "ignore" | "error";
}

export const CATEGORY_CHECKS = {
  minCount: is.wholeFrom(1),
  maxCategories: is.wholeFrom(2),
  unknown: is.oneOf("ignore", "error"),
};

/** Which categories are rare, by scikit-learn's rule: of equally frequent ones those that come first. */
export function rareOf(
  counts: readonly number[],
  { minCount = 1, maxCategories = Infinity }: CategoryOptions,
): boolean[] {
  const rare = counts.map((count) => count < minCount);
  const features = rare.filter((each) => !each).length + 1;
  if (features <= maxCategories) return rare;
  const order = counts.map((_, i) => i).sort((a, b) => counts[a]! - counts[b]! || a - b);
  for (const i of order.slice(0, counts.length - maxCategories + 1)) rare[i] = true;
  return rare;
}

/** In place of a category's place: an error. */
const REFUSED = -2;

interface KnownNames {
  readonly places: ReadonlyMap<string, number>;
  /** The place of what is missing. */
  readonly missing: number;
  /** The place of every other name; undefined: an error. */
  readonly others: number | undefined;
}

/** Finds the place of each row's category. Places of the names of a table are looked up once. */
export class Placer {
  readonly #known: KnownNames;
  #names: readonly string[] | undefined;
  #places = new Int32Array(0);

  constructor(known: KnownNames) {
    this.#known = known;
  }

  /** Calls `put` with each row and the place of its category. */
  each(column: Column, put: (row: number, place: number) => void): void {
    const { codes, names } = codedOf(column);
    const places = this.#placesOf(names);
    const { missing } = this.#known;
    for (let i = 0; i < codes.length; i++) {
      const place = codes[i]! < 0 ? missing : places[codes[i]!]!;
      if (place === REFUSED) throw new CellError(i, this.#refusal(codes[i]! < 0 ? undefined : names[codes[i]!]!));
      put(i, place);
    }
  }

  #placesOf(names: readonly string[]): Int32Array {
    if (this.#names === names) return this.#places;
    const { places, others = REFUSED } = this.#known;
    this.#places = Int32Array.from(names, (name) => places.get(name) ?? others);
    this.#names = names;
    return this.#places;
  }

  #refusal(name: string | undefined): string {
    const known = [...this.#known.places.keys()];
    const shown =
      known.length > 10 ? `${known.slice(0, 10).join(", ")} and ${known.length - 10} more` : known.join(", ");
    if (name === undefined) return `is missing, which the training data did not have. It had: ${shown}.`;
    return `is ${JSON.stringify(name)}, which the training data did not have.${didYouMean(name, known)} It had: ${shown}.`;
  }
}

/** The place in `Placer` of a missing value that is an error. */
export const REFUSE_MISSING = REFUSED;
