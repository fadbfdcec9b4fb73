// What is wrong with a line of examples, with the file and the line, all of them before training.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReadExamplesOptions } from "../../../src/lm/text/examples/options.ts";
import { readExamples } from "../../../src/lm/text/examples/read-examples.ts";
import { loadTokenizer, type LoadedTokenizer } from "../../../src/lm/text/tokenizer.ts";
import { filesOf, readFixture } from "./tokenizer-fixtures.ts";

let tokenizer: LoadedTokenizer;

beforeAll(async () => {
  tokenizer = await loadTokenizer(filesOf("byte-level", { chat_template: readFixture("../templates/gemma.jinja") }));
});

afterAll(() => tokenizer.close());

async function errorOf(text: string, options?: ReadExamplesOptions): Promise<string> {
  const error: unknown = await readExamples({ text }, tokenizer, options).catch((cause: unknown) => cause);
  return (error as Error).message;
}

const good = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}';

test("rows are no longer than the model's context", async () => {
  const model = { tokenizer, architecture: { vocabularySize: tokenizer.vocabularySize, contextLength: 64 } };
  await expect(readExamples({ text: good }, model, { length: 65 })).rejects.toThrow(
    "`length` is 65, but the model reads at most 64 tokens (its context).",
  );
  expect((await readExamples({ text: good }, model)).statistics.length).toBe(64);
});

describe("a line", () => {
  test.each([
    ['{"text": "a"', /^text:1: this line is not JSON: /],
    ["[1, 2]", /^text:1: expected an object such as {"text": "…"}, got/],
    ['{"mesages": []}', /^text:1: unknown keys `mesages`\. Did you mean `messages` for `mesages`\? {"messages"/],
    ['{"conversations": [{"from": "human", "value": "x"}]}', /Did you mean `messages` for `conversations`\?/],
    ['{"instruction": "a", "output": "b"}', /Did you mean `prompt` for `instruction`\?/],
    ['{"a": 1}', /unknown keys `a`\. Expected messages, or prompt \+ chosen \+ rejected/],
    [
      '{"prompt": "a", "response": "b"}',
      /^text:1: `completion` is missing\. Did you mean `completion` for `response`\?/,
    ],
    ['{"prompt": "a"}', /^text:1: `completion` is missing\. Expected {"prompt"/],
    ['{"messages": [{"role": "user", "content": "a"}], "tool": []}', /unknown key `tool`\. Did you mean `tools`\?/],
    ['{"messages": []}', /`messages` is `\[\]` \(array\)\. Expected a list such as/],
    [
      '{"messages": [{"from": "human", "value": "x"}]}',
      /`messages`\[0\] has no `role` \(a string\)\. Rename `from` to `role`/,
    ],
    [
      '{"messages": [{"role": "assistent", "content": "x"}]}',
      /unknown role `"assistent"` \(string\)\. Did you mean `assistant`\?/,
    ],
    ['{"messages": [{"role": "user", "content": " "}]}', /`messages`\[0\] \(user\) has empty `content`\./],
    ['{"messages": [{"role": "user", "content": [{"type": "text"}]}]}', /has a list as `content`: only text/],
    ['{"messages": [{"role": "user"}]}', /`messages`\[0\] has no `content` \(a string\)/],
    ['{"messages": [{"role": "user", "content": "x"}]}', /^text:1: no message of the assistant: nothing to learn\./],
    [
      '{"messages": [{"role": "system", "content": "x"}, {"role": "assistant", "content": "y"}]}',
      /refuses this conversation: the system role is not supported/,
    ],
    [
      '{"messages": [{"role": "user", "content": "x"}], "tools": "weather"}',
      /`tools` is `"weather"` \(string\)\. Expected a list/,
    ],
    ['{"text": ""}', /^text:1: `text` is empty\./],
    ['{"text": 7}', /^text:1: `text` is `7` \(number\)\. Expected a string\./],
    [
      '{"prompt": "a", "completion": [{"role": "assistant", "content": "b"}]}',
      /`prompt` and `completion` must both be strings, or both/,
    ],
    ['{"ids": [1, 2.5]}', /^text:1: `ids` is .*Expected a list of whole numbers\./],
    ['{"ids": [1, 99999]}', /^text:1: id 99999 at 1 is not in the vocabulary of \d+\./],
    ['{"ids": [1, 2], "labels": [1]}', /`ids` has 2 numbers and `labels` 1\./],
    ['{"ids": [1, 2], "labels": [-100, 99999]}', /label 99999 at 1 is neither an id of the vocabulary nor -100\./],
    ['{"ids": [1, 2], "labels": [-100, -100]}', /nothing of it counts/],
    ['{"ids": [1]}', /nothing of it counts: there is no token to predict\./],
  ])("%s", async (line, message) => {
    expect(await errorOf(line)).toMatch(message);
  });
});

test("kinds are not mixed", async () => {
  expect(await errorOf(`${good}\n\n{"text": "a"}`)).toBe(
    "text:3: this line is of the kind text, and the first one of messages. Put them into files of their own.",
  );
});

test("all lines that are wrong are listed, up to 20", async () => {
  const three = await errorOf([good, "{", good, '{"messages": 1}', good, '{"text": "a"}'].join("\n"));
  expect(three.split("\n").map((line) => line.slice(0, 7))).toEqual(["text:2:", "text:4:", "text:6:"]);
  const many = await errorOf(Array.from({ length: 50 }, () => "{").join("\n"));
  expect(many.split("\n")).toHaveLength(21);
  expect(many).toMatch(/\nThere are more; reading stopped after line 50\.$/);
});

test("an empty file, no file, and text that is none", async () => {
  expect(await errorOf("\n \n")).toBe("text is empty: it has no lines.");
  await expect(readExamples("/nowhere/a.jsonl", tokenizer)).rejects.toThrow("/nowhere/a.jsonl: there is no such file.");
  await expect(readExamples(new Blob([Uint8Array.of(0xff, 0xfe, 0xfd, 0xfc)]), tokenizer)).rejects.toThrow(/blob/);
});

test("messages without a template, with two ways out", async () => {
  const without = await loadTokenizer(filesOf("gpt2"));
  await expect(readExamples({ text: good }, without)).rejects.toThrow(
    "models/test has no chat template, which `messages` need. Give one (`template`), or write the data as `prompt` and `completion`.",
  );
  await without.close();
});

test("a template whose answers begin nowhere", async () => {
  // The first message is only written while it is the last one.
  const template = "{% for m in messages %}{% if loop.last %}{{ m.role + ': ' + m.content }}{% endif %}{% endfor %}";
  expect(await errorOf(good, { template })).toMatch(
    /^text:1: the chat template writes the messages before answer 1 otherwise/,
  );
});

test("a tokenizer that hangs is reported with the line", async () => {
  const template =
    "{% if messages[0].content == 'hang' %}{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}{% endif %}{{ messages[0].content }}";
  const line = '{"messages": [{"role": "user", "content": "hang"}, {"role": "assistant", "content": "x"}]}';
  expect(await errorOf(`${good}\n${good}\n${line}`, { template })).toMatch(
    /after 5 s on one text of \d+ characters, line 3 of the data/,
  );
});

test("options", async () => {
  expect(await errorOf(good, { lenght: 3 } as ReadExamplesOptions)).toBe(
    "readExamples: unknown option `lenght`. Did you mean `length`?",
  );
  expect(await errorOf(good, { loss: "answers" as "all" })).toMatch(
    /Expected `loss` to be one of "assistant", "last", "all"/,
  );
});
