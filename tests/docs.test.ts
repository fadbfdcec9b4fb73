// The samples in README.md and docs/ are compiled and run: the `ts` blocks of a page, joined, are one program.
// A fence of "ts no-run" is a file of its own, under the name in its first line, and is compiled only. A page of vitest
// samples registers its tests here. What is in other languages: tests/docs-blocks.test.ts.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { anchorsOf } from "../docs/lib/headings.ts";
import { PAGES, readPage } from "./support/pages.ts";
import { root } from "./support/sources.ts";

// A folder with a dot: the root's own tsc, lint and format leave it alone, and git ignores it. Each process has its own,
// so that two runs of these tests do not remove each other's programs.
const folder = join(root, `tests/.samples/${process.pid}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Page {
  readonly name: string;
  readonly code: string;
  readonly file: string;
}

/** The page's blocks, each at the line it has in the page, so that errors point to the right place. */
function samplesOf(markdown: string): string {
  let inside = false;
  const lines = markdown.split("\n").map((line) => {
    const fence = /^```(.*)$/.exec(line);
    if (!fence) return inside ? line : "";
    inside = !inside && fence[1]!.trim() === "ts";
    return "";
  });
  return lines.join("\n");
}

/** The blocks of a page that are files which the reader is to have, in a folder for the page. */
function writeFilesOf(name: string): void {
  const blocks = readPage(name).matchAll(/^```ts no-run\n\/\/ (\S+)\n([^]*?)^```$/gm);
  for (const [, path, code] of blocks) {
    const file = join(folder, name.replaceAll(/[/.]/g, "-"), path!);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `// ${path}\n${code}`);
  }
}

function writePages(): Page[] {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const pages = PAGES.map((name) => ({
    name,
    code: samplesOf(readPage(name)),
    file: join(folder, `${name.slice(0, -".md".length).toLowerCase().replaceAll("/", "-")}.ts`),
  })).filter(({ code }) => code.trim() !== "");
  for (const { code, file } of pages) writeFileSync(file, `${code}\nexport {};\n`);
  for (const name of PAGES) writeFilesOf(name);
  const config = {
    extends: "../../../tsconfig.json",
    include: ["**/*.ts"],
    compilerOptions: { noUnusedLocals: false },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return pages;
}

const pages = writePages();
const usesVitest = ({ code }: Page): boolean => code.includes('from "vitest"');

test("README and docs have samples", () => {
  expect(pages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["README.md", "docs/hooks.md", "docs/testing.md"]),
  );
});

test("links to our own files and their headings lead somewhere", () => {
  const broken = [...PAGES, "CONTRIBUTING.md"].flatMap((name) =>
    [...readPage(name).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)]
      .filter(([, target, anchor]) => {
        const file = target === "" ? name : join(dirname(name), target!);
        if (!existsSync(join(root, file))) return true;
        return anchor !== undefined && file.endsWith(".md") && !anchorsOf(readPage(file)).includes(anchor);
      })
      .map(([link]) => `${name} → ${link.slice(2, -1)}`),
  );
  expect(broken).toEqual([]);
});

test("all samples compile", async () => {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const problems = await promisify(execFile)(process.execPath, [tsc, "-p", folder]).then(
    () => "",
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
  );
  expect(problems).toBe("");
});

describe("samples run", () => {
  beforeEach(() => void vi.spyOn(console, "log").mockImplementation(() => undefined));
  afterEach(() => void vi.restoreAllMocks());

  test.each(pages.filter((page) => !usesVitest(page)))("$name", async ({ file }) => {
    await expect(import(file)).resolves.toBeDefined();
  });
});

for (const page of pages.filter(usesVitest)) {
  // Awaited while vitest collects, so that the page's tests become tests of this file.
  await import(page.file);
}
