// The pages made from tables of the code must be those of the code as it is.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pages } from "../docs/generate.ts";
import { BUILTIN_EVENTS } from "../src/core/events.ts";

const all = pages();

test.each(Object.keys(all))("docs/%s is up to date (else: npm run docs)", (file) => {
  expect(readFileSync(new URL(`../docs/${file}`, import.meta.url), "utf8")).toBe(all[file]);
});

test("the drawing of the loop shows every event", () => {
  const drawing = /```text\n([^]*?)```/.exec(all["events.md"]!)![1]!;
  for (const event of BUILTIN_EVENTS) expect(drawing).toMatch(new RegExp(`\\b${event}\\b`));
});
