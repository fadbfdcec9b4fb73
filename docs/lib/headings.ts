// The sections of a Markdown page: their headings, the anchors that GitHub gives them, and what lies under each.

export interface Section {
  readonly heading: string;
  /** What follows `#` in a link to it. */
  readonly anchor: string;
  /** From below the heading to the next one of any level. */
  readonly text: string;
}

/** Lower case; what is no letter, digit, underscore, hyphen or space goes, and each space becomes a hyphen. */
const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");

export function sectionsOf(markdown: string): Section[] {
  const found: { heading: string; lines: string[] }[] = [];
  let fenced = false;
  for (const line of markdown.split("\n")) {
    if (line.startsWith("```")) fenced = !fenced;
    const heading = fenced ? null : /^#{1,6} (.+)$/.exec(line);
    if (heading) found.push({ heading: heading[1]!, lines: [] });
    else found.at(-1)?.lines.push(line);
  }
  const seen = new Map<string, number>();
  return found.map(({ heading, lines }) => {
    const base = slug(heading);
    const times = seen.get(base) ?? 0;
    seen.set(base, times + 1);
    return { heading, anchor: times === 0 ? base : `${base}-${times}`, text: lines.join("\n") };
  });
}

export const anchorsOf = (markdown: string): string[] => sectionsOf(markdown).map(({ anchor }) => anchor);
