// docs/coming-from: every sample of the five documents has a counterpart that runs, and every name a row.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DOCUMENTS } from "../docs/lib/documents.ts";
import { sectionsOf } from "../docs/lib/headings.ts";
import { root } from "./support/sources.ts";

const folder = join(root, "docs/coming-from");
const read = (page: string): string => readFileSync(join(folder, page), "utf8");

/** What stands in backticks in the first cell of a page's tables. */
function namesOf(markdown: string): Set<string> {
  const rows = [...markdown.matchAll(/^\| (.+?) \| .+ \|$/gm)].map(([, cell]) => cell!);
  return new Set(rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)));
}

const titlesOf = (file: string): string[] =>
  [...readFileSync(join(root, file), "utf8").matchAll(/\(\s*(["'`])(.+?)\1,/g)].map(([, , title]) => title!);

describe.each(DOCUMENTS)("document $number, $system", ({ page, samples, names }) => {
  const markdown = read(page);
  const sections = sectionsOf(markdown);

  it.each(samples)("shows $shows: under $heading, in a block that runs", ({ heading }) => {
    const here = sections.filter((section) => section.heading === heading);
    expect(here).toHaveLength(1);
    expect(here[0]!.text).toMatch(/^```ts$/m);
  });

  it("has no heading for two samples", () => {
    const headings = samples.map(({ heading }) => heading);
    expect(headings).toEqual([...new Set(headings)]);
  });

  it.each(samples.flatMap(({ test }) => test ?? []))("its test is there: %s", (test) => {
    const [, file, title] = /^(\S+): (.+)$/.exec(test)!;
    expect(existsSync(join(root, file!))).toBe(true);
    expect(titlesOf(file!).filter((each) => each.includes(title!))).not.toEqual([]);
  });

  it("has a row for each name of the document", () => {
    const rows = namesOf(markdown);
    expect(names.filter((name) => !rows.has(name))).toEqual([]);
  });
});

it("lists every page", () => {
  const pages = readdirSync(folder).filter((file) => file !== "README.md");
  expect(pages.filter((page) => !read("README.md").includes(`](${page})`))).toEqual([]);
});
