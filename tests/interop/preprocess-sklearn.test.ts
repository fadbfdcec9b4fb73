// Transforms beside scikit-learn's on random columns, where Debian's python3-sklearn is installed.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import {
  Preprocessor,
  type PreprocessorOptions,
  Rng,
  Table,
  type Transform,
  hashedText,
  hashing,
  impute,
  label,
  log,
  minMax,
  oneHot,
  ordinal,
  quantile,
  standardise,
} from "hookline/data";
import { describe, expect, test } from "vitest";

type Values = readonly (number | string | null)[];

interface Case {
  readonly name: string;
  readonly transforms: readonly Transform[];
  /** Python that makes it. */
  readonly estimator: string;
  readonly type: "number" | "string";
  readonly train: Values;
  readonly test: Values;
  /** Transformed numbers that are turned back. */
  readonly inverse: readonly number[] | null;
  /** What is added to scikit-learn's numbers to get ours. */
  readonly offset?: number;
}

const rng = new Rng(18);
const draw = <T>(count: number, one: () => T): T[] => Array.from({ length: count }, one);
const gaps = <T>(values: readonly T[]): (T | null)[] => values.map((value) => (rng.next() < 0.2 ? null : value));

/** Columns of numbers of several kinds. */
const NUMBERS: Readonly<Record<string, (count: number) => number[]>> = {
  normal: (count) => draw(count, () => 100 + 15 * rng.normal()),
  small: (count) => draw(count, () => 1e-6 * rng.next()),
  "far from 0": (count) => draw(count, () => 1e9 + rng.next()),
  ties: (count) => draw(count, () => rng.int(5)),
  constant: (count) => draw(count, () => 7.25),
};
const names = ["basic", "pro", "free", "team", "édu", "a b", "x_1", " "];
const CATEGORIES = (count: number): string[] => draw(count, () => names[Math.floor(rng.next() ** 2 * names.length)]!);
const TEXTS = (count: number): string[] =>
  draw(count, () =>
    draw(rng.int(12), () => ["The", "red", "car", "ist", "schön", "Ünder_score", "x", "42", "don't"][rng.int(9)]!).join(
      "  ",
    ),
  );

const cases: Case[] = [];
function add(
  name: string,
  columns: { readonly train: Values; readonly test: Values },
  how: Omit<Case, "name" | "train" | "test" | "inverse"> & { readonly inverse?: readonly number[] },
): void {
  cases.push({ inverse: null, ...how, name, ...columns });
}

for (const [kind, make] of Object.entries(NUMBERS)) {
  const full = { train: make(300), test: make(50) };
  const number = { type: "number" as const };
  const inverse = [-1.5, -0.2, 0, 0.3, 1, 2];
  add(`standardise, ${kind}`, full, { ...number, transforms: [standardise()], estimator: "StandardScaler()", inverse });
  add(`minMax, ${kind}`, full, { ...number, transforms: [minMax()], estimator: "MinMaxScaler()", inverse });
  add(`minMax with a range, ${kind}`, full, {
    ...number,
    transforms: [minMax({ min: -1, max: 2, clip: true })],
    estimator: "MinMaxScaler((-1, 2), clip=True)",
    inverse,
  });
  add(`log, ${kind}`, full, {
    ...number,
    transforms: [log()],
    estimator: "FunctionTransformer(np.log1p, np.expm1)",
    inverse: [0.5, 1, 3],
  });
  add(`quantile, ${kind}`, full, {
    ...number,
    transforms: [quantile()],
    estimator: "QuantileTransformer(n_quantiles=300)",
    inverse: [0, 0.01, 0.5, 0.77, 1],
  });
  add(`quantile of few, ${kind}`, full, {
    ...number,
    transforms: [quantile({ quantiles: 11 })],
    estimator: "QuantileTransformer(n_quantiles=11)",
    inverse: [0.33],
  });
  add(`quantile to normal, ${kind}`, full, {
    ...number,
    transforms: [quantile({ output: "normal" })],
    estimator: 'QuantileTransformer(n_quantiles=300, output_distribution="normal")',
    inverse,
  });
  const sparse = { train: gaps(full.train), test: gaps(full.test) };
  for (const [strategy, theirs] of [
    ["mean", "mean"],
    ["median", "median"],
    ["mostFrequent", "most_frequent"],
  ] as const) {
    add(`impute ${strategy}, ${kind}`, sparse, {
      ...number,
      transforms: [impute({ strategy, indicator: true })],
      estimator: `SimpleImputer(strategy="${theirs}", add_indicator=True)`,
    });
    add(`impute ${strategy} and standardise, ${kind}`, sparse, {
      ...number,
      transforms: [impute({ strategy }), standardise()],
      estimator: `make_pipeline(SimpleImputer(strategy="${theirs}"), StandardScaler())`,
    });
  }
  add(`impute constant, ${kind}`, sparse, {
    ...number,
    transforms: [impute({ strategy: "constant", value: -3.5 })],
    estimator: 'SimpleImputer(strategy="constant", fill_value=-3.5)',
  });
}
for (const round of [0, 1, 2]) {
  const plain = { train: CATEGORIES(200), test: CATEGORIES(60) };
  const sparse = { train: gaps(CATEGORIES(200)), test: gaps(CATEGORIES(60)) };
  const unknown = { train: plain.train, test: [...plain.test, "never seen"] };
  const text = { type: "string" as const };
  const theirs = (options: string): string => `OneHotEncoder(handle_unknown="infrequent_if_exist", ${options})`;
  add(`oneHot ${round}`, unknown, { ...text, transforms: [oneHot()], estimator: theirs("") });
  add(`oneHot with gaps ${round}`, sparse, { ...text, transforms: [oneHot()], estimator: theirs("") });
  for (const minCount of [10, 25, 500])
    add(
      `oneHot, minCount ${minCount} ${round}`,
      { ...sparse, test: unknown.test },
      { ...text, transforms: [oneHot({ minCount })], estimator: theirs(`min_frequency=${minCount}`) },
    );
  for (const maxCategories of [2, 4, 8, 20])
    add(`oneHot, maxCategories ${maxCategories} ${round}`, unknown, {
      ...text,
      transforms: [oneHot({ maxCategories, minCount: 3 })],
      estimator: theirs(`max_categories=${maxCategories}, min_frequency=3`),
    });
  add(`ordinal ${round}`, unknown, {
    ...text,
    transforms: [ordinal()],
    estimator: 'OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)',
    offset: 1,
  });
  add(`ordinal in an order ${round}`, plain, {
    ...text,
    transforms: [ordinal({ categories: names })],
    estimator: `OrdinalEncoder(categories=[${JSON.stringify(names)}])`,
    offset: 1,
  });
  add(`hashing ${round}`, sparse, {
    ...text,
    transforms: [hashing({ size: 7 })],
    estimator: 'Hasher(7, input_type="string")',
  });
  const texts = { train: TEXTS(20), test: gaps(TEXTS(50)) };
  const pattern = String.raw`token_pattern=r"(?u)\b\w+\b"`;
  add(`hashedText ${round}`, texts, {
    ...text,
    transforms: [hashedText({ size: 50 })],
    estimator: `Text(n_features=50, ${pattern})`,
  });
  add(`hashedText of pairs ${round}`, texts, {
    ...text,
    transforms: [hashedText({ size: 99, ngrams: [1, 2] })],
    estimator: `Text(n_features=99, ngram_range=(1, 2), ${pattern})`,
  });
  add(`hashedText of characters ${round}`, texts, {
    ...text,
    transforms: [hashedText({ size: 64, unit: "character", ngrams: [2, 4] })],
    estimator: 'Text(n_features=64, ngram_range=(2, 4), analyzer="char")',
  });
  add(`label ${round}`, plain, { ...text, transforms: [label()], estimator: "LabelEncoder()" });
}

interface Answer {
  readonly transformed: readonly (readonly number[])[];
  readonly inverse?: readonly number[];
}

const python = "/usr/bin/python3";
const answers: readonly Answer[] | null = existsSync(python)
  ? (JSON.parse(
      execFileSync(python, [new URL("preprocess-sklearn.py", import.meta.url).pathname], {
        input: JSON.stringify(cases),
        encoding: "utf8",
        stdio: ["pipe", "pipe", "ignore"],
      }),
    ) as readonly Answer[] | null)
  : null;
if (!answers)
  console.log("skipped: scikit-learn is not installed for /usr/bin/python3: apt-get install python3-sklearn");

const near = (ours: number, theirs: number): boolean => Math.abs(ours - theirs) <= 1e-6 * Math.max(1, Math.abs(theirs));

describe.skipIf(!answers)("the same numbers as scikit-learn", () => {
  test.each(cases.map((each, i) => [each.name, each, i] as const))("%s", (_, each, i) => {
    const { transformed, inverse } = answers![i]!;
    const table = (values: Values): Table =>
      Table.fromColumns({ id: values.map((_, row) => row), value: [...values] }, { value: each.type });
    const isTarget = each.transforms[0]!.use === "label";
    const options: PreprocessorOptions =
      isTarget || each.inverse
        ? { columns: { id: "passThrough" }, target: { column: "value", use: each.transforms } }
        : { columns: { value: each.transforms } };
    const preprocessor = new Preprocessor(options).fit(table(each.train));
    const batch = preprocessor.transform(table(each.test));
    const { data, shape } = isTarget || each.inverse ? batch.y! : batch.x!;
    const width = shape[1] ?? 1;
    expect(width).toBe(transformed[0]!.length);
    const theirs = transformed.flat().map((value) => value + (each.offset ?? 0));
    const bad = theirs.findIndex((value, at) => !near(data[at]!, value));
    expect(
      bad,
      `row ${Math.floor(bad / width)}: ours ${data[bad]}, theirs ${theirs[bad]}, of ${each.test[Math.floor(bad / width)]}`,
    ).toBe(-1);
    if (!inverse) return;
    const decoded = preprocessor.decode({ data: Float64Array.from(each.inverse!), shape: [each.inverse!.length, 1] });
    const values = decoded.kind === "number" ? [...decoded.values] : [];
    expect(
      values.every((value, at) => near(value, inverse[at]!)),
      `ours ${values.join(", ")}, theirs ${inverse.join(", ")}`,
    ).toBe(true);
  });
});
