// JSON that keeps every number: NaN, the infinities and minus zero have no place in JSON itself.

/** Stands for a number that JSON cannot write. */
const MARK = "$number";

export function stringifyExact(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === "number" && (!Number.isFinite(item) || Object.is(item, -0))
      ? { [MARK]: Object.is(item, -0) ? "-0" : String(item) }
      : item,
  );
}

export function parseExact(text: string): unknown {
  return JSON.parse(text, (_, item: unknown) => {
    if (typeof item !== "object" || item === null || !Object.hasOwn(item, MARK)) return item;
    return Number((item as { readonly [MARK]: string })[MARK]);
  });
}
