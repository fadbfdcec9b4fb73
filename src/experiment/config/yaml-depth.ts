// How deep a YAML text is nested, before anything that recurses sees it: the parser that follows would overflow its stack,
// and from there it can take the process with it.
import type { CST } from "yaml";

/** The offset of the first value whose path has more than `deepest` parts. */
export function tooDeepAt(tokens: readonly CST.Token[], deepest: number): number | undefined {
  let level = tokens;
  // The documents themselves are above the root of a path.
  for (let depth = -1; level.length > 0; depth++) {
    if (depth > deepest) return level[0]!.offset;
    const collections = level.flatMap((token) => ("items" in token ? [token] : []));
    level = [
      ...level.flatMap((token) => (token.type === "document" && token.value ? [token.value] : [])),
      ...collections.flatMap(({ items }) => items.flatMap(({ key, value }) => [key, value])),
    ].filter((token) => token !== undefined && token !== null);
  }
  return undefined;
}
