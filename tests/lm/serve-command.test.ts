// `hookline serve` on the folder of a language model: answers as OpenAI's interface does, and ends in good order.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { encodeSafetensors, fromHostArrays } from "hookline/checkpoint";
import { initKey } from "hookline/nn";
import { tempDir } from "../support/temp-dir.ts";
import { CHATML, SMALL, textModel } from "./text-model.ts";
import { readFixture } from "./text/tokenizer-fixtures.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

/** The folder of a small model. */
async function folder(): Promise<string> {
  const path = tempDir();
  const weights = (await textModel()).init(initKey(0));
  writeFileSync(join(path, "model.safetensors"), encodeSafetensors(fromHostArrays(weights)));
  writeFileSync(join(path, "config.json"), JSON.stringify({ ...SMALL, eos_token_id: 2 }));
  writeFileSync(join(path, "tokenizer.json"), readFixture("byte-level.json"));
  writeFileSync(join(path, "tokenizer_config.json"), JSON.stringify({ chat_template: CHATML }));
  return path;
}

test("a folder is served until a signal comes", async () => {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", MAIN, "serve", await folder(), "--port", "0", "--engine", "wasm", "--max-tokens", "9"],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(child, "exit");
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const { value: line } = (await lines.next()) as { value: string };
    const url = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(line)?.[0];
    expect(url, line).toBeDefined();
    const ask = (body: object): Promise<Response> =>
      fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }], ...body }),
      });
    const { choices, usage } = (await (await ask({})).json()) as {
      choices: [{ message: { content: string } }];
      usage: { completion_tokens: number };
    };
    expect(choices[0].message.content).not.toBe("");
    expect(usage.completion_tokens).toBeLessThanOrEqual(9);
    expect((await ask({ max_tokens: 10 })).status).toBe(400);
  } finally {
    child.kill("SIGTERM");
  }
  expect((await ended)[0]).toBe(0);
});
