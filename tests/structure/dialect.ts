// Phrases that readers stumbled over, and the field's words for them. `npx tsx tests/structure/dialect.ts src/core` lists those
// in a folder.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What is written, and what to write instead. CONTRIBUTING.md has the vocabulary. */
const DIALECT: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(?:go(?:es|ing|ne)?|went) on\b/i, "resume, continue"],
  [/\bcut(?:s|ting)? off\b/i, "interrupted, truncated, disconnected"],
  [/\bowe[sd]?\b/i, "pending"],
  [/\bnone of (?:its|the \S+|their) business\b/i, "does not touch, ignores"],
  [/\bwhoever\b/i, "the owner, the caller, a user"],
  [/\btold\b/i, "reported, informed, passed to"],
  [/\b(?:is|are|was|were|be) tried again\b|\btr(?:y|ies) (?:it |them )?again\b/i, "retry"],
  [/\bwith whom\b/i, "process group"],
  [/\blies? where (?:it|they) lies?\b/i, "in place"],
  [/\bwhat is saved\b/i, "snapshot, checkpoint"],
  [/\bat hand\b/i, "current"],
  [/\bso (?:many|much) (?:time|data|steps|epochs|of)\b/i, "this many, a number of"],
  [/\bfor who\b/i, "for observers, for those who"],
  [/\bwould else\b/i, "otherwise … would"],
  [/\bthose of then\b/i, "the saved ones"],
  [/\bthe doing behind\b/i, "the implementation of"],
  [/\bends? their row of\b/i, "resets the count of consecutive"],
  [/\bit is said\b/i, "the message says"],
  [/\banew\b/i, "again, from the start, a new one"],
];

export interface Found {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  readonly instead: string;
}

/** Every page and every source file, without tests, which may quote. */
export const writtenFiles = (under: readonly string[] = []): string[] =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...under], {
    cwd: ROOT,
    encoding: "utf8",
  })
    .split("\n")
    .filter((file) => /^(?:src|docs|examples|bench|README|CONTRIBUTING|CHANGELOG)/.test(file))
    .filter((file) => /\.(?:ts|md)$/.test(file) && !/\.test(?:-d)?\.ts$/.test(file));

export function findDialect(files: readonly string[]): Found[] {
  return files.flatMap((file) =>
    // CONTRIBUTING.md's vocabulary quotes what it replaces.
    readFileSync(`${ROOT}${file}`, "utf8")
      .replace(/^### Vocabulary$[^]*?(?=^#)/m, (section) => section.replaceAll(/[^\n]/g, ""))
      .split("\n")
      .flatMap((text, i) =>
        DIALECT.filter(([pattern]) => pattern.test(text)).map(([, instead]) => ({
          file,
          line: i + 1,
          text: text.trim(),
          instead,
        })),
      ),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = findDialect(writtenFiles(process.argv.slice(2)));
  for (const { file, line, text, instead } of found)
    console.log(`${file}:${line}: ${text.slice(0, 140)}  [${instead}]`);
  console.log(`${found.length} found`);
}
