// Conversations rendered by chat templates in the manner of several families: the same texts as from transformers.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TextProcessor } from "../../../src/lm/text/text-processor.ts";
import { readTokenizerFiles } from "../../../src/lm/text/tokenizer-files.ts";
import type { Message } from "../../../src/lm/text/messages.ts";
import { filesOf } from "./tokenizer-fixtures.ts";

interface Case {
  readonly messages: readonly Message[];
  readonly tools?: readonly object[];
  readonly add_generation_prompt?: boolean;
}

const folder = join(import.meta.dirname, "templates");
const read = (file: string): string => readFileSync(join(folder, file), "utf8");
const cases = JSON.parse(read("cases.json")) as Record<string, Case>;
const expected = JSON.parse(read("rendered.json")) as Record<string, Record<string, string | { error: string }>>;
const names = readdirSync(folder).flatMap((file) => (file.endsWith(".jinja") ? [file.replace(".jinja", "")] : []));

/** The package strips all whitespace where a template asks for some: `lstrip('\\n')`. docs/lm-data.md lists it. */
const DIFFERENT: Readonly<Record<string, string>> = { thinking: "whitespace" };

test.each(names)("%s", async (name) => {
  const config = { bos_token: "<|endoftext|>", eos_token: { content: "<|im_end|>", lstrip: false } };
  const files = await readTokenizerFiles(
    filesOf("byte-level", config, { "chat_template.jinja": read(`${name}.jinja`) }),
  );
  const processor = await TextProcessor.load(files, () => {});
  for (const [title, { messages, tools, add_generation_prompt: addGenerationPrompt = false }] of Object.entries(
    cases,
  )) {
    const theirs = expected[name]![title]!;
    const ours = (): string => processor.render({ messages, tools, addGenerationPrompt }, undefined).text;
    if (DIFFERENT[name] === title) expect.soft(ours(), title).toBe((theirs as string).replace("\n spaces", "\nspaces"));
    else if (typeof theirs === "string") expect.soft(ours(), title).toBe(theirs);
    else expect.soft(ours, title).toThrow(theirs.error);
  }
});

const PYTHON = process.env.HOOKLINE_PYTHON ?? "python3";
const present = spawnSync(PYTHON, ["-c", "import transformers"], { stdio: "ignore" }).status === 0;
if (!present) console.warn("chat templates are compared with stored texts alone: pip install transformers");

test.skipIf(!present)("the stored texts are those of transformers", () => {
  const run = spawnSync(PYTHON, [join(import.meta.dirname, "render-templates.py")], { encoding: "utf8" });
  expect(JSON.parse(run.stdout)).toEqual(expected);
});
