// docs/hooks-reference.md: every built-in has its section, and every test in the table of options exists.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../support/sources.ts";
import { BUILT_INS } from "./built-ins.ts";

const page = readFileSync(join(root, "docs/hooks-reference.md"), "utf8");

it.each(Object.keys(BUILT_INS))("%s has a section with a sample", (name) => {
  const section = page.split(`\n### ${name}\n`)[1]?.split(/\n##/)[0] ?? "";
  expect(section).toMatch(new RegExp(`\`\`\`ts\n[^]*\\b${name}\\(`));
});

describe("the table of options", () => {
  const rows = [...page.matchAll(/^\| (\w+) \| (.+?) \| (.+?) \| `(.+?)`: (.+?) \|$/gm)].map(
    ([, system, option, , file, title]) => ({ system, option, file: file!, title: title! }),
  );

  it("has rows of every system whose documents name options for these hooks", () => {
    expect(new Set(rows.map(({ system }) => system))).toEqual(new Set(["callbacks", "HookManager", "MTF", "Kempner"]));
    // Every row was understood.
    expect(rows).toHaveLength(page.split("\n| --- | --- | --- | --- |\n")[1]!.trim().split("\n").length);
  });

  it.each(rows)("$system, $option: its test is there", ({ file, title }) => {
    expect(existsSync(join(root, file))).toBe(true);
    const titles = [...readFileSync(join(root, file), "utf8").matchAll(/\(\s*["'](.+?)["'],/g)].map(
      ([, text]) => text!,
    );
    expect(titles.filter((text) => text.includes(title))).not.toEqual([]);
  });
});
