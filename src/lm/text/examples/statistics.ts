// What a file of examples holds once it is made into rows, as numbers and as two lines to print before training.
import { IGNORED } from "./convert.ts";
import type { Fitted, TooLong } from "./fit.ts";
import type { ExampleKind } from "./kinds.ts";
import type { Rows } from "./rows.ts";

/** Counts over training and validation rows. */
export interface ExampleStatistics {
  readonly kind: ExampleKind;
  /** Lines of the file that are examples. */
  readonly examples: number;
  /** Tokens that the model reads, without padding. */
  readonly tokens: number;
  /** Of these, how many predict a token that counts in the loss. */
  readonly counted: number;
  readonly rows: number;
  readonly validationRows: number;
  /** Tokens in a row. */
  readonly length: number;
  /** The share of the rows that is no padding. */
  readonly fill: number;
  /** Tokens of the longest example, before it was cut. */
  readonly longest: number;
  readonly cut: number;
  readonly split: number;
  readonly dropped: number;
  /** Answers that end without a special token: the model does not learn to stop after them. */
  readonly unended: number;
}

export function statisticsOf(
  { kind, examples, unended, length }: Pick<ExampleStatistics, "kind" | "examples" | "unended" | "length">,
  { sequences, longest, cut, split, dropped }: Fitted,
  train: Rows,
  validation: Rows | undefined,
): ExampleStatistics {
  let [tokens, counted] = [0, 0];
  for (const { x, y } of sequences) {
    tokens += x.length;
    for (const label of y) if (label !== IGNORED) counted++;
  }
  const capacity = train.capacity + (validation?.capacity ?? 0);
  return {
    kind,
    examples,
    tokens,
    counted,
    rows: train.count,
    validationRows: validation?.count ?? 0,
    length,
    fill: tokens / capacity,
    longest,
    cut,
    split,
    dropped,
    unended,
  };
}

const NAMES: Readonly<Record<ExampleKind, string>> = {
  messages: "conversation",
  completion: "completion",
  preference: "preference",
  text: "text",
  ids: "example",
};

const number = (value: number): string => value.toLocaleString("en-US");

/** `1 row`, `1,940 conversations`. */
const counted = (value: number, what: string): string => `${number(value)} ${what}${value === 1 ? "" : "s"}`;

/** `1,940 conversations, 412,331 tokens, 188,020 count; 812 rows of 512, 98.9 % full; longest 1,804: 3 cut`. */
export function describeStatistics(statistics: ExampleStatistics, packed: boolean, tooLong: TooLong): string {
  const { kind, examples, tokens, rows, validationRows, length, fill, longest, cut, split, dropped, unended } =
    statistics;
  const changes = [
    ...(cut > 0 ? [`${number(cut)} cut`] : []),
    ...(split > 0 ? [`${number(split)} continued in further rows`] : []),
    ...(dropped > 0
      ? [`${number(dropped)} left out${tooLong === "cut" ? ", since nothing that counts was left" : ""}`]
      : []),
  ];
  const parts = [
    `${counted(examples, NAMES[kind])}, ${counted(tokens, "token")}, ${number(statistics.counted)} count`,
    `${counted(rows, "row")} of ${packed ? "" : "up to "}${number(length)}, ${(100 * fill).toFixed(1)} % full`,
    ...(validationRows > 0 ? [`${counted(validationRows, "row")} for validation`] : []),
    `longest ${number(longest)}${changes.length > 0 ? `: ${changes.join(", ")}` : ""}`,
  ];
  const warning =
    unended === 0
      ? ""
      : `\n${counted(unended, "example")} without a special token at the end: the model does not learn where to stop.`;
  return parts.join("; ") + warning;
}
