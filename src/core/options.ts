// Options are checked once, at construction, with one form of message: Expected `x` to be …, got `v` (type).
import { OptionError } from "./errors.ts";
import { didYouMean } from "./names.ts";

/** A part of a JSON Schema. `#/$defs/function` stands for a function: the schema that contains the part defines it. */
export type SchemaPart = Readonly<Record<string, Json>>;

/** What a config can name with `use`; the last three are for sweeps. */
export type Kind =
  | "data"
  | "split"
  | "transform"
  | "model"
  | "loss"
  | "metric"
  | "optimizer"
  | "schedule"
  | "hook"
  | "logger"
  | "sampler"
  | "scheduler"
  | "runner";

/**
 * How a config writes an option that holds components: one, one or a list, a list or a map by name, a map, one or a map,
 * one or a map of lists; or a list of plain objects with components in them.
 */
export type Holds =
  | {
      readonly form: "one" | "oneOrList" | "listOrNamed" | "named" | "oneOrNamed" | "oneOrNamedLists";
      readonly kind: Kind;
    }
  | { readonly form: "each"; readonly options: Readonly<Record<string, Holds>> };

/** The check of one option: a phrase for messages, the test, and what config files and editors need to know. */
export interface Check {
  readonly expected: string;
  readonly test: (value: unknown) => boolean;
  /** Absent: any value. */
  readonly schema?: SchemaPart;
  /** The option holds other components, which a config names with `use`. */
  readonly holds?: Holds;
  /** The option is a path that is read or written: a config's is relative to the config or to the project. */
  readonly path?: "read" | "write";
}

const check = (expected: string, schema: SchemaPart, test: (value: unknown) => boolean): Check => ({
  expected,
  test,
  schema,
});
const isNumber = (v: unknown): v is number => typeof v === "number" && !Number.isNaN(v);
const isObject = (v: unknown): boolean => typeof v === "object" && v !== null && !Array.isArray(v);
const name = check(
  "a non-empty string",
  { type: "string", minLength: 1 },
  (v) => typeof v === "string" && v.length > 0,
);
const schemaOf = ({ schema = {} }: Check): SchemaPart => schema;

/** Forms of an option that holds components. */
export const one = (kind: Kind): Holds => ({ form: "one", kind });
export const oneOrList = (kind: Kind): Holds => ({ form: "oneOrList", kind });
export const listOrNamed = (kind: Kind): Holds => ({ form: "listOrNamed", kind });
export const named = (kind: Kind): Holds => ({ form: "named", kind });
export const oneOrNamed = (kind: Kind): Holds => ({ form: "oneOrNamed", kind });
export const oneOrNamedLists = (kind: Kind): Holds => ({ form: "oneOrNamedLists", kind });
export const each = (options: Readonly<Record<string, Holds>>): Holds => ({ form: "each", options });

/** The checks that options share. Compose with `oneOf` and `or`. */
export const is = {
  boolean: check("true or false", { type: "boolean" }, (v) => typeof v === "boolean"),
  string: check("a string", { type: "string" }, (v) => typeof v === "string"),
  name,
  function: check("a function", { $ref: "#/$defs/function" }, (v) => typeof v === "function"),
  object: check("an object", { type: "object" }, isObject),
  array: check("an array", { type: "array" }, (v) => Array.isArray(v)),
  number: check("a number", { type: "number" }, isNumber),
  finite: check("a finite number", { type: "number" }, (v) => isNumber(v) && Number.isFinite(v)),
  positive: check("a number > 0", { type: "number", exclusiveMinimum: 0 }, (v) => isNumber(v) && v > 0),
  nonNegative: check(
    "a number ≥ 0",
    { type: "number", minimum: 0 },
    (v) => isNumber(v) && v >= 0 && Number.isFinite(v),
  ),
  fraction: check(
    "a number from 0 up to 1 (exclusive)",
    { type: "number", minimum: 0, exclusiveMaximum: 1 },
    (v) => isNumber(v) && v >= 0 && v < 1,
  ),
  whole: check("a whole number", { type: "integer" }, Number.isSafeInteger),
  wholeFrom: (least: number): Check =>
    check(
      `a whole number ≥ ${least}`,
      { type: "integer", minimum: least },
      (v) => Number.isSafeInteger(v) && (v as number) >= least,
    ),
  between: (least: number, most: number): Check =>
    check(
      `a number from ${least} to ${most}`,
      { type: "number", minimum: least, maximum: most },
      (v) => isNumber(v) && v >= least && v <= most,
    ),
  oneOf: (...values: readonly string[]): Check =>
    check(
      `one of ${values.map((v) => JSON.stringify(v)).join(", ")}`,
      { enum: values },
      (v) => typeof v === "string" && values.includes(v),
    ),
  or: (...checks: readonly Check[]): Check =>
    check(checks.map((c) => c.expected).join(" or "), { anyOf: checks.map(schemaOf) }, (v) =>
      checks.some((c) => c.test(v)),
    ),
  arrayOf: (each: Check): Check =>
    check(
      `an array, each ${each.expected}`,
      { type: "array", items: schemaOf(each) },
      (v) => Array.isArray(v) && v.every(each.test),
    ),
  /** How often; `checkCadence` looks into it. */
  cadence: check(
    'a number > 0, a quantity such as "2 epochs", or { every, from, until }',
    { anyOf: [{ type: "number", exclusiveMinimum: 0 }, { type: "string", minLength: 1 }, { type: "object" }] },
    (v) => (typeof v === "string" ? v.length > 0 : isNumber(v) ? v > 0 : isObject(v)),
  ),
  pathToRead: { ...name, path: "read" } as Check,
  pathToWrite: { ...name, path: "write" } as Check,
  anything: check("anything", {}, () => true),
} as const;

/** How a value looks in a message: short, and with its type. */
export function show(value: unknown): string {
  if (value === null) return "`null`";
  if (Array.isArray(value)) {
    const short = value.length <= 6 && value.every((item) => typeof item !== "object" && typeof item !== "function");
    return `\`[${short ? value.map((item) => JSON.stringify(item) ?? String(item)).join(", ") : `${value.length} items`}]\` (array)`;
  }
  if (typeof value === "object") return `an object (${Object.getPrototypeOf(value)?.constructor?.name ?? "Object"})`;
  if (typeof value === "function") return `a function (${value.name || "anonymous"})`;
  // oxlint-disable-next-line typescript/no-base-to-string -- objects have returned above
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return `\`${text.length > 60 ? `${text.slice(0, 57)}…` : text}\` (${typeof value})`;
}

/**
 * Checks `options` against `checks`: unknown keys are errors with the nearest name, wrong values say what was expected.
 * `required` keys must be present; `undefined` counts as absent.
 */
export function checkOptions(
  owner: string,
  options: unknown,
  checks: Readonly<Record<string, Check>>,
  required: readonly string[] = [],
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    const meant = meantAs(options, checks, required);
    throw new OptionError(`${owner}: expected an object of options, got ${show(options)}${meant}`);
  }
  for (const option of Object.keys(options)) {
    if (!Object.hasOwn(checks, option)) {
      const known = Object.keys(checks);
      // All of them only where none is near: a trainer has forty.
      const help = didYouMean(option, known) || ` Known options: ${known.join(", ")}.`;
      throw new OptionError(`${owner}: unknown option \`${option}\`.${help}`, { option });
    }
  }
  for (const option of required) {
    if ((options as Record<string, unknown>)[option] === undefined) {
      throw new OptionError(`${owner}: missing option \`${option}\` (${checks[option]!.expected}).`, { option });
    }
  }
  for (const [option, check] of Object.entries(checks)) {
    const value = (options as Record<string, unknown>)[option];
    if (value !== undefined && !check.test(value)) {
      throw new OptionError(`${owner}: Expected \`${option}\` to be ${check.expected}, got ${show(value)}`, { option });
    }
  }
}

/** `conv2d(1, 6, 5)`: a value where options belong, that is fit for one which must be given. */
function meantAs(value: unknown, checks: Readonly<Record<string, Check>>, required: readonly string[]): string {
  if (value === undefined || value === null) return "";
  const option = required.find((each) => checks[each]!.test(value));
  if (option === undefined) return "";
  const text = typeof value === "function" ? undefined : JSON.stringify(value);
  return `. Write { ${option}: ${text === undefined || text.length > 60 ? "…" : text} }.`;
}

/** What state is made of: plain data that JSON keeps exactly. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
