// The fetch handler: the same answers as the server, from Request and Response alone.
import { afterAll, expect, test } from "vitest";
import type { Model } from "../../core/model.ts";
import { selectEngine } from "../../engines/select.ts";
import { DEFAULT_BATCH_SIZES } from "../batch-sizes.ts";
import { makePredictor } from "../predictor.ts";
import { TensorCodec } from "../tensor-codec.ts";
import { createPredictHandler } from "./handler.ts";

/** y = 2x. */
const double: Model = {
  init: () => ({ w: { data: Float32Array.of(2), shape: [1] } }),
  apply: ({ w }, x) => x.mul(w!),
};
const predict = makePredictor({
  trained: { model: double, params: double.init(undefined as never), state: {}, inputs: ({ x }) => x! },
  codec: new TensorCodec({ x: { shape: [null, 2, 2], dtype: "float32" } }, undefined),
  engine: await selectEngine("wasm"),
  ownsEngine: true,
  batchSizes: DEFAULT_BATCH_SIZES,
  deadline: 0,
  source: "test",
  metrics: {},
});
afterAll(() => predict.close());

const post = (body: BodyInit, type = "application/json"): Request =>
  new Request("https://example.com/api/predict", {
    method: "POST",
    body,
    headers: { "content-type": type },
    ...(body instanceof ReadableStream && { duplex: "half" }),
  });

test("rows, the description and health", async () => {
  const handler = createPredictHandler(predict);
  const one = await handler(post('{"x": [[1, 2], [3, 4]]}'));
  expect([one.status, one.headers.get("content-type"), await one.json()]).toEqual([
    200,
    "application/json; charset=utf-8",
    {
      output: [
        [2, 4],
        [6, 8],
      ],
    },
  ]);
  const many = await handler(post('[{"x": [[1, 2], [3, 4]]}]', "application/vnd.api+json; charset=utf-8"));
  expect(await many.json()).toHaveLength(1);
  const description = await handler(new Request("https://example.com/api/predict"));
  expect(await description.json()).toMatchObject({ inputs: { x: { shape: [null, 2, 2] } }, source: "test" });
  expect((await handler(new Request("https://example.com/api/health"))).status).toBe(200);
  expect((await handler(new Request("https://example.com/api", { method: "DELETE" }))).status).toBe(405);
});

test("a body without an end is read up to the limit only", async () => {
  const handler = createPredictHandler(predict, { maxBytes: 1000 });
  let sent = 0;
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(100).fill(32)),
    cancel: () => void (cancelled = true),
  });
  const counted = endless.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        sent += chunk.length;
        controller.enqueue(chunk);
      },
    }),
  );
  const response = await handler(post(counted));
  expect([response.status, await response.json()]).toEqual([
    413,
    { error: { message: "The body is larger than 1000 bytes." } },
  ]);
  expect(sent).toBeLessThan(2000);
  expect(cancelled).toBe(true);
});

test("a wrong option is named", () => {
  expect(() => createPredictHandler(predict, { maxRow: 3 } as never)).toThrow("Did you mean `maxRows`?");
});
