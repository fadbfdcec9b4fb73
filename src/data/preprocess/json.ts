// A fitted preprocessor as JSON and back. What is read may come from anywhere: every part of it is checked.
import { DataError, OptionError } from "../../core/errors.ts";
import { is, type Json } from "../../core/options.ts";
import { COLUMN_TYPES, type ColumnType } from "../table/column.ts";
import { Chain, type ChainJson } from "./chain.ts";
import { transformOf } from "./catalogue.ts";
import { checkFields, type FittedParts } from "./fit.ts";
import type { ResolvedOptions } from "./options.ts";
import { Target } from "./target.ts";
import type { Transform } from "./transform.ts";

const SCHEMA = "hookline.preprocessor";
const VERSION = 1;
/** Beyond this a file is damaged, or made to fill the memory. */
const MOST_FEATURES = 2 ** 24;

/** What `toJSON` of a preprocessor gives. */
export interface PreprocessorJson {
  readonly schema: typeof SCHEMA;
  readonly version: number;
  readonly columns: readonly ChainJson[];
  readonly target?: ChainJson;
  readonly weights?: string;
  readonly choices: readonly string[];
}

export function toPlain({ chains, target, weights, choices }: FittedParts): PreprocessorJson {
  return {
    schema: SCHEMA,
    version: VERSION,
    columns: chains.map((chain) => chain.toJSON()),
    ...(target && { target: target.chain.toJSON() }),
    ...(weights !== undefined && { weights }),
    choices,
  };
}

interface ReadPreprocessor {
  readonly parts: FittedParts;
  /** With which it would be fitted again. */
  readonly options: ResolvedOptions;
}

/** @throws DataError that says what is wrong */
export function fromPlain(json: unknown): ReadPreprocessor {
  try {
    return read(json);
  } catch (error) {
    // Options of transforms, too, are wrong only where a file is.
    if (error instanceof DataError || error instanceof OptionError)
      throw new DataError(`This is not a saved preprocessor: ${error.message}`, { cause: error });
    throw error;
  }
}

function read(json: unknown): ReadPreprocessor {
  const file = objectOf("it", json);
  if (file.schema !== SCHEMA) throw new DataError(`its \`schema\` is not ${SCHEMA}.`);
  if (typeof file.version !== "number" || !(file.version >= 1)) throw new DataError("it has no `version`.");
  if (file.version > VERSION) throw new DataError("it was written by a newer hookline.");
  if (!Array.isArray(file.columns) || file.columns.length === 0) throw new DataError("it has no `columns`.");
  const columns = file.columns.map((chain: unknown) => readChain(chain));
  const target = file.target === undefined ? undefined : readChain(file.target);
  const { weights, choices = [] } = file;
  if (weights !== undefined && typeof weights !== "string") throw new DataError("its `weights` are not a name.");
  if (!is.arrayOf(is.string).test(choices)) throw new DataError("its `choices` are not texts.");
  const chains = columns.map(({ chain }) => chain);
  const names = [...chains, ...(target ? [target.chain] : [])].map(({ column }) => column);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new DataError(`it has the column \`${twice}\` twice.`);
  if (chains.reduce((sum, { features }) => sum + features.length, 0) > MOST_FEATURES)
    throw new DataError(`it has more than ${MOST_FEATURES} features.`);
  checkFields(chains);
  return {
    parts: { chains, target: target && new Target(target.chain), weights, choices: choices as string[] },
    options: {
      columns: columns.map(({ chain, transforms }) => [chain.column, transforms]),
      target: target && { column: target.chain.column, transforms: target.transforms },
      weights,
    },
  };
}

function readChain(json: unknown): { readonly chain: Chain; readonly transforms: readonly Transform[] } {
  const { column, type, steps } = objectOf("a column", json);
  if (typeof column !== "string" || column === "") throw new DataError("a column has no name.");
  if (!COLUMN_TYPES.includes(type as ColumnType)) throw new DataError(`\`${column}\` has no type.`);
  if (!Array.isArray(steps) || steps.length === 0) throw new DataError(`\`${column}\` has no steps.`);
  let current = type as ColumnType | undefined;
  const links = steps.map((step: unknown) => {
    const { use, options, state } = objectOf(`a step of \`${column}\``, step);
    const transform = transformOf(`\`${column}\``, use, objectOf(`\`options\` of \`${column}\``, options));
    if (transform.choose) throw new DataError(`\`${column}\`: \`auto\` has not been replaced by what it chose.`);
    if (current === undefined || !transform.takes.includes(current))
      throw new DataError(`\`${column}\`: \`${transform.use}\` cannot stand where it does.`);
    const opened = transform.open(state, current);
    current = opened.map && opened.gives;
    return { transform, state: state as Json, step: opened };
  });
  return { chain: new Chain(column, type as ColumnType, links), transforms: links.map(({ transform }) => transform) };
}

function objectOf(what: string, value: unknown): Readonly<Record<string, unknown>> {
  if (!is.object.test(value)) throw new DataError(`${what} is not an object.`);
  // Without a prototype: a missing key is undefined, whatever its name.
  return Object.assign(Object.create(null) as object, value) as Readonly<Record<string, unknown>>;
}
