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
  messages: "conversations",
  completion: "prompts with completions",
  preference: "preferences",
  text: "texts",
  ids: "examples",
};

const number = (value: number): string => value.toLocaleString("en-US");

/** `1,940 conversations, 412,331 tokens, 188,020 count; 812 rows of 512, 98.9 % full; longest 1,804: 3 cut`. */
export function describeStatistics(statistics: ExampleStatistics, packed: boolean, tooLong: TooLong): string {
  const { kind, examples, tokens, counted, rows, validationRows, length, fill, longest, cut, split, dropped, unended } =
    statistics;
  const changes = [
    ...(cut > 0 ? [`${number(cut)} cut`] : []),
    ...(split > 0 ? [`${number(split)} continued in further rows`] : []),
    ...(dropped > 0
      ? [`${number(dropped)} left out${tooLong === "cut" ? ", since nothing that counts was left" : ""}`]
      : []),
  ];
  const parts = [
    `${number(examples)} ${NAMES[kind]}, ${number(tokens)} tokens, ${number(counted)} count`,
    `${number(rows)} rows of ${packed ? "" : "up to "}${number(length)}, ${(100 * fill).toFixed(1)} % full`,
    ...(validationRows > 0 ? [`${number(validationRows)} rows for validation`] : []),
    `longest ${number(longest)}${changes.length > 0 ? `: ${changes.join(", ")}` : ""}`,
  ];
  const warning =
    unended === 0
      ? ""
      : `\n${number(unended)} answers end without a special token: the model does not learn where to stop after them.`;
  return parts.join("; ") + warning;
}
