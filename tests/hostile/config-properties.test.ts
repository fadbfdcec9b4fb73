// Whatever a config holds, it reads back the same from every format, and `--set` puts any value at any path.
import fc from "fast-check";
import { stringify as toToml } from "smol-toml";
import { expect, it } from "vitest";
import { stringify as toYaml } from "yaml";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isForbidden } from "../../src/experiment/config/config-tree.ts";
import { readConfig, type ReadConfigOptions } from "../../src/experiment/config/read-config.ts";
import { write } from "../support/config-files.ts";

const text = fc.string({ unit: "grapheme", maxLength: 12 }).filter((each) => !each.includes("${"));
const key = fc
  .oneof(fc.constantFrom("use", "lr", "hooks", "a.b", "a=b", "0", "x y", "yes", "null", "~", "#", "é"), text)
  .filter((each) => each !== "" && each !== "extends" && each !== "<<" && !isForbidden(each));
const number = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }))
  .map((value) => value + 0 || 0);
const looksLikeMore = fc.constantFrom(
  "1",
  "true",
  "null",
  "~",
  "1e3",
  "0x1",
  ".inf",
  "- a",
  "a: b",
  "# x",
  "*a",
  "&a",
  "!a",
  "2020-01-01",
  "'",
  '"',
  "\\",
  "a\nb",
  " a ",
  "---",
);

interface Tree {
  readonly [key: string]: unknown;
}

const { tree } = fc.letrec<{ tree: Tree; value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    text,
    looksLikeMore,
    number,
    fc.boolean(),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("tree"),
  ),
  tree: fc.dictionary(key, tie("value"), { maxKeys: 5, noNullPrototype: true }),
}));

const reading = async (file: string, content: string, options: ReadConfigOptions = {}): Promise<unknown> => {
  const cwd = mkdtempSync(join(tmpdir(), "hookline-config-"));
  try {
    write(cwd, { [file]: content });
    return (await readConfig(file, { cwd, env: {}, ...options })).value;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
};

it("reads back what was written, in YAML, JSON and TOML alike", async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (value) => {
      expect(await reading("c.json", JSON.stringify(value))).toEqual(value);
      expect(await reading("c.json", JSON.stringify(value, null, 2))).toEqual(value);
      expect(await reading("c.yaml", toYaml(value))).toEqual(value);
      expect(await reading("c.yaml", JSON.stringify(value))).toEqual(value);
      expect(await reading("c.toml", toToml(value))).toEqual(value);
    }),
    { numRuns: 300 },
  );
});

it("locates every key of JSON and TOML at its own text", async () => {
  const plain = fc.stringMatching(/^[a-z]{1,6}$/).filter((each) => each !== "extends" && !isForbidden(each));
  const nested = fc.dictionary(plain, fc.dictionary(plain, fc.oneof(number, fc.array(looksLikeMore)), { minKeys: 1 }), {
    minKeys: 1,
  });
  const cwd = mkdtempSync(join(tmpdir(), "hookline-config-"));
  await fc.assert(
    fc.asyncProperty(nested, async (value) => {
      for (const [file, content] of [
        ["c.json", JSON.stringify(value, null, 1)],
        ["c.toml", toToml(value)],
        ["c.yaml", toYaml(value)],
      ] as const) {
        write(cwd, { [file]: content });
        const doc = await readConfig(file, { cwd, env: {} });
        for (const [outer, inner] of Object.entries(value))
          for (const name of Object.keys(inner)) {
            const { line, column } = doc.locate([outer, name])!;
            const found = content.split("\n")[line! - 1]!.slice(column! - 1);
            expect(found.replace(/^["']/, "").startsWith(name), `${content}\n${line}:${column} ${name}`).toBe(true);
          }
      }
    }),
    { numRuns: 100 },
  );
  rmSync(cwd, { recursive: true, force: true });
});

const escaped = (path: readonly string[]): string => path.map((part) => part.replaceAll(/[\\.=]/g, "\\$&")).join(".");
const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((here, part) => (here as Tree)[part], value);

it("sets any value at any path", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(key, { minLength: 1, maxLength: 5 }), tree, tree, async (path, value, before) => {
      const set = [`${escaped(["new", ...path])}=${JSON.stringify(value)}`];
      const { new: _, ...rest } = before;
      const after = (await reading("c.json", JSON.stringify(rest), { set })) as Tree;
      expect(at(after, ["new", ...path])).toEqual(value);
      expect({ ...after, new: undefined }).toEqual({ ...rest, new: undefined });
    }),
    { numRuns: 300 },
  );
});
