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
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { readScalars } from "../../../tests/support/event-file.ts";
import { logRecord, runEnd, runFacts } from "../../../tests/support/logger-facts.ts";
import { image, text } from "../../core/media.ts";
import type { LogRecord, RunEnd, RunFacts } from "../../runs/types.ts";
import { lastRecord } from "./record.ts";
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

it("a new run has a folder of its own: the files of the one before are moved beside it", async () => {
  const tb = join(folder, "tb");
  for (const tag of ["first", "second", "third"]) {
    const backend = tensorboard();
    await backend.open(run());
    backend.log(record(1, { scalars: { [tag]: 1 } }));
    await backend.close(end("completed"));
  }
  const tags = (dir: string): string[] => readScalars(dir).map(({ tag }) => tag);
  expect([tags(tb), tags(`${tb}.1`), tags(`${tb}.2`)]).toEqual([["third"], ["first"], ["second"]]);
  expect(files(`${tb}.1`)[0]!.includes("session_end_info")).toBe(true);
});

it("a resumed run leaves what is no record, and the records of other runs", async () => {
  const foreign = join(folder, "tb", "events.out.tfevents.1.other");
  mkdirSync(join(folder, "tb"));
  writeFileSync(foreign, "_hparams_/session_end_info");
  for (const id of ["one", "two"]) {
    const backend = tensorboard();
    await backend.open(run({ id, resumedAt: 3, lastRecord: { step: 3, count: 1 } }));
    for (const step of [4, 5]) backend.log(record(step, { scalars: { [id]: step } }));
    await backend.close(end("completed"));
  }
  expect(readFileSync(foreign, "utf8")).toBe("_hparams_/session_end_info");
  expect(readScalars(join(folder, "tb")).map(({ tag, step }) => `${tag} ${step}`)).toEqual([
    "one 4",
    "one 5",
    "two 4",
    "two 5",
  ]);
});

describe("a resumed run", () => {
  const tb = (): string => join(folder, "tb");
  const shown = (): string[] => readScalars(tb()).map(({ step, tag, value }) => `${step} ${tag} ${value}`);
  /** A record of the last step of an epoch, and that of the epoch, with something to look at. */
  const step8 = record(8, { scalars: { loss: 0.1, lr: 0.5 } });
  const epoch8 = record(8, { scalars: { loss: 0.1, lr: 0.5, "val/loss": 2 }, media: { note: text("epoch") } });
  const note8 = record(8, { media: { note: text("alone") } });

  type Ends = RunEnd["status"] | "not at all";
  async function part(
    facts: Partial<RunFacts>,
    records: readonly LogRecord[],
    ends: Ends = "completed",
  ): Promise<void> {
    const backend = tensorboard();
    await backend.open(run(facts));
    for (const each of records) backend.log(each);
    await backend.flush?.();
    if (ends !== "not at all") await backend.close(end(ends));
    else onTestFinished(() => backend.close(end("interrupted")));
  }

  it("shows the scalars of a step once, though the record of its epoch repeats them", async () => {
    await part({}, [step8, epoch8, record(9, { scalars: { loss: 0.1 } })]);
    expect(shown()).toEqual([`8 loss ${Math.fround(0.1)}`, "8 lr 0.5", "8 val/loss 2", `9 loss ${Math.fround(0.1)}`]);
  });

  it.each([
    [0, [], ["before"]],
    [1, [`8 loss ${Math.fround(0.1)}`, "8 lr 0.5"], ["before"]],
    [2, [`8 loss ${Math.fround(0.1)}`, "8 lr 0.5", "8 val/loss 2"], ["before", "epoch"]],
    [3, [`8 loss ${Math.fround(0.1)}`, "8 lr 0.5", "8 val/loss 2"], ["before", "epoch", "alone"]],
  ])("keeps %i records of the step before its checkpoint, and logs the others once", async (count, scalars, notes) => {
    const before = record(6, { scalars: { loss: 3 }, media: { note: text("before") } });
    await part({}, [before, step8, epoch8, note8, record(10, { scalars: { loss: 5 } })], "not at all");
    await part({ resumedAt: 8, lastRecord: { step: 8, count } }, []);
    expect(shown()).toEqual(["6 loss 3", ...scalars]);
    const held = Buffer.concat(files(tb()));
    expect(["before", "epoch", "alone"].filter((note) => held.includes(note))).toEqual(notes);
    const rest = [step8, epoch8, note8].slice(count);
    await part({ resumedAt: 8, lastRecord: { step: 8, count } }, [...rest, record(10, { scalars: { loss: 5 } })]);
    expect(shown()).toEqual(["6 loss 3", `8 loss ${Math.fround(0.1)}`, "8 lr 0.5", "8 val/loss 2", "10 loss 5"]);
  });

  it("counts the records of a step over the files of all its parts", async () => {
    await part({}, [record(4, { scalars: { loss: 4 } }), step8]);
    await part({ resumedAt: 8, lastRecord: { step: 8, count: 1 } }, [epoch8]);
    await part({ resumedAt: 8, lastRecord: { step: 8, count: 2 } }, [note8, record(9, { scalars: { loss: 9 } })]);
    await part({ resumedAt: 8, lastRecord: { step: 8, count: 2 } }, [note8, record(9, { scalars: { loss: 10 } })]);
    expect(shown()).toEqual(["4 loss 4", `8 loss ${Math.fround(0.1)}`, "8 lr 0.5", "8 val/loss 2", "9 loss 10"]);
    expect(Buffer.concat(files(tb())).toString("latin1").split("alone")).toHaveLength(2);
  });

  it("keeps what a later call of the trainer appended to the same file", async () => {
    await part({}, [record(4, { scalars: { loss: 4 } })]);
    const continued = { resumedAt: 4, lastRecord: { step: 4, count: 1 }, continued: true };
    await part(
      continued,
      [5, 6, 7].map((step) => record(step, { scalars: { loss: step } })),
    );
    expect(files(tb())).toHaveLength(1);
    await part({ resumedAt: 6, lastRecord: { step: 6, count: 1 } }, [record(7, { scalars: { loss: 70 } })]);
    expect(shown()).toEqual(["4 loss 4", "5 loss 5", "6 loss 6", "7 loss 70"]);
  });

  it("of a checkpoint that does not say keeps all up to its step", async () => {
    await part({}, [step8, epoch8, record(9, { scalars: { loss: 9 } })]);
    await part({ resumedAt: 8 }, [record(9, { scalars: { loss: 10 } })]);
    expect(shown()).toEqual([`8 loss ${Math.fround(0.1)}`, "8 lr 0.5", "8 val/loss 2", "9 loss 10"]);
  });
});

it("hands large amounts to the disk without being asked, and the rest at a flush", async () => {
  const backend = tensorboard();
  await backend.open(run());
  const file = join(folder, "tb", readdirSync(join(folder, "tb"))[0]!);
  const scalars = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`metric/${i}`, i]));
  for (let step = 1; step < 150; step++) backend.log(record(step, { scalars }));
  await expect.poll(() => statSync(file).size).toBeGreaterThan(256 * 1024);
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
