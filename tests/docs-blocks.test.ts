// What README.md and docs/ show in other languages than TypeScript: data must be well-formed, programs must parse, and the
// commands and options of `hookline` must be there. For TypeScript see docs.test.ts.
import { execFileSync } from "node:child_process";
import { parse as parseToml } from "smol-toml";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { COMMAND_NAMES, makeProgram } from "../src/cli/program.ts";
import { PAGES, readPage } from "./support/pages.ts";

interface Block {
  readonly where: string;
  readonly language: string;
  readonly text: string;
}

const blocks: Block[] = PAGES.flatMap((page) => {
  const markdown = readPage(page);
  return [...markdown.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map((block) => ({
    where: `${page}:${markdown.slice(0, block.index).split("\n").length}`,
    language: block[1]!,
    text: block[2]!,
  }));
});

/** Words of a command line; comments and what goes into a file are left out. */
function wordsOf(line: string): string[] {
  const words = line.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  const end = words.findIndex((word) => /^[#>|&;]/.test(word));
  return words.slice(0, end < 0 ? undefined : end).map((word) => word.replace(/^(['"])(.*)\1$/, "$2"));
}

/** The arguments of `hookline`, wherever it is called in the line. */
function callOf(line: string): string[] | undefined {
  const words = wordsOf(line.replace(/^.*(?=node_modules\/\.bin\/hookline |npx hookline )/, ""));
  const at = words.findIndex((word) => /^(?:\S*\/)?hookline$/.test(word));
  return at === 0 || (at === 1 && words[0] === "npx") ? words.slice(at + 1) : undefined;
}

/** Reads them as the command line does, and runs nothing. */
async function understand(args: readonly string[]): Promise<void> {
  const program = await makeProgram(COMMAND_NAMES, () => undefined);
  for (const command of program.commands) command.action(() => undefined);
  await program.parseAsync(args, { from: "user" });
}

async function checkShell({ text }: Block): Promise<void> {
  execFileSync("bash", ["-n"], { input: text });
  for (const line of text.replaceAll("\\\n", " ").split("\n")) {
    const args = callOf(line);
    // A script that passes on its own arguments says nothing that could be wrong.
    if (args && !args.includes("$@")) await understand(args);
  }
}

/** Python's own parser, where there is one. */
function checkPython({ text }: Block): void {
  try {
    execFileSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], { input: text, stdio: "pipe" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

const CHECKS: Readonly<Record<string, (block: Block) => unknown>> = {
  sh: checkShell,
  python: checkPython,
  yaml: ({ text }) => parseYaml(text),
  toml: ({ text }) => parseToml(text),
  json: ({ text }) =>
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  // Drawings, trees of files, and what a program prints.
  text: () => undefined,
  ts: () => undefined,
  "ts no-run": ({ text }) => expect(text, "the first line names the file").toMatch(/^\/\/ [\w./-]+\.ts\n/),
};

test("every block says what it is", () => {
  const unknown = blocks.filter(({ language }) => !Object.hasOwn(CHECKS, language));
  expect(unknown.map(({ where, language }) => `${where} \`${language}\``)).toEqual([]);
});

describe("blocks are well-formed", () => {
  const others = blocks.filter(({ language }) => language !== "ts" && language !== "text");
  test.each(others)("$where, $language", async (block) => {
    await expect((async () => CHECKS[block.language]?.(block))()).resolves.not.toThrow();
  });
});

test("a command that is not there is found", async () => {
  await expect(understand(["trane"])).rejects.toThrow("unknown command");
  await expect(understand(["train", "--epoch", "3"])).rejects.toThrow("unknown option");
  expect(callOf("cd x && npx hookline train --json > out.json # trains")).toEqual(["train", "--json"]);
});
