// Whatever an entry exports has a doc comment: editors show it, and the API reference is made of it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ENTRIES } from "../support/bundle.ts";
import { barrelsOf, exportsOf, importsOf, root } from "../support/sources.ts";

/** Where a name is declared, and whether a comment stands before it; undefined when it is not one of ours. */
function declared(file: string, name: string): { readonly file: string; readonly documented: boolean } | undefined {
  const source = readFileSync(join(root, file), "utf8");
  const declaration = `(?:declare |abstract |async )*(?:function\\*?|const|class|interface|type|let) ${name}\\b`;
  const found = new RegExp(`^(?:export )?${declaration}`, "m").exec(source);
  // A line for the linter may stand in between.
  if (found) return { file, documented: /\*\/\n(?:\/\/.*\n)*$/.test(source.slice(0, found.index)) };
  const next = importsOf(file).find(({ from, names }) => names.includes(name) && from.startsWith("src/"));
  return next && declared(next.from, name);
}

// jax-js documents its own.
const entries = Object.entries(ENTRIES).filter(([name]) => name !== "hookline/jax");

test.each(entries)("%s", (_, barrel) => {
  const names = exportsOf(barrel);
  const barrels = barrelsOf(barrel);
  const places = names.map((name) => ({
    name,
    place: barrels.map((file) => declared(file, name)).find((place) => place !== undefined),
  }));
  expect(places.filter(({ place }) => !place).map(({ name }) => name)).toEqual([]);
  expect(
    places.filter(({ place }) => !place!.documented).map(({ name, place }) => `${name} in ${place!.file}`),
  ).toEqual([]);
});

test("a declaration without a comment is found", () => {
  expect(declared("tests/support/sources.ts", "root")).toEqual({ file: "tests/support/sources.ts", documented: false });
  expect(declared("tests/support/sources.ts", "sources")).toMatchObject({ documented: true });
});
