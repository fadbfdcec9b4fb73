// Requests to a thread and their answers, in whatever order they come, and what its end means for those that wait.
import { expect, onTestFinished, test } from "vitest";
import { CheckpointError } from "../core/errors.ts";
import { Thread, type ThreadOptions } from "./thread.ts";

type Answered = { readonly said: unknown; readonly buffer?: ArrayBuffer };

/** A thread that runs `body` for each request, with `answer`, `fail` and `port` at hand. */
function start(body: string, options: Partial<ThreadOptions<string>> = {}): Thread<unknown, Answered, string> {
  const text = `
    const { port, data } = process.getBuiltinModule("node:worker_threads").workerData;
    port.on("message", ({ id, request, close }) => {
      if (close) process.exit();
      const answer = (answer, transfer) => port.postMessage({ id, answer }, transfer);
      const fail = (failure) => port.postMessage({ id, failure });
      ${body}
    });`;
  const thread = new Thread<unknown, Answered, string>({ name: "the thread", script: { text }, data: 7, ...options });
  onTestFinished(() => thread.close());
  return thread;
}

test("answers find their requests, in whatever order they come", async () => {
  const thread = start("setTimeout(() => answer({ said: request + data }), 50 - 10 * request);");
  expect(await Promise.all([1, 2, 3].map((number) => thread.request(number)))).toEqual([
    { said: 8 },
    { said: 9 },
    { said: 10 },
  ]);
});

test("buffers move there and back", async () => {
  const thread = start("new Uint8Array(request)[0]++; answer({ said: 0, buffer: request }, [request]);");
  const buffer = new Uint8Array([41]).buffer;
  const { buffer: back } = await thread.request(buffer, [buffer]);
  expect(buffer.byteLength).toBe(0);
  expect(new Uint8Array(back!)).toEqual(new Uint8Array([42]));
});

test("an answer that has arrived is there without a turn of the event loop", async () => {
  const cells = new Int32Array(new SharedArrayBuffer(4));
  const thread = start("answer({ said: request }); Atomics.store(data, 0, 1); Atomics.notify(data, 0);", {
    data: cells,
  });
  const pending = thread.ask("now");
  Atomics.wait(cells, 0, 0, 20_000);
  expect(thread.wait(pending)).toEqual({ said: "now" });
});

test("failures come back as what they were", async () => {
  const thread = start(
    `fail({ kind: "checkpoint", message: "a: it is torn. Remove it.", file: "a", reason: "it is torn", cause: "", stack: "there" });`,
  );
  const error = await thread.request(1).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(CheckpointError);
  expect(error).toMatchObject({
    message: "a: it is torn. Remove it.",
    file: "a",
    reason: "it is torn",
    stack: "there",
  });
});

test("what it says unasked is a notice", async () => {
  const heard: string[] = [];
  const thread = start("port.postMessage({ notice: request }); answer({ said: 1 });", {
    onNotice: (notice) => heard.push(notice),
  });
  await thread.request("hello");
  expect(heard).toEqual(["hello"]);
});

test("its end fails those that wait, once the answers that it sent are taken, and all that follow", async () => {
  const ends: Error[] = [];
  const thread = start("if (request === 1) answer({ said: 1 }); else throw new Error('broken');", {
    onEnd: (error) => ends.push(error),
  });
  const [first, second] = await Promise.allSettled([thread.request(1), thread.request(2)]);
  expect(first).toMatchObject({ status: "fulfilled" });
  expect(second).toMatchObject({ reason: { message: "the thread has failed: broken" } });
  expect(thread.hasEnded).toBe(true);
  await expect(thread.request(3)).rejects.toThrow("the thread has failed: broken");
  expect(() => thread.send(3)).toThrow("the thread has failed: broken");
  expect(ends).toHaveLength(1);
});

test("closed, it ends after the request at hand, and that is no failure of its own", async () => {
  const ends: Error[] = [];
  const thread = start("answer({ said: 1 });", { onEnd: (error) => ends.push(error) });
  await thread.request(1);
  await thread.close();
  expect(ends).toEqual([]);
  await expect(thread.request(2)).rejects.toThrow("the thread was closed");
});
