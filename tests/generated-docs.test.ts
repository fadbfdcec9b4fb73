// The pages made from tables of the code must be those of the code as it is.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { generated, loopDrawing } from "../docs/generate.ts";
import { BUILTIN_EVENTS, methodOf } from "../src/core/events.ts";
import { PIPELINE_EVENTS } from "../src/core/outer-events.ts";

const all = await generated();

test.each(Object.keys(all))("%s is up to date (else: npm run docs)", (file) => {
  expect(readFileSync(new URL(`../${file}`, import.meta.url), "utf8")).toBe(all[file]);
});

test("the drawing of the loop shows every event", () => {
  const drawing = /```text\n([^]*?)```/.exec(all["docs/events.md"]!)![1]!;
  for (const event of BUILTIN_EVENTS) expect(drawing).toMatch(new RegExp(`\\b${event}\\b`));
});

test("loop.md shows the same drawing", () => {
  expect(readFileSync(new URL("../docs/loop.md", import.meta.url), "utf8")).toContain(
    `\`\`\`text\n${loopDrawing()}\n\`\`\``,
  );
});

test("events.md has a row for every event, those of an experiment too", () => {
  for (const event of [...BUILTIN_EVENTS, ...Object.keys(PIPELINE_EVENTS)])
    expect(all["docs/events.md"]).toContain(`| \`${event}\` | \`${methodOf(event)}\` |`);
});

test("the index of docs/ names every page", () => {
  const folder = new URL("../docs/", import.meta.url);
  const index = readFileSync(new URL("README.md", folder), "utf8");
  const pages = readdirSync(folder).filter((name) => name.endsWith(".md") && name !== "README.md");
  expect(pages.filter((name) => !index.includes(`](${name})`))).toEqual([]);
});
