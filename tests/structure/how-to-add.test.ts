// CONTRIBUTING.md's "how to add", followed to the letter in a copy of the project: a verb and a logger.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../support/sources.ts";

interface Edit {
  readonly kind: "create" | "insert";
  readonly file: string;
  /** The line before which the code goes. */
  readonly before: string | undefined;
  readonly code: string;
}

const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");

/** The section under a heading, up to the next one. */
const sectionOf = (heading: string): string =>
  page.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";

const editsIn = (section: string): Edit[] =>
  [...section.matchAll(/^```ts (create|insert) (\S+)(?: before `([^`]+)`)?\n([^]*?)^```$/gm)].map(
    ([, kind, file, before, code]) => ({ kind: kind as Edit["kind"], file: file!, before, code: code! }),
  );

const copy = mkdtempSync(join(tmpdir(), "hookline-copy-"));
afterAll(() => rmSync(copy, { recursive: true, force: true }));

beforeAll(() => {
  for (const file of ["src", "package.json", "tsconfig.json", "tsconfig.build.json"]) {
    cpSync(join(root, file), join(copy, file), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
});

function apply({ kind, file, before, code }: Edit): void {
  const path = join(copy, file);
  if (kind === "create") return writeFileSync(path, code, { flag: "wx" });
  const lines = readFileSync(path, "utf8").split("\n");
  const at = lines.findIndex((line) => line.trim() === before);
  expect(at, `${file} has a line \`${before}\``).toBeGreaterThanOrEqual(0);
  lines.splice(at, 0, code.trimEnd());
  writeFileSync(path, lines.join("\n"));
}

/** Compiles the copy, runs a program in it and returns what it printed. */
function run(program: string): string {
  writeFileSync(join(copy, "src/program.ts"), program);
  const call = (...args: string[]): string => execFileSync(process.execPath, args, { cwd: copy, encoding: "utf8" });
  call(join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json", "--outDir", "dist");
  return call("dist/program.js");
}

describe("every way to add something", () => {
  const sections = ["An event", "A verb", "A context field", "A hook", "An optimizer", "A layer", "A logger"];
  const others = ["A weights format", "An engine", "A sampler", "A CLI command"];

  test.each([...sections, ...others])("%s: the page names one to three files, which exist", (heading) => {
    const files = new Set([...sectionOf(heading).matchAll(/^\d\. `([^`]+)`/gm)].map(([, file]) => file!));
    expect(files.size, heading).toBeGreaterThanOrEqual(1);
    expect(files.size, heading).toBeLessThanOrEqual(3);
    // `src/hooks/<name>.ts` is a file to come, in a folder that exists.
    const missing = [...files].filter((file) => !existsSync(join(root, file.replace(/<.*$/, ""))));
    expect(missing).toEqual([]);
  });
});

test("a verb and a logger, as the page says", () => {
  const ofVerb = editsIn(sectionOf("A verb"));
  expect(ofVerb.length).toBeGreaterThan(0);
  const ofLogger = editsIn(sectionOf("A logger"));
  expect(ofLogger.map(({ kind }) => kind)).toEqual(["create", "insert", "insert"]);
  [...ofVerb, ...ofLogger].forEach(apply);
  const printed = run(`
    import { logger } from "./index.ts";
    import { tinyTrainer } from "./testing/index.ts";
    import { componentsIn } from "./core/component.ts";
    import * as loggers from "./loggers/index.ts";
    const result = await tinyTrainer({
      hooks: [{ name: "scribe", onStepEnd: (ctx) => ctx.note("all is well") }],
    }).fit();
    console.log(JSON.stringify(result.interventions[0]));
    await tinyTrainer({ hooks: [logger("counter", { every: 1 })] }).fit();
    console.log(Object.keys(componentsIn(loggers, "logger")).join());
  `);
  expect(JSON.parse(printed.split("\n", 1)[0]!)).toMatchObject({
    who: "scribe",
    event: "stepEnd",
    step: 1,
    what: "note",
    why: "all is well",
  });
  expect(printed).toMatch(/^counter: \d+ records, the last at step 4$/m);
  expect(printed).toContain("console,counter,csv");
});
