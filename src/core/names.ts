// Choosing things by name: parameters for optimizer groups, monitors, freezing.

/**
 * Which names are meant: one pattern, several (any may match), or a function.
 * A pattern equal to a whole name means just that name; with `*` it is a glob over the whole name
 * (`*` matches dots too); otherwise it matches names that contain it.
 */
export type NameFilter = string | readonly string[] | ((name: string) => boolean);

function matchPattern(pattern: string, names: readonly string[]): (name: string) => boolean {
  if (names.includes(pattern)) return (name) => name === pattern;
  if (!pattern.includes("*")) return (name) => name.includes(pattern);
  const parts = pattern.split("*");
  // Greedy left-to-right search per literal part: linear, no regular expression built from user input.
  return (name) => {
    const last = parts.length - 1;
    if (!name.startsWith(parts[0]!) || !name.endsWith(parts[last]!)) return false;
    let at = parts[0]!.length;
    for (let i = 1; i < last; i++) {
      const hit = name.indexOf(parts[i]!, at);
      if (hit < 0) return false;
      at = hit + parts[i]!.length;
    }
    return at <= name.length - parts[last]!.length;
  };
}

/** The names, in their own order, that `filter` selects. */
export function selectNames(filter: NameFilter, names: readonly string[]): string[] {
  if (typeof filter === "function") return names.filter((name) => filter(name));
  const patterns = typeof filter === "string" ? [filter] : filter;
  const tests = patterns.map((pattern) => matchPattern(pattern, names));
  return names.filter((name) => tests.some((test) => test(name)));
}
