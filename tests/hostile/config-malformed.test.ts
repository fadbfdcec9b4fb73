// Configs that cannot be read: a ConfigError that points to the line and column, and says why. Nothing is created.
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/experiment/config/read-config.ts";
import { problemOf, projectOf, read } from "../support/config-files.ts";
import { MALFORMED } from "./config-malformed-cases.ts";
import { marked } from "./config-marked.ts";

it("has at least 200 of them", () => {
  expect(new Set(MALFORMED.map(({ file, text }) => file + text)).size).toBeGreaterThanOrEqual(200);
});

it.each(MALFORMED.map((each) => ({ ...each, label: JSON.stringify(each.text.slice(0, 60)) })))(
  "$file $label",
  async ({ file, text, says }) => {
    const { text: clean, position } = marked(text);
    const cwd = projectOf({ [file]: clean });
    const error = await problemOf(readConfig(file, { cwd }));
    expect(error.message).toContain(says);
    expect(error.position).toEqual({ file, ...position });
    expect(readdirSync(cwd).sort()).toEqual([file, "package.json"].sort());
  },
);

describe("files that are no text", () => {
  const bytes = (...parts: (string | number[])[]): Uint8Array =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));

  it.each<[string, Uint8Array, string, number, number]>([
    ["a stray byte", bytes("a: 1\nb: x", [0xff], "\n"), "not UTF-8", 2, 5],
    ["a cut character", bytes("a: \uFFFD ok\nb: ", [0xe2, 0x82]), "not UTF-8", 2, 4],
    ["Latin-1", bytes("n: caf", [0xe9], "\n"), "not UTF-8", 1, 7],
    ["UTF-16, little end first", Buffer.from("\uFEFFa: 1", "utf16le"), "UTF-16", 1, 1],
    ["UTF-16, big end first", Buffer.from("\uFEFFa: 1", "utf16le").swap16(), "UTF-16", 1, 1],
    ["a NUL", bytes("a: 1\nb: ", [0], "\n"), "U+0000", 2, 4],
    ["an escape", bytes("a: \u001b[31m\n"), "U+001B", 1, 4],
  ])("%s", async (_, content, says, line, column) => {
    for (const file of ["c.yaml", "c.json", "c.toml"]) {
      const error = await problemOf(read({ [file]: content }));
      expect(error.message).toContain(says);
      expect(error.position).toEqual({ file, line, column });
    }
  });

  it("more than a config may have is refused before it is read", async () => {
    for (const file of ["c.yaml", "c.json", "c.toml", "c.mjs"]) {
      const cwd = projectOf({ [file]: "" });
      // A hole of 10 GB, which Node cannot read at once: whoever tries fails in another way.
      truncateSync(join(cwd, file), 10_000_000_000);
      const error = await problemOf(readConfig(file, { cwd }));
      expect(error.message).toContain(`${file}:1:1: The file has 10000000 kB; a config may have 256.`);
    }
  });

  it.each(["c.yaml", "c.json", "c.toml", "c.ts"])("a directory %s, and no file at all", async (file) => {
    expect(
      (await problemOf(read({ [file]: "", [`d/${file}/x`]: "" }, { cwd: projectOf({ [`${file}/x`]: "" }) }))).message,
    ).toContain("a directory");
    const cwd = projectOf({ [file.replace("c.", "cc.")]: "" });
    expect((await problemOf(readConfig(file, { cwd }))).message).toContain(`There is no file ${file}.`);
  });
});

/** What hangs fails by this limit; how long it takes otherwise is the machine's business. */
describe("bombs", () => {
  const nested = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);
  const lol = [
    "a: &a [x, x, x, x, x, x, x, x, x, x]",
    ..."bcdefghij".split("").map((key, i) => `${key}: &${key} [${`*${"abcdefghij"[i]}, `.repeat(10)}]`),
  ].join("\n");

  it.each([
    ["aliases of aliases", "c.yaml", lol, "Aliases stand for more than"],
    ["lists in lists, YAML", "c.yaml", `a: ${nested("[", "]", 10_000)}`, "deep"],
    ["maps in maps, YAML", "c.yaml", `${"{a: ".repeat(4000)}1${"}".repeat(4000)}`, "deep"],
    ["entries in entries, YAML", "c.yaml", `a:\n ${"- ".repeat(7000)}1`, "deep"],
    ["more lists in lists, YAML", "c.yaml", `a: ${nested("[", "]", 30_000)}`, "more than 30000 words and marks"],
    ["more maps in maps, YAML", "c.yaml", `${"{a: ".repeat(40_000)}1${"}".repeat(40_000)}`, "more than 30000"],
    ["more entries in entries, YAML", "c.yaml", `a:\n ${"- ".repeat(20_000)}1`, "more than 30000"],
    ["a long list, YAML", "c.yaml", `a: [${"1,".repeat(120_000)}]`, "c.yaml:1:"],
    ["many lines, YAML", "c.yaml", "- 1\n".repeat(60_000), "c.yaml:6001:1: The text has more than 30000"],
    ["comments, YAML", "c.yaml", "# c\n".repeat(60_000), "more than 30000"],
    ["a seed of 400 digits, YAML", "c.yaml", `seed: ${"9".repeat(400)}`, "c.yaml:1:7: seed: 9999999999"],
    ["a seed of 400 digits, JSON", "c.json", `{"seed": ${"9".repeat(400)}}`, "has more digits than a number keeps"],
    ["a seed of 400 digits, TOML", "c.toml", `seed = ${"9".repeat(400)}`, "c.toml:1:"],
    ["lists in lists, JSON", "c.json", `{"a": ${nested("[", "]", 100_000)}}`, "deep"],
    ["lists in lists, TOML", "c.toml", `a = ${nested("[", "]", 100_000)}`, "nested"],
    ["dots in a key, TOML", "c.toml", `${"a.".repeat(100_000)}a = 1`, "deep"],
    ["dots in a header, TOML", "c.toml", `[${"a.".repeat(100_000)}a]`, "deep"],
  ])("%s", async (_, file, text, says) => {
    const error = await problemOf(read({ [file]: text }));
    expect(error.message).toContain(says);
    expect(error.message.length).toBeLessThan(500);
  });

  it("aliases cost what their values would", async () => {
    const [aliases, values] = ["*a,", "10,"].map((item) => `a: &a 1\nb: [${item.repeat(9000)}]\n`);
    const cpu: Record<"aliases" | "values", number> = { aliases: Infinity, values: Infinity };
    for (let round = 0; round < 3; round++)
      for (const [name, text] of Object.entries({ aliases: aliases!, values: values! })) {
        const before = process.cpuUsage();
        expect((await read({ "c.yaml": text })).value.b).toHaveLength(9000);
        const { user, system } = process.cpuUsage(before);
        cpu[name as "aliases"] = Math.min(cpu[name as "aliases"], user + system);
      }
    // About 1; where each alias walks the document it is some hundreds.
    expect(cpu.aliases / cpu.values).toBeLessThan(10);
  });

  it("an alias stands for the anchor that was last before it", async () => {
    const text = "a: &x 1\nb: *x\nc: &x [2]\nd: *x\n? &k key\n: *k\n";
    expect((await read({ "c.yaml": text })).value).toEqual({ a: 1, b: 1, c: [2], d: [2], key: "key" });
    expect((await problemOf(read({ "c.yaml": "a: *x\nb: &x 1\n" }))).message).toContain("There is no anchor `&x`");
  });

  it("as much as a file may hold is read in time", async () => {
    const entry = "x".repeat(90);
    const text = Array.from({ length: 2400 }, (_, i) => `k${i}: "${entry}"`).join("\n");
    expect(Object.keys((await read({ "c.yaml": text })).value)).toHaveLength(2400);
  });
});

describe("modules", () => {
  it.each([
    ["throws", "throw new TypeError('no data here')", "threw on import: TypeError: no data here"],
    ["throws no error", "throw 5", "threw on import: 5"],
    ["no default export", "export const config = {}", "no default export"],
    ["a function that throws", "export default () => { throw new Error('not now') }", "threw Error: not now"],
    ["a function that rejects", "export default async () => { throw new Error('not now') }", "threw Error: not now"],
    ["a number", "export default 5", "Expected a map of options"],
    ["a list", "export default []", "Expected a map of options"],
    ["nothing", "export default undefined", "Expected plain data"],
    ["an instance", "export default new Map()", "Expected a map of options"],
    ["part of itself", "const a = { b: {} }; a.b.a = a; export default a", "b.a: This object is part of itself"],
    ["a bigint", "export default { a: [1n] }", "a.0: Expected plain data"],
    ["a symbol", "export default { a: Symbol('x') }", "a: Expected plain data"],
    ["a missing import", "import './nope.mjs'; export default {}", "does not exist"],
    ["a missing package", "import 'no-such-package-here'; export default {}", "does not exist"],
  ])("%s", async (_, text, says) => {
    for (const file of ["c.mjs", "c.ts"]) {
      const error = await problemOf(read({ [file]: text }));
      expect(error.message).toContain(says);
      expect(error.message).toContain(file);
    }
  });
});
