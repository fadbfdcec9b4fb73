// Text as numbers: hashedText, features of its words or letters, and vocabulary, the ids of its words.
import { component } from "../../../core/component.ts";
import { DataError, OptionError } from "../../../core/errors.ts";
import { is, type Check } from "../../../core/options.ts";
import type { Column } from "../../table/column.ts";
import { featureCount } from "../feature-count.ts";
import { bucketOf, murmur3, signOf } from "../hash.ts";
import { makeTransform, type Transform } from "../transform.ts";

/** Letters, digits and underscores, in lower case. */
const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

/** Options of `hashedText`. */
export interface HashedTextOptions {
  /** The number of features (default 256). */
  readonly size?: number;
  /** Of what: words (default), or characters, for short texts and names. */
  readonly unit?: "word" | "character";
  /** The shortest and the longest run of units that counts: [1, 2] is words and pairs of words (default [1, 1]). */
  readonly ngrams?: readonly [number, number];
}

const ngramRange: Check = {
  expected: "two whole numbers such as [1, 2]",
  schema: { type: "array", items: { type: "integer", minimum: 1, maximum: 10 }, minItems: 2, maxItems: 2 },
  test: (value) =>
    Array.isArray(value) &&
    value.length === 2 &&
    value.every((n) => Number.isInteger(n) && (n as number) >= 1 && (n as number) <= 10) &&
    (value[0] as number) <= (value[1] as number),
};

/**
 * Counts the words of a text, or runs of words or characters, in a fixed number of features by their hash, scaled to
 * length 1. It learns nothing. A missing or empty text is 0 in all. With scikit-learn's names: HashingVectorizer.
 */
export const hashedText = /* @__PURE__ */ component(
  {
    kind: "transform",
    name: "hashedText",
    takes: () => ({ options: { size: featureCount, unit: is.oneOf("word", "character"), ngrams: ngramRange } }),
  },
  (options: HashedTextOptions = {}): Transform => {
    const { size = 256, unit = "word", ngrams: [shortest, longest] = [1, 1] } = options;
    const unitsOf =
      unit === "word" ? wordsOf : (text: string) => Array.from(text.toLowerCase().replaceAll(/\s+/g, " "));
    const between = unit === "word" ? " " : "";
    return makeTransform<object>("hashedText", options, {
      takes: ["string"],
      acceptsMissing: true,
      state: {},
      fit: () => ({}),
      open: () => ({
        features: Array.from({ length: size }, (_, i) => `#${i}`),
        write: (column, out, at, stride) =>
          eachText(column, (row, text) => {
            const start = at + row * stride;
            const units = unitsOf(text);
            for (let length = shortest; length <= longest; length++) {
              for (let i = 0; i + length <= units.length; i++) {
                const hash = murmur3(length === 1 ? units[i]! : units.slice(i, i + length).join(between));
                out[start + bucketOf(hash, size)]! += signOf(hash);
              }
            }
            toLengthOne(out, start, size);
          }),
      }),
    });
  },
);

function eachText(column: Column, use: (row: number, text: string) => void): void {
  if (column.type !== "string") throw new Error("A text is a column of strings.");
  const { codes, names } = column;
  for (let i = 0; i < codes.length; i++) if (codes[i]! >= 0) use(i, names[codes[i]!]!);
}

function toLengthOne(out: Float32Array | Int32Array, start: number, size: number): void {
  let squares = 0;
  for (let i = start; i < start + size; i++) squares += out[i]! * out[i]!;
  if (squares === 0) return;
  const length = Math.sqrt(squares);
  for (let i = start; i < start + size; i++) out[i]! /= length;
}

/** Options of `vocabulary`. */
export interface VocabularyOptions {
  /** How many ids there are at most, with those for padding and unknown words (default 10,000). */
  readonly size?: number;
  /** Words that occur less often in the training data are unknown (default 1). */
  readonly minCount?: number;
  /** The number of ids for each text: longer ones are cut, shorter ones padded at the end (default 64). */
  readonly length?: number;
  /** The field of the batch that gets the ids (default `tokens`). */
  readonly field?: string;
}

/** 0 is padding. */
const UNKNOWN = 1;
const FIRST = 2;
/** Fields that the preprocessor makes itself, and a name that no object should have. */
const TAKEN: readonly string[] = ["x", "y", "weight", "__proto__"];

/**
 * The ids of a text's words, as whole numbers in a field of their own, for an embedding: 0 is padding, 1 an unknown word,
 * and the words of the training data follow by frequency. A missing text is all padding.
 */
export const vocabulary = /* @__PURE__ */ component(
  {
    kind: "transform",
    name: "vocabulary",
    takes: () => ({
      options: { size: featureCount, minCount: is.wholeFrom(1), length: featureCount, field: is.name },
    }),
  },
  (options: VocabularyOptions = {}): Transform => {
    const { size = 10_000, minCount = 1, length = 64, field = "tokens" } = options;
    if (TAKEN.includes(field))
      throw new OptionError(`vocabulary: \`field\` cannot be ${TAKEN.join(", ")}: these are taken.`);
    if (size <= FIRST) throw new OptionError(`vocabulary: Expected \`size\` to be more than ${FIRST}, got ${size}.`);
    return makeTransform<{ words: string[] }>("vocabulary", options, {
      takes: ["string"],
      acceptsMissing: true,
      state: { words: is.arrayOf(is.string) },
      fit: (column) => ({ words: frequentWords(column, minCount).slice(0, size - FIRST) }),
      open({ words }) {
        const ids = new Map(words.map((word, i) => [word, i + FIRST]));
        if (ids.size !== words.length || words.length > size - FIRST)
          throw new DataError("the words in the state of `vocabulary` are too many, or not different.");
        return {
          features: Array.from({ length }, (_, i) => `@${i}`),
          field,
          write: (column, out, at, stride) =>
            eachText(column, (row, text) => {
              const start = at + row * stride;
              // What is left of the row is 0, which is padding.
              for (const [i, word] of wordsOf(text).slice(0, length).entries())
                out[start + i] = ids.get(word) ?? UNKNOWN;
            }),
        };
      },
    });
  },
);

/** By how often they occur; equally frequent ones in the order of the alphabet. */
function frequentWords(column: Column, minCount: number): string[] {
  const counts = new Map<string, number>();
  eachText(column, (_, text) => {
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  });
  return [...counts]
    .filter(([, count]) => count >= minCount)
    .toSorted(([a, many], [b, more]) => more - many || (a < b ? -1 : 1))
    .map(([word]) => word);
}
