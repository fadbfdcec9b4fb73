// The options of a Preprocessor, checked when it is constructed.
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is, oneOrList, oneOrNamedLists, show } from "../../core/options.ts";
import { transformsOf, type TransformName, type TransformSpec } from "./catalogue.ts";
import type { Transform } from "./transform.ts";

/** The target and how it is transformed. */
export interface TargetOptions {
  readonly column: string;
  /** Default `auto`: `label` for text, booleans, and numbers that are 0 or 1; `standardise` for other numbers. */
  readonly use?: TransformSpec;
}

/** Options of `Preprocessor`. */
export interface PreprocessorOptions {
  /**
   * The transforms of each column by its name; `*` is for all other columns of the table. Columns that are not named are
   * left out. `"auto"` is the same as `{ "*": "auto" }`.
   */
  readonly columns: TransformName | Transform | Readonly<Record<string, TransformSpec>>;
  /** The column to be predicted. Without one, batches have no `y`. */
  readonly target?: string | TargetOptions;
  /** A column of numbers ≥ 0: how much each row counts, as `weight` in the batch. */
  readonly weights?: string;
}

/** All columns that are not named. */
export const OTHERS = "*";

export const TARGET_CHECKS = { column: is.name, use: { ...is.anything, holds: oneOrList("transform") } };
export const PREPROCESSOR_CHECKS = {
  columns: { ...is.or(is.name, is.object), holds: oneOrNamedLists("transform") },
  target: is.or(is.name, is.object),
  weights: is.name,
};

export interface ResolvedOptions {
  readonly columns: readonly (readonly [name: string, transforms: readonly Transform[]])[];
  readonly target: { readonly column: string; readonly transforms: readonly Transform[] } | undefined;
  readonly weights: string | undefined;
}

/** Every name of a transform is looked up, and every mistake reported, before there is a table. */
export function resolveOptions(options: PreprocessorOptions): ResolvedOptions {
  checkOptions("Preprocessor", options, PREPROCESSOR_CHECKS, ["columns"]);
  const { columns, target, weights } = options;
  const isMap = is.object.test(columns) && typeof (columns as Transform).open !== "function";
  const map = (isMap ? columns : { [OTHERS]: columns }) as Readonly<Record<string, TransformSpec>>;
  const resolved = Object.entries(map).map(([name, spec]) => {
    const transforms = transformsOf(`Preprocessor: \`${name}\``, spec);
    if (transforms.some(({ use }) => use === "label"))
      throw new OptionError(
        `Preprocessor: \`${name}\`: \`label\` is for the target. For a column use ordinal or oneHot.`,
      );
    return [name, transforms] as const;
  });
  if (resolved.length === 0)
    throw new OptionError('Preprocessor: `columns` is empty. Name columns, or say columns: "auto".', {
      option: "columns",
    });
  const aim = target === undefined ? undefined : resolveTarget(target);
  for (const name of [aim?.column, weights]) {
    if (name === undefined || !resolved.some(([each]) => each === name)) continue;
    throw new OptionError(
      `Preprocessor: \`${name}\` is ${name === weights ? "the column of weights" : "the target"}, and cannot be among \`columns\` too: the model would be given what it is to predict.`,
    );
  }
  return { columns: resolved, target: aim, weights };
}

function resolveTarget(target: string | TargetOptions): ResolvedOptions["target"] {
  if (typeof target === "string") return { column: target, transforms: transformsOf("Preprocessor: target", "auto") };
  checkOptions("Preprocessor: target", target, TARGET_CHECKS, ["column"]);
  const { column, use = "auto" } = target;
  if (column === "")
    throw new OptionError(`Preprocessor: Expected the target's \`column\` to be a name, got ${show(column)}.`);
  return { column, transforms: transformsOf("Preprocessor: target", use) };
}
