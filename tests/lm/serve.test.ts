// A language model behind OpenAI's interface: what clients get, what they are refused, and what happens when they go.
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { createChatHandler, generate, generator } from "hookline/lm";
import { chatService } from "../../src/cli/serve/chat-service.ts";
import { startServer } from "../../src/cli/serve/server.ts";
import { ENGINE } from "./engines.ts";
import { textModel } from "./text-model.ts";

const model = await textModel();
const writer = generator(model, { engine: ENGINE, rows: 4 });
afterAll(() => writer.close());
const errors: unknown[] = [];
const OPTIONS = { name: "small", maxTokens: 50, maxQueue: 4, onError: (error: unknown) => void errors.push(error) };
const handler = createChatHandler(writer, OPTIONS);

const HELLO = [{ role: "user", content: "Hello" }];
const CHAT = { model: "small", messages: HELLO, max_tokens: 8, temperature: 0 };

const post = (body: unknown, path = "chat/completions", init: RequestInit = {}): Promise<Response> =>
  handler(
    new Request(`http://localhost/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
    }),
  );

interface Piece {
  readonly object: string;
  readonly choices: readonly {
    delta?: { role?: string; content?: string };
    text?: string;
    finish_reason: string | null;
  }[];
  readonly usage?: object | null;
}

/** The events of a stream. */
async function events(response: Response): Promise<{ pieces: Piece[]; last: string }> {
  const all = (await response.text()).split("\n\n").map((event) => event.replace(/^data: /, ""));
  const data = all.filter((event) => event !== "");
  return { pieces: data.slice(0, -1).map((event) => JSON.parse(event) as Piece), last: data.at(-1)! };
}

const settled = async (): Promise<void> => {
  while (writer.pending > 0) await new Promise((resolve) => setImmediate(resolve));
};

test("a conversation and a text get the answers of generate, whole and as a stream", async () => {
  const expected = await generate(writer, HELLO, { maxTokens: 8, temperature: 0 }).text();
  const whole = await post(CHAT);
  const prompt_tokens = model.tokenizer.encode(await model.tokenizer.render(HELLO, { addGenerationPrompt: true }), {
    addSpecialTokens: false,
  }).length;
  const usage = { prompt_tokens, completion_tokens: 8, total_tokens: prompt_tokens + 8 };
  expect([whole.status, await whole.json()]).toEqual([
    200,
    {
      id: expect.stringMatching(/^chatcmpl-/),
      object: "chat.completion",
      created: expect.any(Number),
      model: "small",
      choices: [
        { index: 0, message: { role: "assistant", content: expected }, logprobs: null, finish_reason: "length" },
      ],
      usage,
    },
  ]);
  const streamed = await post({ ...CHAT, stream: true, stream_options: { include_usage: true } });
  expect(streamed.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const { pieces, last } = await events(streamed);
  expect(last).toBe("[DONE]");
  expect(pieces[0]).toMatchObject({ object: "chat.completion.chunk", choices: [{ delta: { role: "assistant" } }] });
  expect(pieces.map(({ choices }) => choices[0]?.delta?.content ?? "").join("")).toBe(expected);
  expect(pieces.at(-2)!.choices[0]!.finish_reason).toBe("length");
  expect(pieces.at(-1)).toMatchObject({ choices: [], usage });

  const continued = await generate(writer, "Hello", { maxTokens: 8, temperature: 0 }).text();
  const text = { prompt: "Hello", max_tokens: 8, temperature: 0 };
  expect(await (await post(text, "completions")).json()).toMatchObject({
    object: "text_completion",
    choices: [{ text: continued, finish_reason: "length" }],
  });
  const parts = await events(await post({ ...text, stream: true }, "completions"));
  expect(parts.pieces.map(({ choices }) => choices[0]!.text).join("")).toBe(continued);
});

test("seed, temperature and stop do what they say; null is as if absent", async () => {
  const ask = async (more: object): Promise<{ content: string; finish: string }> => {
    const { choices } = (await (await post({ ...CHAT, temperature: 1, ...more })).json()) as {
      choices: [{ message: { content: string }; finish_reason: string }];
    };
    return { content: choices[0].message.content, finish: choices[0].finish_reason };
  };
  const first = await ask({ seed: 3, stop: null, n: 1, tools: [], frequency_penalty: 0 });
  expect(await ask({ seed: 3 })).toEqual(first);
  expect((await ask({ seed: 4 })).content).not.toBe(first.content);
  const stop = first.content.slice(3, 6);
  expect(await ask({ seed: 3, stop: [stop] })).toEqual({
    content: first.content.slice(0, first.content.indexOf(stop)),
    finish: "stop",
  });
});

test("models, health and other paths", async () => {
  const get = (path: string, method = "GET"): Promise<Response> =>
    handler(new Request(`http://localhost${path}`, { method }));
  expect(await (await get("/v1/models")).json()).toMatchObject({
    object: "list",
    data: [{ id: "small", object: "model" }],
  });
  expect(await (await get("/health")).json()).toEqual({ status: "ok", pending: 0 });
  expect((await get("/v1/chat/completions")).status).toBe(405);
  expect((await get("/v1/models", "DELETE")).status).toBe(405);
});

describe("what is refused, in OpenAI's form", () => {
  test.each<[string, unknown, number, string, string | null]>([
    ["no JSON", "{", 400, "The body is not valid JSON.", null],
    ["no messages", {}, 400, "messages is `undefined`", "messages"],
    ["a message without a role", { messages: [{ content: "x" }] }, 400, "messages[0]", "messages"],
    [
      "an image",
      { messages: [{ role: "user", content: [{ type: "image_url" }] }] },
      400,
      "reads text only",
      "messages",
    ],
    ["another model", { ...CHAT, model: "gpt-4" }, 404, "There is no model `gpt-4` here, only `small`.", "model"],
    ["two answers", { ...CHAT, n: 2 }, 400, "`n` may only be 1.", "n"],
    ["tools", { ...CHAT, tools: [{ type: "function" }] }, 400, "`tools` is not supported.", "tools"],
    ["JSON output", { ...CHAT, response_format: { type: "json_object" } }, 400, "only be text", "response_format"],
    ["a temperature", { ...CHAT, temperature: 3 }, 400, "must be a number from 0 to 2, got `3`", "temperature"],
    ["too many tokens", { ...CHAT, max_tokens: 51 }, 400, "at most 50 are allowed", "max_tokens"],
    [
      "a long prompt",
      { ...CHAT, messages: [{ role: "user", content: "z".repeat(3000) }] },
      400,
      "the model's context has 600",
      null,
    ],
    ["a large body", " ".repeat(2 ** 20 + 1), 413, "larger than 1048576 bytes", null],
  ])("%s", async (_, body, status, message, param) => {
    const response = await post(body);
    const { error } = (await response.json()) as { error: { message: string; param: string | null } };
    expect([response.status, error]).toEqual([
      status,
      {
        message: expect.stringContaining(message),
        type: "invalid_request_error",
        param,
        code: expect.toBeOneOf([null, "model_not_found"]),
      },
    ]);
    expect(errors).toEqual([]);
  });

  test("another type of body, and more requests than may wait", async () => {
    expect((await post(CHAT, "chat/completions", { headers: { "content-type": "text/plain" } })).status).toBe(415);
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => post(CHAT)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
    expect(answers[4]!.headers.get("retry-after")).toBe("1");
    expect(await answers[4]!.json()).toMatchObject({ error: { type: "rate_limit_error", code: "queue_full" } });
    expect((await post(CHAT)).status).toBe(200);
  });
});

test("several clients are answered at the same time, each as if it were alone", async () => {
  const texts = ["Hello", "The parcel is late", "1 + 1 =", "x"];
  const ask = async (content: string): Promise<unknown> => {
    const body = { ...CHAT, messages: [{ role: "user", content }], temperature: 1, seed: 2 };
    const { choices } = (await (await post(body)).json()) as { choices: unknown };
    return choices;
  };
  const alone: unknown[] = [];
  for (const text of texts) alone.push(await ask(text));
  expect(await Promise.all(texts.map(ask))).toEqual(alone);
});

test("a client that goes ends its answer: over the web's own request, and over a socket", async () => {
  const control = new AbortController();
  const response = await post({ ...CHAT, max_tokens: 50, stream: true }, "chat/completions", {
    signal: control.signal,
  });
  const reader = response.body!.getReader();
  await reader.read();
  expect(writer.pending).toBe(1);
  await reader.cancel();
  await settled();

  const server = await startServer(chatService(writer, OPTIONS), { host: "127.0.0.1", port: 0 });
  try {
    const asked = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...CHAT, max_tokens: 50, stream: true }),
    });
    const pieces = asked.body!.getReader();
    await pieces.read();
    await pieces.cancel();
    await settled();
    expect((await fetch(`${server.url}/v1/else`)).status).toBe(404);
  } finally {
    await server.close(1000);
  }
});

const PYTHON = process.env.HOOKLINE_PYTHON ?? "/usr/bin/python3";
const hasClient = spawnSync(PYTHON, ["-c", "import openai"]).status === 0;

// pip install openai
test.skipIf(!hasClient)("OpenAI's own client understands all of it", async () => {
  const server = await startServer(chatService(writer, OPTIONS), { host: "127.0.0.1", port: 0 });
  try {
    const script = fileURLToPath(new URL("./openai-client.py", import.meta.url));
    const { stdout } = await promisify(execFile)(PYTHON, ["-W", "ignore", script, `${server.url}/v1`]);
    const said = JSON.parse(stdout) as Record<string, unknown>;
    const expected = await generate(writer, HELLO, { maxTokens: 8, temperature: 0 }).text();
    expect(said).toEqual({
      models: ["small"],
      chat: expected,
      streamed: expected,
      usage: 8,
      text: await generate(writer, "Hello", { maxTokens: 8, temperature: 0 }).text(),
      refused: ["BadRequestError", "n", 400],
      unknown: "NotFoundError",
    });
  } finally {
    await server.close(1000);
  }
});
