// JSON that keeps every number. JSON has no NaN, no infinities and no minus zero, and there are two ways to write them:
// as `{"$number":"NaN"}`, which reads back exactly (state of checkpoints, journals, messages between processes), and as
// the string "NaN", which other programs understand (run.json, results.json, logs).

/** The key that stands for a number which JSON lacks. */
const MARK = "$number";

/** JSON from which `parseExact` makes the same value, bit for bit. */
export function stringifyExact(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === "number" && (!Number.isFinite(item) || Object.is(item, -0))
      ? { [MARK]: Object.is(item, -0) ? "-0" : String(item) }
      : item,
  );
}

/** Reads what `stringifyExact` wrote. */
export function parseExact(text: string): unknown {
  return JSON.parse(text, (_, item: unknown) => {
    if (typeof item !== "object" || item === null || !Object.hasOwn(item, MARK)) return item;
    return Number((item as { readonly [MARK]: string })[MARK]);
  });
}

const NON_FINITE: ReadonlyMap<unknown, number> = new Map(
  [NaN, Infinity, -Infinity].map((value) => [String(value), value]),
);

/** A number as JSON for other programs: NaN and the infinities are their names. */
export const numberToJson = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

/** The number that `numberToJson` wrote; undefined for anything else. */
export const numberFromJson = (value: unknown): number | undefined =>
  typeof value === "number" ? value : NON_FINITE.get(value);

/** JSON for other programs: NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity". */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, hasNonFinite(value) ? named : undefined, indent);

const named = (_: string, item: unknown): unknown => (typeof item === "number" ? numberToJson(item) : item);

/** JSON.stringify takes several times as long where it calls back. */
function hasNonFinite(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  for (const key in value) if (hasNonFinite((value as Readonly<Record<string, unknown>>)[key])) return true;
  return false;
}

/** Reads what `toJson` wrote. Only for documents in which no text is one of the three names. */
export const fromJson = (text: string): unknown =>
  JSON.parse(text, (_, item: unknown) => (typeof item === "string" ? (numberFromJson(item) ?? item) : item));
