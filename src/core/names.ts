// Choosing things by name: parameters for optimizer groups, monitors, freezing.

/**
 * Which names are meant: one pattern, several (any may match), or a function.
 * A pattern equal to a whole name means just that name; with `*` it is a glob over the whole name
 * (`*` matches dots too). Otherwise it is part of a name, and matches from the beginning of a word: at the beginning of
 * the name or after a dot, an underscore or the like. It does not end within a number. So `"0."` and `"0"` mean
 * `0.weight` and `block.0.weight`, but not `10.weight`; `"bias"` means `0.bias` and `in_proj_bias`; `"norm"` means
 * `norm1.weight`, but not `layernorm.weight`.
 */
export type NameFilter = string | readonly string[] | ((name: string) => boolean);

const isWord = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{N}]/u.test(char);
const isDigit = (char: string | undefined): boolean => char !== undefined && char >= "0" && char <= "9";

/** Is `part` somewhere in the name, from the beginning of a word, and not up to the middle of a number? */
function hasPart(name: string, part: string): boolean {
  const [first, last] = [part[0], part.at(-1)];
  for (let at = name.indexOf(part); at >= 0; at = name.indexOf(part, at + 1)) {
    const beginsWord = !isWord(first) || !isWord(name[at - 1]);
    const cutsNumber = isDigit(last) && isDigit(name[at + part.length]);
    if (beginsWord && !cutsNumber) return true;
  }
  return false;
}

function matchPattern(pattern: string, names: readonly string[]): (name: string) => boolean {
  if (names.includes(pattern)) return (name) => name === pattern;
  if (!pattern.includes("*")) return (name) => hasPart(name, pattern);
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
