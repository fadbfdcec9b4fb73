// Categories as numbers: oneHot, ordinal, and label for targets.
import { component } from "../../../core/component.ts";
import { DataError } from "../../../core/errors.ts";
import { is } from "../../../core/options.ts";
import { CATEGORY_CHECKS, type CategoryOptions, Placer, REFUSE_MISSING, countNames, rareOf } from "../categories.ts";
import { ANY_TYPE, makeTransform, type Transform } from "../transform.ts";
import { numberColumn } from "../numbers.ts";
import { lengthOf } from "../../table/column.ts";

/** More features than this are a mistake as a rule: a name or a number that every row has its own of. */
const MANY = 1000;

/** Options of `oneHot`. */
export interface OneHotOptions extends CategoryOptions {}

interface OneHotState {
  /** A feature each. */
  readonly names: string[];
  /** Which feature rows without a value have: one of their own, that of rare ones, or none. */
  readonly missing: "own" | "rare" | "none";
  /** Whether there is a feature for rare categories. */
  readonly rare: boolean;
  /** The rare ones, where others are errors. */
  readonly rareNames: string[];
}

/**
 * A feature for each category, which is 1 in its rows. Missing values are a category where the training data has some.
 * A category that the training data did not have, and a missing value where it had none, has the feature of rare ones if
 * there is one, and otherwise 0 in all.
 */
export const oneHot = /* @__PURE__ */ component(
  { kind: "transform", name: "oneHot", takes: () => ({ options: CATEGORY_CHECKS }) },
  (options: OneHotOptions = {}): Transform => {
    const { maxCategories, unknown = "ignore" } = options;
    return makeTransform<OneHotState>("oneHot", options, {
      takes: ANY_TYPE,
      acceptsMissing: true,
      state: {
        names: is.arrayOf(is.string),
        missing: is.oneOf("own", "rare", "none"),
        rare: is.boolean,
        rareNames: is.arrayOf(is.string),
      },
      fit(column) {
        const { counted, missing } = countNames(column);
        const counts = [...counted.map(({ count }) => count), ...(missing > 0 ? [missing] : [])];
        const rare = rareOf(counts, options);
        const names = counted.filter((_, i) => !rare[i]).map(({ name }) => name);
        if (names.length > MANY && maxCategories === undefined) throw tooMany(names.length);
        return {
          names,
          missing: missing === 0 ? "none" : rare[counted.length] ? "rare" : "own",
          rare: rare.includes(true),
          rareNames: unknown === "error" ? counted.filter((_, i) => rare[i]).map(({ name }) => name) : [],
        };
      },
      open({ names, missing, rare, rareNames }) {
        const features = [
          ...names.map((name) => `=${name}`),
          ...(missing === "own" ? ["=(missing)"] : []),
          ...(rare ? ["=(rare)"] : []),
        ];
        const rarePlace = rare ? features.length - 1 : -1;
        const places = new Map([
          ...names.map((name, i) => [name, i] as const),
          ...rareNames.map((name) => [name, rarePlace] as const),
        ]);
        const unseen = unknown === "error" ? REFUSE_MISSING : rarePlace;
        const placer = new Placer({
          places,
          missing: missing === "own" ? names.length : missing === "rare" ? rarePlace : unseen,
          others: unknown === "error" ? undefined : rarePlace,
        });
        return {
          features,
          write: (column, out, at, stride) =>
            placer.each(column, (row, place) => {
              if (place >= 0) out[at + row * stride + place] = 1;
            }),
        };
      },
    });
  },
);

const tooMany = (count: number): DataError =>
  new DataError(
    `has ${count} categories, and \`oneHot\` would make a feature of each. Keep the frequent ones: oneHot({ maxCategories: 100 }); or use \`hashing\`, or \`drop\` where every row has its own.`,
  );

/** Options of `ordinal`. */
export interface OrdinalOptions extends CategoryOptions {
  /** The categories in their order, such as [low, medium, high]. Default: those of the training data, sorted. */
  readonly categories?: readonly string[];
}

interface OrdinalState {
  readonly names: string[];
  readonly rareNames: string[];
}

/**
 * The position of the category, from 1. Whatever has no position is 0: missing values, rare categories, and those that
 * the training data did not have.
 */
export const ordinal = /* @__PURE__ */ component(
  {
    kind: "transform",
    name: "ordinal",
    takes: () => ({ options: { ...CATEGORY_CHECKS, categories: is.arrayOf(is.string) } }),
  },
  (options: OrdinalOptions = {}): Transform => {
    const { categories, unknown = "ignore" } = options;
    return makeTransform<OrdinalState>("ordinal", options, {
      takes: ANY_TYPE,
      acceptsMissing: true,
      state: { names: is.arrayOf(is.string), rareNames: is.arrayOf(is.string) },
      fit(column) {
        if (categories) return { names: [...new Set(categories)], rareNames: [] };
        const { counted } = countNames(column);
        const rare = rareOf(
          counted.map(({ count }) => count),
          options,
        );
        const named = (isRare: boolean): string[] =>
          counted.filter((_, i) => rare[i] === isRare).map(({ name }) => name);
        return { names: named(false), rareNames: unknown === "error" ? named(true) : [] };
      },
      open({ names, rareNames }) {
        const places = new Map([
          ...names.map((name, i) => [name, i + 1] as const),
          ...rareNames.map((name) => [name, 0] as const),
        ]);
        const placer = new Placer({ places, missing: 0, others: unknown === "error" ? undefined : 0 });
        return {
          features: [],
          gives: "number",
          map(column) {
            const values = new Float64Array(lengthOf(column));
            placer.each(column, (row, place) => {
              values[row] = place;
            });
            return numberColumn(values);
          },
        };
      },
    });
  },
);

/** More classes than this are numbers, or names that every row has its own of. */
const MANY_CLASSES = 10_000;

/**
 * The class of a target, as its number from 0: the loss is crossEntropy. Classes are those of the training data, sorted,
 * and predictions have their names. A class that the training data did not have is an error.
 */
export const label = /* @__PURE__ */ component({ kind: "transform", name: "label" }, (): Transform =>
  makeTransform<{ names: string[] }>(
    "label",
    {},
    {
      takes: ANY_TYPE,
      state: { names: is.arrayOf(is.string) },
      fit(column) {
        const { counted } = countNames(column);
        if (counted.length > MANY_CLASSES)
          throw new DataError(`has ${counted.length} different values, too many for classes.`);
        if (counted.length < 2)
          throw new DataError(
            `has only one class in the training data, \`${counted[0]?.name}\`: there is nothing to tell apart. With a split, give it \`stratify\`.`,
          );
        return { names: counted.map(({ name }) => name) };
      },
      open({ names }) {
        const placer = new Placer({
          places: new Map(names.map((name, i) => [name, i])),
          missing: REFUSE_MISSING,
          others: undefined,
        });
        return {
          features: [],
          gives: "number",
          classes: names,
          map(column) {
            const values = new Float64Array(lengthOf(column));
            placer.each(column, (row, place) => {
              values[row] = place;
            });
            return numberColumn(values);
          },
        };
      },
    },
  ),
);
