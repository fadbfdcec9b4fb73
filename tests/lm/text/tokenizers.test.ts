// Ids and decoded texts are those of Hugging Face's Rust library, over ten scripts, code, emoji and random Unicode.
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TextProcessor } from "../../../src/lm/text/text-processor.ts";
import { readTokenizerFiles } from "../../../src/lm/text/tokenizer-files.ts";
import { filesOf, readFixture, TOKENIZERS } from "./tokenizer-fixtures.ts";

const texts = JSON.parse(readFixture("texts.json")) as string[];
const expected = JSON.parse(readFixture("digests.json")) as Record<string, string[]>;

const digest = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);

async function processorOf(name: string): Promise<TextProcessor> {
  return TextProcessor.load(await readTokenizerFiles(filesOf(name)), () => {});
}

function digestOf(processor: TextProcessor, text: string): string {
  const [plain, special] = [processor.encode(text, false, false), processor.encode(text, true, false)];
  return digest([[...plain], [...special], processor.decode(plain, false), processor.decode(special, true)]);
}

/** Tokenizers with byte fallback lose a byte order mark when ids become text: docs/lm-data.md lists it. */
const differs = (name: string, text: string): boolean =>
  ["llama", "metaspace", "gemma"].includes(name) && text.includes("\uFEFF");

test.each(Object.keys(TOKENIZERS))("%s", async (name) => {
  const processor = await processorOf(name);
  const found = texts.map((text) => digestOf(processor, text));
  const different = texts.filter((_, i) => found[i] !== expected[name]![i]);
  expect(different).toEqual(texts.filter((text) => differs(name, text)));
});

const PYTHON = process.env.HOOKLINE_PYTHON ?? "python3";
const env = { ...process.env, TOKENIZERS_PARALLELISM: "false" };
const version = spawnSync(PYTHON, ["-c", "import tokenizers; print(tokenizers.__version__)"], {
  env,
  encoding: "utf8",
});
if (version.status !== 0) console.warn("tokenizers are compared with stored digests alone: pip install tokenizers");

test.skipIf(version.status !== 0)("the stored digests are those of the Rust library", () => {
  const script = join(import.meta.dirname, "make-fixtures.py");
  const files = Object.values(TOKENIZERS);
  const run = spawnSync(PYTHON, [script, "--print", ...files], {
    env,
    input: JSON.stringify(texts),
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  expect(run.stderr).toBe("");
  expect(JSON.parse(run.stdout)).toEqual(Object.keys(TOKENIZERS).map((name) => expected[name]));
});
