// docs/coming-from/README.md: the pages for people who know another system, and the table of the documents' samples.
import { readFileSync } from "node:fs";
import { DOCUMENTS } from "./documents.ts";
import { sectionsOf } from "./headings.ts";

const OTHERS = {
  "lightning.md": "PyTorch Lightning",
  "hf-trainer.md": "the Hugging Face `Trainer`",
  "keras.md": "Keras",
};

const anchorIn = (page: string, heading: string): string => {
  const markdown = readFileSync(new URL(`../coming-from/${page}`, import.meta.url), "utf8");
  const section = sectionsOf(markdown).find((each) => each.heading === heading);
  if (!section) throw new Error(`docs/coming-from/${page} has no heading "${heading}".`);
  return section.anchor;
};

export function comingFromPage(): string {
  const pages = [...Object.entries(OTHERS), ...DOCUMENTS.map(({ page, system }) => [page, system] as const)];
  const rows = DOCUMENTS.flatMap(({ system, page, samples }) =>
    samples.map(({ shows, heading, test }) => {
      const link = `[${page.replace(".md", "")}: ${heading}](${page}#${anchorIn(page, heading)})`;
      const tests = [`\`tests/docs.test.ts\`: docs/coming-from/${page}`];
      if (test !== undefined) tests.push(test.replace(/^(\S+): /, "`$1`: "));
      return `| ${system} | ${shows} | ${link} | ${tests.join("<br>")} |`;
    }),
  );
  return `# Coming from another system

A page for each: their names and ours, their samples as programs that run, and what is different or missing.

${pages.map(([page, system]) => `- [${system}](${page})`).join("\n")}

[features.md](../features.md) compares them all in one table.

## The samples of the five documents

hookline was made after the documents of five systems. Every sample in them has a counterpart here: a heading with a block under it that the tests compile and run straight from the page, and where it says more than that it runs, a test of what it does. This page is made from \`docs/lib/documents.ts\` by \`npm run docs\`, and a test fails when a sample has no counterpart, or a name in a document no row in its page's tables.

| system | sample | here | tests |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}
