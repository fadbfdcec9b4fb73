// The backend: where it writes, when, and what it says. That the files are right is tests/interop/tensorboard.test.ts.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { logRecord, runEnd, runFacts } from "../../tests/support/logger-facts.ts";
import { image, text } from "../core/media.ts";
import type { LogRecord, RunEnd, RunFacts } from "./backend.ts";
import { lastRecord } from "./formats/record.ts";
import { tensorboard } from "./tensorboard.ts";

let folder = "";
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "tb-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (more: Partial<RunFacts> = {}): RunFacts =>
  runFacts({ dir: folder, startedAt: 1.7e12, hparams: { lr: 0.1 }, ...more });
const record = (step: number, more: Partial<LogRecord> = {}): LogRecord =>
  logRecord(step, { time: 1.7e12 + step, ...more });
const end = (status: RunEnd["status"]): RunEnd => runEnd({ status, step: 9, time: 1.7e12 });
const files = (dir: string): Buffer[] =>
  readdirSync(dir)
    .sort()
    .map((name) => readFileSync(join(dir, name)));

it("checks its options", () => {
  expect(() => tensorboard({ dir: "" })).toThrow("Expected `dir` to be a non-empty string");
  expect(() => tensorboard({ folder: "x" } as object)).toThrow("unknown option `folder`");
});

it("writes to the run's directory or the one it is given, and needs one of them", async () => {
  const backend = tensorboard();
  expect(backend.name).toBe("tensorboard");
  await backend.open(run());
  await backend.close(end("completed"));
  expect(readdirSync(join(folder, "tb"))).toHaveLength(1);
  const other = tensorboard({ dir: join(folder, "other"), name: "second" });
  await other.open(run({ dir: undefined }));
  await other.close(end("completed"));
  expect(readdirSync(join(folder, "other"))).toHaveLength(1);
  await expect(async () => tensorboard().open(run({ dir: undefined }))).rejects.toThrow("Give the trainer a `runDir`");
});

it("shows the run before its first step, and a part's file for each part", async () => {
  const backend = tensorboard();
  await backend.open(run());
  expect(files(join(folder, "tb"))[0]!.includes("session_start_info")).toBe(true);
  await backend.close(end("interrupted"));
  await backend.open(run({ resumedAt: 5 }));
  await backend.close(end("completed"));
  const [first, second] = files(join(folder, "tb"));
  // TensorBoard believes the first end that it reads.
  expect(first!.includes("session_end_info")).toBe(false);
  expect(second!.includes("session_end_info")).toBe(true);
});

it.each(["error", "completed"] as const)("a part that ended (%s) and goes on has no end any more", async (status) => {
  const scalars = { loss: 1 };
  for (const [i, ends] of [status, status, "completed" as const].entries()) {
    const backend = tensorboard();
    await backend.open(run({ resumedAt: i === 0 ? undefined : 5 * i }));
    backend.log(record(5 * i + 1, { scalars }));
    await backend.close(end(ends));
  }
  const parts = files(join(folder, "tb"));
  expect(parts.map((part) => part.includes("session_end_info"))).toEqual([false, false, true]);
  // What came before it is all there, and nothing is left of it.
  expect(parts.map((part) => lastRecord(part) !== undefined && part.includes("loss"))).toEqual([true, true, true]);
});

it("a new run leaves the end of an old one, and a resumed one what is no record", async () => {
  const foreign = join(folder, "tb", "events.out.tfevents.1.other");
  mkdirSync(join(folder, "tb"));
  writeFileSync(foreign, "_hparams_/session_end_info");
  const ends = async (resumedAt: number | undefined): Promise<number> => {
    const backend = tensorboard();
    await backend.open(run({ resumedAt }));
    await backend.close(end("completed"));
    return files(join(folder, "tb")).filter((part) => part.includes("session_end_info")).length - 1;
  };
  expect([await ends(undefined), await ends(undefined), await ends(3)]).toEqual([1, 2, 1]);
  expect(readFileSync(foreign, "utf8")).toBe("_hparams_/session_end_info");
});

it("hands large amounts to the disk without being asked, and the rest at a flush", async () => {
  const backend = tensorboard();
  await backend.open(run());
  const file = join(folder, "tb", readdirSync(join(folder, "tb"))[0]!);
  const scalars = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`metric/${i}`, i]));
  for (let step = 1; step < 150; step++) backend.log(record(step, { scalars }));
  await vi.waitFor(() => expect(statSync(file).size).toBeGreaterThan(256 * 1024));
  const written = statSync(file).size;
  await backend.flush?.();
  expect(statSync(file).size).toBeGreaterThan(written);
  await backend.close(end("completed"));
});

it("has images in the file after a flush, in the order of their steps", async () => {
  const backend = tensorboard();
  await backend.open(run());
  const sizes = [400, 4, 300, 3];
  sizes.forEach((size, step) => {
    const data = Uint8Array.from({ length: size * size }, (_, i) => (i * i) % 251);
    backend.log(record(step + 1, { media: { [`image-${step}`]: image({ data, shape: [size, size] }) } }));
  });
  backend.log(record(5, { media: { note: text("after") } }));
  await backend.flush?.();
  const [bytes] = files(join(folder, "tb"));
  const places = sizes.map((_, step) => bytes!.indexOf(`image-${step}`));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places[0]).toBeGreaterThan(0);
  expect(bytes!.includes("after")).toBe(true);
  await backend.close(end("completed"));
});

it("says when the directory cannot be made, before the first step", async () => {
  writeFileSync(join(folder, "tb"), "a file");
  await expect(tensorboard().open(run())).rejects.toThrow("EEXIST");
  expect(existsSync(join(folder, "tb"))).toBe(true);
});

it("does nothing outside a run", async () => {
  const backend = tensorboard();
  backend.log(record(1));
  await backend.flush?.();
  await backend.close(end("error"));
  expect(readdirSync(folder)).toEqual([]);
});
