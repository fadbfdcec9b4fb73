// auto: chooses transforms by the type of a column and what it contains, and says why.
import { component } from "../../core/component.ts";
import { type Column, lengthOf } from "../table/column.ts";
import { countUnsorted, type Counted } from "./categories.ts";
import { countMissing, numbersOf, presentNumbers, rangeOf } from "./numbers.ts";
import { dateParts } from "./transforms/date-parts.ts";
import { oneHot } from "./transforms/encoding.ts";
import { impute } from "./transforms/impute.ts";
import { drop, passThrough, standardise } from "./transforms/scaling.ts";
import { hashedText } from "./transforms/text.ts";
import { ANY_TYPE, type Choice, type Transform } from "./transform.ts";

/** Text of at least this many words on average, with many different values, is prose. */
const WORDS_OF_PROSE = 3;
/** More different values than this share of the rows are no categories. */
const MANY_VALUES = 0.5;
const MOST_CATEGORIES = 100;

/**
 * Chooses by the type of the column. Numbers: standardise. Booleans: passThrough. Dates: dateParts. Text: oneHot with at
 * most 100 categories; hashedText if it is prose; left out if every row has another value. Whole numbers that grow from row
 * to row are ids and left out. Gaps are imputed first, with an indicator. A column without values, or with only one, is
 * left out.
 */
export const auto = /* @__PURE__ */ component({ kind: "transform", name: "auto" }, (): Transform => {
  const unresolved = (): never => {
    throw new Error("`auto` stands for the transforms that it chooses.");
  };
  return { use: "auto", options: {}, takes: ANY_TYPE, acceptsMissing: true, fit: unresolved, open: unresolved, choose };
});

function choose(column: Column): Choice {
  const rows = lengthOf(column);
  const missing = countMissing(column);
  if (missing === rows) return { transforms: [drop()], why: "no row has a value" };
  const gaps = missing === 0 ? "" : `, ${percent(missing / rows)} missing`;
  if (column.type === "string") return chooseForText(column, rows, missing, gaps);
  const { least, most } = rangeOf(missing === 0 ? numbersOf(column) : presentNumbers(column));
  if (least === most && missing === 0) return { transforms: [drop()], why: "every row has the same value" };
  if (column.type === "number" && countsRows(column.values))
    return { transforms: [drop()], why: "whole numbers that count the rows, as an id does" };
  const strategy = column.type === "boolean" ? "mostFrequent" : "median";
  const filled = missing > 0 ? [impute({ strategy, indicator: true })] : [];
  const by = { number: standardise, boolean: passThrough, date: dateParts }[column.type];
  return { transforms: [...filled, by()], why: `${column.type}${gaps}` };
}

/** Few rows may increase by chance. */
const ROWS_TO_COUNT = 20;

const countsRows = (values: Float64Array): boolean =>
  values.length >= ROWS_TO_COUNT &&
  values.every((value, row) => Number.isInteger(value) && (row === 0 || value > values[row - 1]!));

function chooseForText(column: Column, rows: number, missing: number, gaps: string): Choice {
  const { counted } = countUnsorted(column);
  const different = counted.length;
  if (different === 1 && missing === 0) return { transforms: [drop()], why: "every row has the same value" };
  if (different > MANY_VALUES * (rows - missing) && different > 2) {
    const words = averageWords(counted);
    if (words >= WORDS_OF_PROSE)
      return { transforms: [hashedText()], why: `text of ${words.toFixed(0)} words on average${gaps}` };
    if (different === rows - missing) return { transforms: [drop()], why: "every row has another text, as a name has" };
  }
  const why = `text with ${different} different values${gaps}`;
  return { transforms: [oneHot(different >= MOST_CATEGORIES ? { maxCategories: MOST_CATEGORIES } : {})], why };
}

function averageWords(counted: readonly Counted[]): number {
  // Enough of them for an average.
  const some = counted.slice(0, 1000);
  return some.reduce((sum, { name }) => sum + name.trim().split(/\s+/).length, 0) / some.length;
}

const percent = (share: number): string => (share < 0.01 ? "less than 1 %" : `${Math.round(share * 100)} %`);
