// Tokenizers and templates are data from outside: those that hang, print without end or are damaged give an error in
// bounded time, and the process stays able to work.
import { expect, onTestFinished, test } from "vitest";
import { loadTokenizer, type LoadedTokenizer } from "../../../src/lm/text/tokenizer.ts";
import type { TextFiles } from "../../../src/lm/text/tokenizer-files.ts";
import { filesInMemory, filesOf, readFixture } from "./tokenizer-fixtures.ts";

async function load(files: TextFiles): Promise<LoadedTokenizer> {
  const tokenizer = await loadTokenizer(files);
  onTestFinished(() => tokenizer.close());
  return tokenizer;
}

const withTemplate = (template: string): TextFiles => filesOf("byte-level", { chat_template: template });
const hello = [{ role: "user", content: "Hello" }];

/** Longer than the deadline of five seconds, and shorter than what they would take without it. */
const SOON_MS = 60_000;

test("a thread answers as the package does, and starts again after it was stopped", async () => {
  const hangs =
    "{% if messages[0].content == 'hang' %}{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}{% endif %}{{ messages[0].content }}";
  const tokenizer = await load(withTemplate(hangs));
  expect(tokenizer.decode(tokenizer.encode("The river", { addSpecialTokens: false }))).toBe("The river");
  const start = performance.now();
  const late = tokenizer.render([{ role: "user", content: "hang" }]);
  // What waits behind it gets an answer or the same error, but does not wait longer.
  const behind = tokenizer.render(hello).catch((error: Error) => error.message);
  await expect(late).rejects.toThrow(/models\/test: its tokenizer or its chat template has not finished after 5 s/);
  expect(performance.now() - start).toBeLessThan(SOON_MS);
  expect(await behind).toMatch(/has not finished|closed/);
  expect(await tokenizer.render(hello)).toBe("Hello");
  expect(tokenizer.tokenId("<|im_end|>")).toBe(2);
});

test("a pattern that hangs, from callers that cannot await", async () => {
  const json = JSON.parse(readFixture("byte-level.json")) as { pre_tokenizer: object };
  json.pre_tokenizer = { type: "Split", pattern: { Regex: "(a+)+$" }, behavior: "Isolated", invert: false };
  const tokenizer = await load(filesInMemory({ "tokenizer.json": JSON.stringify(json) }));
  const start = performance.now();
  expect(() => tokenizer.encode(`${"a".repeat(60)}b`)).toThrow(
    /has not finished after 5 s on one text of \d+ characters/,
  );
  expect(performance.now() - start).toBeLessThan(SOON_MS);
  expect(tokenizer.decode(tokenizer.encode("b", { addSpecialTokens: false }))).toBe("b");
});

test.each([
  ["that raises", "{{ raise_exception('only poems') }}", /refuses this conversation: only poems/],
  ["that is no template", "{% if %}", /The chat template cannot be read: /],
  [
    "that prints without end",
    "{% for i in range(90000) %}{{ 'many words ' * 5 }}{% endfor %}",
    /printed \d+ characters|refuses/,
  ],
  ["with a list that fills the memory", "{% for i in range(1000000000) %}{% endfor %}", /range of 1000000000 numbers/],
  [
    "that doubles a text",
    "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
    /refuses this conversation: Invalid string length|printed/,
  ],
])("a template %s", async (_, template, message) => {
  const tokenizer = await load(withTemplate(template));
  await expect(tokenizer.render(hello)).rejects.toThrow(message);
  expect(tokenizer.encode("a").length).toBeGreaterThan(0);
});

test("a template whose lists fill the memory ends its thread, not the process", async () => {
  const doubles =
    "{% set ns = namespace(x=[1,2,3,4]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}";
  const tokenizer = await load(withTemplate(doubles));
  await expect(tokenizer.render(hello)).rejects.toThrow(/memory limit|has not finished|refuses/);
  expect(tokenizer.encode("a").length).toBeGreaterThan(0);
});

test.each([
  ["not JSON", "{", /models\/test\/tokenizer.json is not JSON/],
  ["of something else", "{}", /models\/test\/tokenizer.json cannot be used/],
])("a tokenizer.json %s", async (_, text, message) => {
  await expect(loadTokenizer(filesInMemory({ "tokenizer.json": text }))).rejects.toThrow(message);
});

test("a folder without one", async () => {
  await expect(loadTokenizer(filesInMemory({ "tokenizer.model": "" }))).rejects.toThrow(
    "models/test has no tokenizer.json. Its tokenizer.model is of another format. transformers writes one",
  );
});
