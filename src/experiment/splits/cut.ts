// Cuts rows into train, val and test by their shares: what holdout and kFold do first.
import { OptionError } from "../../core/errors.ts";
import type { Rows } from "../../data/indexed.ts";
import { byClass, needRows, ordered, type RowParts } from "./parts.ts";

export interface CutOptions {
  readonly val: number;
  readonly test: number;
  readonly shuffle: boolean;
  readonly stratify: string | undefined;
}

export function checkStratify(owner: string, shuffle: boolean, stratify: string | undefined): void {
  if (shuffle || stratify === undefined) return;
  throw new OptionError(`${owner}: \`stratify\` draws rows of each class at random: leave out \`shuffle: false\`.`);
}

/** Without `shuffle` the rows stay in line: train first, test last. */
export function cutRows(owner: string, rows: Rows, options: CutOptions, seed: number): RowParts {
  const { val, test, shuffle, stratify } = options;
  const { count } = rows;
  const order = ordered(count, shuffle, seed);
  const parts =
    stratify === undefined ? inLine(order, val, test) : evenly(byClass(owner, rows, stratify, order), val, test);
  if (val > 0) needRows(owner, "val", `${val}`, parts.val.length, count);
  if (test > 0) needRows(owner, "test", `${test}`, parts.test.length, count);
  needRows(owner, "train", "the rest", parts.train.length, count);
  return parts;
}

function inLine(order: readonly number[], val: number, test: number): RowParts {
  const tested = Math.round(order.length * test);
  const end = order.length - tested;
  const start = Math.max(0, end - Math.round(order.length * val));
  return { train: order.slice(0, start), val: order.slice(start, end), test: order.slice(end) };
}

/** Each row goes where most is owed so far: then every stretch of the line, and so every class, is cut as the whole is. */
function evenly(line: readonly number[], val: number, test: number): RowParts {
  const parts = [
    { share: 1 - val - test, rows: [] as number[] },
    { share: val, rows: [] as number[] },
    { share: test, rows: [] as number[] },
  ] as const;
  for (const [i, row] of line.entries()) {
    const owed = parts.map(({ share, rows }) => share * (i + 1) - rows.length);
    parts[owed.indexOf(Math.max(...owed))]!.rows.push(row);
  }
  return { train: parts[0].rows, val: parts[1].rows, test: parts[2].rows };
}
