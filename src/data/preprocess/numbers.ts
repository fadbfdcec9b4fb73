// Columns as numbers: reading them, finding what is missing, and the statistics that transforms learn.
import { type Column, NO_BOOLEAN, NO_STRING, withValues } from "../table/column.ts";

/** The values of a column that is no text: 0 and 1 for booleans, milliseconds for dates, NaN for what is missing. */
export function numbersOf(column: Column): Float64Array {
  if (column.type === "string") throw new Error("A column of strings has no numbers.");
  if (column.type !== "boolean") return column.values;
  return Float64Array.from(column.values, (value) => (value === NO_BOOLEAN ? Number.NaN : value));
}

export const numberColumn = (values: Float64Array): Column => ({ type: "number", values });

/** Applies a function to every number of a column. */
export function mapNumbers(column: Column, change: (value: number) => number): Column {
  const values = numbersOf(column);
  const out = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) out[i] = change(values[i]!);
  return numberColumn(out);
}

/** The rows `from` … `to` of a column, without a copy. */
export const viewOf = (column: Column, from: number, to: number): Column =>
  withValues(column, (values) => values.subarray(from, to) as typeof values);

/** The first row without a value, or −1. */
export function firstMissing(column: Column): number {
  if (column.type === "string") return column.codes.indexOf(NO_STRING);
  if (column.type === "boolean") return column.values.indexOf(NO_BOOLEAN);
  const { values } = column;
  // A comparison with itself is several times faster than findIndex with a function.
  for (let i = 0; i < values.length; i++) if (values[i] !== values[i]) return i;
  return -1;
}

export function countMissing(column: Column): number {
  const values = column.type === "string" ? column.codes : column.values;
  const none = column.type === "string" ? NO_STRING : NO_BOOLEAN;
  let count = 0;
  if (column.type === "string" || column.type === "boolean") {
    for (let i = 0; i < values.length; i++) if (values[i] === none) count++;
  } else for (let i = 0; i < values.length; i++) if (values[i] !== values[i]) count++;
  return count;
}

/** The numbers of a column that are not missing. */
export function presentNumbers(column: Column): Float64Array {
  const values = numbersOf(column);
  const missing = firstMissing(column);
  return missing < 0 ? values : values.filter((value) => value === value);
}

export interface Moments {
  readonly mean: number;
  /** Of the population, with n in the denominator. */
  readonly variance: number;
}

/** In two passes, the second of which corrects the rounding of the first. */
export function momentsOf(values: Float64Array): Moments {
  const { length } = values;
  let sum = 0;
  for (let i = 0; i < length; i++) sum += values[i]!;
  const mean = sum / length;
  let [squares, rest] = [0, 0];
  for (let i = 0; i < length; i++) {
    const distance = values[i]! - mean;
    squares += distance * distance;
    rest += distance;
  }
  return { mean: mean + rest / length + 0, variance: (squares - (rest * rest) / length) / length };
}

/** The standard deviation to divide by: 1 for a column that is constant but for rounding, as in scikit-learn. */
export function scaleOf({ mean, variance }: Moments, count: number): number {
  const rounding = count * Number.EPSILON;
  const isConstant = variance < Infinity && variance <= rounding * variance + (rounding * mean) ** 2;
  return isConstant ? 1 : Math.sqrt(variance);
}

/** The smallest and the largest number. */
export function rangeOf(values: Float64Array): { readonly least: number; readonly most: number } {
  let [least, most] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return { least: least + 0, most: most + 0 };
}

/** The number that occurs most often; of several the smallest. */
export function mostFrequentOf(values: Float64Array): number {
  const sorted = values.toSorted();
  let [best, longest, start] = [sorted[0]!, 0, 0];
  for (let i = 1; i <= sorted.length; i++) {
    if (sorted[i] === sorted[start]) continue;
    if (i - start > longest) [best, longest] = [sorted[start]!, i - start];
    start = i;
  }
  return best + 0;
}

/** The middle number, or the mean of the two in the middle. Reorders a copy, which is faster than sorting it. */
export function medianOf(given: Float64Array): number {
  const values = given.slice();
  const middle = values.length >> 1;
  const upper = select(values, middle);
  if (values.length % 2 === 1) return upper + 0;
  let lower = -Infinity;
  for (let i = 0; i < middle; i++) if (values[i]! > lower) lower = values[i]!;
  return (lower + upper) / 2 + 0;
}

/** The number that is at position `k` when sorted; smaller ones are before it afterwards. Quickselect, after Hoare. */
function select(values: Float64Array, k: number): number {
  let [left, right] = [0, values.length - 1];
  while (left < right) {
    const pivot = middleOfThree(values[left]!, values[(left + right) >> 1]!, values[right]!);
    let [i, j] = [left, right];
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i > j) break;
      const swapped = values[i]!;
      values[i++] = values[j]!;
      values[j--] = swapped;
    }
    if (k <= j) right = j;
    else if (k >= i) left = i;
    else break;
  }
  return values[k]!;
}

const middleOfThree = (a: number, b: number, c: number): number =>
  Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
