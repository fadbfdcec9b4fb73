// The HTTP server with a real predictor over a real socket: answers, refusals, limits, and its end.
import { request as httpRequest, Agent } from "node:http";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type Model } from "../../core/model.ts";
import { DEFAULT_BATCH_SIZES } from "../../predict/batch-sizes.ts";
import { makePredictor } from "../../predict/predictor.ts";
import { TensorCodec } from "../../predict/tensor-codec.ts";
import type { Predictor } from "../../predict/types.ts";
import { selectEngine } from "../../engines/select.ts";
import type { PredictHandlerOptions } from "../../predict/http/answer.ts";
import { predictService } from "./predict-service.ts";
import { startServer, type RunningServer } from "./server.ts";

/** y = 2x + 1. */
const line: Model = {
  init: () => ({ w: { data: Float32Array.of(2), shape: [1] }, b: { data: Float32Array.of(1), shape: [1] } }),
  apply: ({ w, b }, x) => x.mul(w!).add(b!),
};

const started: { predict: Predictor; server: RunningServer }[] = [];
afterEach(async () => {
  for (const { predict, server } of started.splice(0)) {
    await server.close(100);
    await predict.close();
  }
});

interface Start extends PredictHandlerOptions {
  readonly batchSizes?: readonly number[];
  readonly deadline?: number;
}

/** A server with a predictor whose batches wait for `deadline` milliseconds. */
async function start({ batchSizes = DEFAULT_BATCH_SIZES, deadline = 0, ...options }: Start = {}) {
  const predict = makePredictor({
    trained: { model: line, params: line.init(undefined as never), state: {}, inputs: ({ x }) => x! },
    codec: new TensorCodec({ x: { shape: [null, 1], dtype: "float32" } }, undefined),
    engine: await selectEngine("wasm"),
    ownsEngine: true,
    batchSizes,
    deadline,
    source: "test",
    metrics: { "val/loss": 0.5 },
  });
  const server = await startServer(predictService(predict, options), { host: "127.0.0.1", port: 0 });
  started.push({ predict, server });
  return { predict, server, url: server.url };
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/predict`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body),
  });

test("one row, many rows, health and the model's description", async () => {
  const { url } = await start();
  expect(await (await post(url, { x: [3] })).json()).toEqual({ output: [7] });
  expect(await (await post(url, [{ x: [1] }, { x: [2] }])).json()).toEqual([{ output: [3] }, { output: [5] }]);
  expect(await (await post(url, [])).json()).toEqual([]);
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok", pending: 0 });
  expect(await (await fetch(url)).json()).toMatchObject({
    inputs: { x: { shape: [null, 1], dtype: "float32" } },
    metrics: { "val/loss": 0.5 },
    engine: "wasm",
    stats: { rows: 3 },
  });
});

test("200 concurrent requests are answered as each would be alone, in four batches", async () => {
  const { url, predict } = await start({ batchSizes: [50], deadline: 1e6 });
  const asked = Array.from({ length: 200 }, (_, i) => i / 8);
  const answers = await Promise.all(asked.map(async (x) => (await post(url, { x: [x] })).json()));
  expect(answers).toEqual(asked.map((x) => ({ output: [2 * x + 1] })));
  expect(predict.stats).toEqual({ rows: 200, batches: 4, pending: 0 });
});

test.each<[string, string | object, Record<string, string>, number, string]>([
  ["no JSON", "{", {}, 400, "The body is not valid JSON."],
  ["no body", "", {}, 400, "The body is not valid JSON."],
  ["bytes that are no text", Uint8Array.of(34, 255, 34), {}, 400, "The body is not valid JSON."],
  ["a number", "3", {}, 400, "Send one row as an object, or several as an array of objects."],
  ["null", "null", {}, 400, "Send one row as an object"],
  ["a missing input", { y: 1 }, {}, 400, "Row 0, column `x`: it is missing."],
  ["a string for a number", [{ x: [1] }, { x: ["1"] }], {}, 400, "Row 1, column `x`: expected numbers of shape [1]"],
  ["an infinite number", '{"x": [1e999]}', {}, 400, "Row 0, column `x`: expected numbers of shape [1]"],
  ["null for a row", [null], {}, 400, "Row 0: expected an object of inputs by name, got `null`."],
  ["deep nesting", `{"x": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`, {}, 400, "Row 0, column `x`"],
  ["a polluting key", '{"__proto__": {"x": [1]}}', {}, 400, "Row 0, column `x`: it is missing."],
  ["another type", "x=1", { "content-type": "application/x-www-form-urlencoded" }, 415, "Send JSON"],
  ["too many rows", Array.from({ length: 1001 }, () => ({ x: [1] })), {}, 413, "has 1001 rows; at most 1000"],
  ["a large body", `[${" ".repeat(2 ** 20)}]`, {}, 413, "The body is larger than 1048576 bytes."],
])("%s is the client's mistake", async (_name, body, headers, status, message) => {
  const { url } = await start();
  const response = await post(url, body, headers);
  const { error } = (await response.json()) as { error: { message: string } };
  expect([response.status, error.message]).toEqual([status, expect.stringContaining(message)]);
  expect(({} as { x?: unknown }).x).toBeUndefined();
  expect(JSON.stringify(error)).not.toMatch(/\bat .*\.ts|node_modules/);
  expect(await (await post(url, { x: [3] })).json()).toEqual({ output: [7] });
});

test("a bad row says which row and which column it is", async () => {
  const { url } = await start();
  const { error } = (await (await post(url, [{ x: [1] }, {}])).json()) as { error: object };
  expect(error).toMatchObject({ row: 1, column: "x" });
});

test("paths, methods and names that it does not know", async () => {
  const { url } = await start();
  expect((await fetch(`${url}/..%2f..%2fetc/passwd`)).status).toBe(404);
  const put = await fetch(url, { method: "PUT", body: "{}" });
  expect([put.status, put.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  const head = await fetch(`${url}/health`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  const status = await new Promise((resolve) => {
    httpRequest(url, { headers: { host: "evil.example" } }, (response) => resolve(response.resume().statusCode)).end();
  });
  expect(status).toBe(403);
});

test("beyond the queue's limit it answers 503 with Retry-After, and goes on", async () => {
  const { url, predict } = await start({ maxQueue: 4, deadline: 1e6 });
  const waiting = Promise.all([1, 2, 3].map((x) => post(url, { x: [x] })));
  while (predict.stats.pending < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  const refused = await post(url, [{ x: [1] }, { x: [2] }]);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  await predict.close();
  expect((await waiting).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test("a request that waits too long gets 503, and its rows leave the queue", async () => {
  const { url, predict } = await start({ timeout: 20, deadline: 1e6 });
  const late = await post(url, { x: [1] });
  expect([late.status, await late.json()]).toEqual([
    503,
    { error: { message: "The prediction took longer than 20 ms." } },
  ]);
  expect(predict.stats.pending).toBe(0);
});

test("the rows of a client that has gone leave the queue", async () => {
  const { server, predict } = await start({ deadline: 1e6 });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  const body = '{"x": [1]}';
  socket.write(
    `POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  while (predict.stats.pending < 1) await new Promise((resolve) => setTimeout(resolve, 1));
  socket.destroy();
  while (predict.stats.pending > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(predict.stats.rows).toBe(0);
});

test("the end answers what has arrived, and ends idle connections", async () => {
  const { url, server, predict } = await start({ deadline: 200 });
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const ask = (x: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const request = httpRequest(`${url}/predict`, {
        method: "POST",
        agent,
        headers: { "content-type": "application/json" },
      });
      request.on("response", (response) => resolve(response.resume().statusCode!));
      request.on("error", reject);
      request.end(JSON.stringify({ x: [x] }));
    });
  const pending = Array.from({ length: 20 }, (_, i) => ask(i));
  while (predict.stats.pending < 20) await new Promise((resolve) => setTimeout(resolve, 1));
  await server.close(10_000);
  expect(new Set(await Promise.all(pending))).toEqual(new Set([200]));
  await expect(post(url, { x: [1] })).rejects.toThrow("fetch failed");
  agent.destroy();
});

test("errors of the model are the server's, and say nothing of its code", async () => {
  const errors: unknown[] = [];
  const { url, predict } = await start({ onError: (error) => errors.push(error) });
  await predict.close();
  const response = await post(url, { x: [1] });
  expect([response.status, await response.json()]).toEqual([
    500,
    { error: { message: "The model could not be computed. The server's log says why." } },
  ]);
  expect(errors).toHaveLength(1);
});
