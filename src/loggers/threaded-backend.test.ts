import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { logRecord, runEnd, runFacts } from "../../tests/support/logger-facts.ts";
import type { LogRecord, RunFacts } from "../runs/types.ts";
import { csv } from "./csv.ts";
import { jsonl } from "./jsonl.ts";
import fc from "fast-check";
import { histogram, image, text } from "../core/media.ts";
import { BatchWriter, recordsOf } from "./threaded-backend.ts";

// The logging thread: one for all, gone when it is not used, and what happens when it fails or cannot be had.

type Threads = ReturnType<typeof process.getBuiltinModule<"node:worker_threads">>;
type Thread = InstanceType<Threads["Worker"]>;
const threads = process.getBuiltinModule("node:worker_threads");

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  onTestFinished(() => void vi.restoreAllMocks());
  onTestFinished(() => void vi.useRealTimers());
});

const facts = (): RunFacts => runFacts({ dir });
const record = (step: number): LogRecord => logRecord(step, { scalars: { loss: step } });
const END = runEnd();
const steps = (): number => readFileSync(join(dir, "metrics.jsonl"), "utf8").trimEnd().split("\n").length - 1;

/** Each test with a thread of its own: modules anew, and the threads that they start. */
async function fresh(): Promise<{ jsonl: typeof jsonl; csv: typeof csv; started: Thread[] }> {
  vi.resetModules();
  const started: Thread[] = [];
  const { Worker } = threads;
  vi.spyOn(threads, "Worker").mockImplementation(function (...args) {
    const thread = new Worker(...args);
    started.push(thread);
    return thread;
  });
  return { ...(await import("./jsonl.ts")), ...(await import("./csv.ts")), started };
}

it("one thread serves all backends, and ends when none has used it for a while", async () => {
  const { jsonl, csv, started } = await fresh();
  const backends = [jsonl(), csv()];
  await Promise.all(backends.map(async (backend) => backend.open(facts())));
  expect(started).toHaveLength(1);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const ended = new Promise((resolve) => void started[0]!.once("exit", resolve));
  for (const backend of backends) {
    backend.log(record(1));
    await backend.close(END);
  }
  vi.advanceTimersByTime(60_000);
  await ended;
  vi.useRealTimers();
  const another = jsonl();
  await another.open(facts());
  await another.close(END);
  expect(started).toHaveLength(2);
});

it("a flush that is not awaited has written all when it returns", async () => {
  const backend = jsonl();
  await backend.open(facts());
  for (let step = 1; step <= 10_000; step++) backend.log(record(step));
  backend.flushSync();
  expect(steps()).toBe(10_000);
  await backend.close(END);
});

it("whoever logs without end waits for the thread, and nothing is lost", async () => {
  const backend = jsonl();
  await backend.open(facts());
  for (let step = 1; step <= 300_000; step++) backend.log(record(step));
  await backend.close(END);
  expect(steps()).toBe(300_000);
});

it("a thread that fails is an error of those that use it, and the next run has another", async () => {
  const { jsonl, started } = await fresh();
  const backend = jsonl();
  await backend.open(facts());
  backend.log(record(1));
  await started[0]!.terminate();
  await expect(backend.flush()).rejects.toThrow("the logging thread has failed: it stopped");
  expect(() => backend.flushSync()).toThrow("the logging thread has failed");
  await expect(backend.close(END)).rejects.toThrow("the logging thread has failed");
  const next = jsonl();
  await next.open(facts());
  next.log(record(1));
  await next.close(END);
  expect(steps()).toBe(1);
});

it("a thread that fails does not take training with it: the next flush tells", async () => {
  const { jsonl, started } = await fresh();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const backend = jsonl();
  await backend.open(facts());
  await started[0]!.terminate();
  backend.log(record(1));
  // Here an error would come out; in a process it would end it.
  vi.advanceTimersByTime(1000);
  expect(vi.getTimerCount()).toBe(0);
  await expect(backend.flush()).rejects.toThrow("the logging thread has failed: it stopped");
  await expect(backend.close(END)).rejects.toThrow("the logging thread has failed");
});

it("without a thread the same files are written here, and one line says so", async () => {
  vi.resetModules();
  vi.spyOn(threads, "Worker").mockImplementation(function () {
    throw new Error("none left");
  });
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { jsonl } = await import("./jsonl.ts");
  const { csv } = await import("./csv.ts");
  for (const backend of [jsonl(), csv()]) {
    await backend.open(facts());
    for (let step = 1; step <= 100; step++) backend.log(record(step));
    backend.flushSync();
    await backend.close(END);
  }
  expect(steps()).toBe(100);
  expect(readFileSync(join(dir, "metrics.csv"), "utf8").trimEnd().split("\n")).toHaveLength(101);
  expect(warn.mock.calls).toEqual([["hookline: what is logged is written on the training thread: none left"]]);
});

// Records that go to another thread arrive as they were.

const recordWith = (more: Partial<LogRecord>): LogRecord => logRecord(1, more);

/** There and back, through what a thread makes of it. */
const sent = (writer: BatchWriter): LogRecord[] => [...recordsOf(structuredClone(writer.take()))];

const names = fc.constantFrom("loss", "lr", "val/loss", "__proto__", "1", "constructor", "");
const scalars = fc.array(fc.tuple(names, fc.double())).map((entries) => Object.fromEntries(entries));
const media = fc.constantFrom<LogRecord["media"]>({}, {}, {}, { said: text("hi") }, { w: histogram([1, 2, 3]) });
const records = fc.array(
  fc.record({ step: fc.nat(), epoch: fc.nat(), time: fc.nat(), elapsed: fc.double(), scalars, media }),
);

it("whatever their metrics are, in every batch", () => {
  fc.assert(
    fc.property(records, records, (first, second) => {
      const writer = new BatchWriter({ images: false });
      for (const batch of [first, second]) {
        for (const each of batch) writer.add(each);
        expect(writer.isEmpty).toBe(batch.length === 0);
        const arrived = sent(writer);
        expect(arrived).toEqual(batch);
        expect(arrived.map((each) => Object.keys(each.scalars))).toEqual(
          batch.map((each) => Object.keys(each.scalars)),
        );
        expect(writer.isEmpty).toBe(true);
      }
    }),
  );
});

it("more than there was room for", () => {
  const writer = new BatchWriter({ images: false });
  const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`metric/${i}`, i]));
  const all = [recordWith({}), recordWith({ scalars: wide }), recordWith({ scalars: { loss: NaN } })];
  for (const each of all) writer.add(each);
  expect(sent(writer)).toEqual(all);
});

it("names once for all records that share them", () => {
  const writer = new BatchWriter({ images: false });
  for (let step = 1; step <= 100; step++) writer.add(recordWith({ step, scalars: { loss: 1 / step, lr: 0.1 } }));
  writer.add(recordWith({ step: 100, scalars: { "val/loss": 1 } }));
  expect(writer.take().shapes).toEqual([
    { names: ["loss", "lr"], count: 100 },
    { names: ["val/loss"], count: 1 },
  ]);
});

it("pixels only where they are wanted", () => {
  const shown = { x: image({ data: new Uint8Array(4).fill(7), shape: [2, 2] }), note: text("x") };
  for (const images of [true, false]) {
    const writer = new BatchWriter({ images });
    writer.add(recordWith({ media: shown }));
    const [{ media: arrived }] = sent(writer) as [LogRecord];
    expect(arrived).toEqual(images ? shown : { ...shown, x: { ...shown.x, pixels: new Uint8Array(0) } });
  }
  expect(shown.x.pixels.length).toBe(4);
});
