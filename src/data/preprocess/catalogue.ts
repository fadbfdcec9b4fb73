// The transforms by name, for options that name one and for files of fitted preprocessors.
import { OptionError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import { show } from "../../core/options.ts";
import { auto } from "./auto.ts";
import { dateParts } from "./transforms/date-parts.ts";
import { label, oneHot, ordinal } from "./transforms/encoding.ts";
import { hashing } from "./transforms/hashing.ts";
import { impute } from "./transforms/impute.ts";
import { quantile } from "./transforms/quantile.ts";
import { drop, log, minMax, passThrough, standardise } from "./transforms/scaling.ts";
import { hashedText, vocabulary } from "./transforms/text.ts";
import type { Transform } from "./transform.ts";

const TRANSFORMS = {
  auto,
  dateParts,
  drop,
  hashedText,
  hashing,
  impute,
  label,
  log,
  minMax,
  oneHot,
  ordinal,
  passThrough,
  quantile,
  standardise,
  vocabulary,
};

/** The name of a transform that needs no options. */
export type TransformName = keyof typeof TRANSFORMS;

/** How a column is transformed: a transform, its name, or several in a row. */
export type TransformSpec = TransformName | Transform | readonly (TransformName | Transform)[];

/** The transform of this name, with these options. */
export function transformOf(owner: string, use: unknown, options: object = {}): Transform {
  if (typeof use === "string" && Object.hasOwn(TRANSFORMS, use))
    return (TRANSFORMS[use as TransformName] as (options: object) => Transform)(options);
  const names = Object.keys(TRANSFORMS);
  if (typeof use !== "string") throw new OptionError(`${owner}: Expected a transform or its name, got ${show(use)}.`);
  throw new OptionError(
    `${owner}: there is no transform \`${use}\`.${didYouMean(use, names)} Known: ${names.join(", ")}.`,
  );
}

const isTransform = (value: unknown): value is Transform =>
  typeof value === "object" && value !== null && typeof (value as Transform).open === "function";

/** The transforms that an option names. */
export function transformsOf(owner: string, spec: TransformSpec): readonly Transform[] {
  const all = (Array.isArray(spec) ? spec : [spec]) as readonly (TransformName | Transform)[];
  if (all.length === 0) throw new OptionError(`${owner}: the list of transforms is empty.`);
  const transforms = all.map((each) => {
    if (isTransform(each)) return each;
    const isFactory = typeof each === "function" ? ` Is it to be called, as in ${(each as Function).name}()?` : "";
    if (isFactory !== "") throw new OptionError(`${owner}: Expected a transform, got ${show(each)}.${isFactory}`);
    return transformOf(owner, each);
  });
  if (transforms.length > 1 && transforms.some(({ choose }) => choose))
    throw new OptionError(`${owner}: \`auto\` chooses all transforms of a column, and stands alone.`);
  return transforms;
}
