// Options are checked once, at construction, with one form of message: Expected `x` to be …, got `v` (type).
import { OptionError } from "./errors.ts";
import { didYouMean } from "./suggest.ts";

/** One test of one option: a phrase for the message and the test itself. */
export interface Check {
  readonly expected: string;
  readonly test: (value: unknown) => boolean;
}

const check = (expected: string, test: (value: unknown) => boolean): Check => ({ expected, test });
const isNumber = (v: unknown): v is number => typeof v === "number" && !Number.isNaN(v);

/** The checks that options share. Compose with `oneOf` and `or`. */
export const is = {
  boolean: check("true or false", (v) => typeof v === "boolean"),
  string: check("a string", (v) => typeof v === "string"),
  name: check("a non-empty string", (v) => typeof v === "string" && v.length > 0),
  function: check("a function", (v) => typeof v === "function"),
  object: check("an object", (v) => typeof v === "object" && v !== null && !Array.isArray(v)),
  array: check("an array", (v) => Array.isArray(v)),
  number: check("a number", isNumber),
  finite: check("a finite number", (v) => isNumber(v) && Number.isFinite(v)),
  positive: check("a number > 0", (v) => isNumber(v) && v > 0),
  nonNegative: check("a number ≥ 0", (v) => isNumber(v) && v >= 0 && Number.isFinite(v)),
  fraction: check("a number from 0 up to 1 (exclusive)", (v) => isNumber(v) && v >= 0 && v < 1),
  wholeFrom: (least: number): Check =>
    check(`a whole number ≥ ${least}`, (v) => Number.isSafeInteger(v) && (v as number) >= least),
  oneOf: (...values: readonly string[]): Check =>
    check(
      `one of ${values.map((v) => JSON.stringify(v)).join(", ")}`,
      (v) => typeof v === "string" && values.includes(v),
    ),
  or: (...checks: readonly Check[]): Check =>
    check(checks.map((c) => c.expected).join(" or "), (v) => checks.some((c) => c.test(v))),
  arrayOf: (each: Check): Check =>
    check(`an array, each ${each.expected}`, (v) => Array.isArray(v) && v.every(each.test)),
  anything: check("anything", () => true),
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
  if (typeof options !== "object" || options === null) {
    throw new OptionError(`${owner}: expected an object of options, got ${show(options)}`);
  }
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(checks, key)) {
      const known = Object.keys(checks);
      throw new OptionError(
        `${owner}: unknown option \`${key}\`.${didYouMean(key, known)} Known options: ${known.join(", ")}.`,
      );
    }
  }
  for (const key of required) {
    if ((options as Record<string, unknown>)[key] === undefined) {
      throw new OptionError(`${owner}: missing option \`${key}\` (${checks[key]!.expected}).`);
    }
  }
  for (const [key, { expected, test }] of Object.entries(checks)) {
    const value = (options as Record<string, unknown>)[key];
    if (value !== undefined && !test(value)) {
      throw new OptionError(`${owner}: Expected \`${key}\` to be ${expected}, got ${show(value)}`);
    }
  }
}
