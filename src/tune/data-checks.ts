// Checks of data from outside this process: what a journal or Redis holds is checked before it is used.
import { is, type Check } from "../core/options.ts";

export type Fields = Readonly<Record<string, Check>>;

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => is.object.test(value);

/** The first field that is wrong. Fields that are not named are ignored. */
export function wrongField(
  value: Readonly<Record<string, unknown>>,
  fields: Fields,
  optional: Fields = {},
): string | undefined {
  const own = (name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);
  return (
    Object.keys(fields).find((name) => !fields[name]!.test(own(name))) ??
    Object.keys(optional).find((name) => own(name) !== undefined && !optional[name]!.test(own(name)))
  );
}

export const shaped = (fields: Fields, optional: Fields = {}): Check => ({
  expected: `an object with ${Object.keys(fields).join(", ")}`,
  test: (value) => isRecord(value) && wrongField(value, fields, optional) === undefined,
});

/** Including NaN and the infinities, which a trial may report. */
export const numbers: Check = {
  expected: "an object of numbers",
  test: (value) => isRecord(value) && Object.values(value).every((each) => typeof each === "number"),
};

/** A trial's error as plain data. */
export const failure = shaped({ name: is.string, message: is.string }, { stack: is.string });
