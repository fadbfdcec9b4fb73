// The run directory's own record: what the lines look like, going on from a checkpoint, and what is in the way.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { logRecord, runEnd, runFacts } from "../../tests/support/logger-facts.ts";
import { histogram, image, text } from "../core/media.ts";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { LogRecord, RunFacts, RunInfo } from "../runs/types.ts";
import { jsonl, jsonlFiles } from "./jsonl.ts";

let dir: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  dir = join(folder, "runs/a");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const facts = (more: Partial<RunFacts> = {}): RunFacts =>
  runFacts({
    dir,
    hparams: { lr: 0.1, clip: Infinity },
    about: { versions: { hookline: "0.1.0" } },
    totalSteps: 10,
    ...more,
  });
const record = (step: number, scalars: LogRecord["scalars"] = { loss: 1 / step }, media = {}): LogRecord =>
  logRecord(step, { scalars, media });
const END = runEnd({ reason: "done", metrics: { loss: NaN } });

const read = (file: string): string => readFileSync(join(dir, file), "utf8");
const lines = (file: string): unknown[] =>
  read(file)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
const steps = (file = "metrics.jsonl"): unknown[] => lines(file).map((line) => (line as LogRecord).step ?? "header");

async function run(records: readonly LogRecord[], more: Partial<RunFacts> = {}): Promise<void> {
  const backend = jsonl();
  await backend.open(facts(more));
  for (const each of records) backend.log(each);
  await backend.close(END);
}
const upTo = (last: number, first = 1): LogRecord[] =>
  Array.from({ length: last - first + 1 }, (_, i) => record(first + i));

describe("jsonl", () => {
  it("writes a header and a line for each record", async () => {
    await run([record(1), record(2, { loss: 1e-9, "val/loss": 3e21 })]);
    expect(read("metrics.jsonl")).toBe(
      `{"schema":"hookline.metrics","version":1,"run":"id-1","startedAt":1000}\n` +
        `{"step":1,"epoch":0,"time":1001,"elapsed":0.125,"loss":1}\n` +
        `{"step":2,"epoch":0,"time":1002,"elapsed":0.25,"loss":1e-9,"val/loss":3e+21}\n`,
    );
  });

  it("writes numbers that JSON lacks as strings, and names that the record needs with an underscore", async () => {
    const scalars = { a: NaN, b: Infinity, c: -Infinity, epoch: 0.5, 'q"\n': 1, ["__proto__"]: 2 };
    await run([record(1, scalars)]);
    const [, line] = read("metrics.jsonl").split("\n");
    expect(line).toContain(`"a":"NaN","b":"Infinity","c":"-Infinity","epoch_":0.5,"q\\"\\n":1,"__proto__":2}`);
    expect(JSON.parse(line!)).toMatchObject({ epoch: 0, epoch_: 0.5 });
  });

  it("does not repeat what the record says itself", async () => {
    await run([record(1, { epoch: 0, loss: 1 })]);
    expect(Object.keys(lines("metrics.jsonl")[1] as object)).toEqual(["step", "epoch", "time", "elapsed", "loss"]);
  });

  it("writes texts and histograms, and images as files", async () => {
    const media = {
      said: text("NaN\n"),
      grads: histogram([0, 1, 2, 3], { bins: 2 }),
      seen: image({ data: new Uint8Array(4), shape: [2, 2] }),
    };
    await run([record(1, { loss: 2 }, media)]);
    expect(lines("metrics.jsonl")[1]).toEqual({
      step: 1,
      epoch: 0,
      time: 1001,
      elapsed: 0.125,
      loss: 2,
      said: { text: "NaN\n" },
      grads: { edges: [0, 1.5, 3], counts: [2, 2] },
      seen: { image: "media/1-seen.png", shape: [2, 2] },
    });
    expect([...readFileSync(`${dir}/media/1-seen.png`).subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47]);
  });

  it("writes the numbers of a record whose image cannot be written, and fails the next flush", async () => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(`${dir}/media`, "a file");
    const backend = jsonl();
    await backend.open(facts());
    backend.log(record(1, { loss: 2 }, { seen: image({ data: new Uint8Array(4), shape: [2, 2] }) }));
    await expect(backend.flush()).rejects.toThrow("media");
    expect(lines("metrics.jsonl")[1]).toMatchObject({ step: 1, loss: 2 });
    await backend.close(END);
  });

  it("states samples and tokens where they are known", async () => {
    await run([
      { ...record(1, { loss: 2 }), samples: 32, tokens: 640 },
      { ...record(2, { loss: 1 }), samples: 64, tokens: 0 },
    ]);
    expect(lines("metrics.jsonl").slice(1)).toMatchObject([
      { "data/samples": 32, "data/tokens": 640 },
      { "data/samples": 64 },
    ]);
    expect(lines("metrics.jsonl")[2]).not.toHaveProperty("data/tokens");
  });

  it("writes events, whatever is in them", async () => {
    const backend = jsonl();
    await backend.open(facts());
    backend.event!({ type: "save", step: 3, time: 5, details: { name: "step-3", worst: NaN } });
    await backend.flush();
    expect(lines("events.jsonl")).toEqual([
      { schema: "hookline.events", version: 1, run: "id-1", startedAt: 1000 },
      { type: "save", step: 3, time: 5, details: { name: "step-3", worst: "NaN" } },
    ]);
    await backend.close(END);
  });

  const infoNow = (): RunInfo => JSON.parse(read("run.json")) as RunInfo;

  it("says in run.json what was best, also after going on from a checkpoint before it", async () => {
    const losses = [5, 3, 4, 1, 2];
    await run(losses.map((loss, i) => record(i + 1, { loss, lr: i })));
    expect(infoNow().best).toEqual({ loss: { value: 1, step: 4 } });
    // Nothing is cut, so what run.json says still holds.
    await run([record(6, { loss: 9, "val/accuracy": 0.5 })], { resumedAt: 5 });
    expect(infoNow().best).toEqual({ loss: { value: 1, step: 4 }, "val/accuracy": { value: 0.5, step: 6 } });
    await run([record(4, { loss: 7 })], { resumedAt: 3 });
    expect(infoNow().best).toEqual({ loss: { value: 3, step: 2 } });
  });

  it("says in run.json how far it is, some seconds after it began", async () => {
    const backend = jsonlFiles({ name: "jsonl", dir: undefined });
    await backend.open(facts());
    const now = vi.spyOn(performance, "now");
    onTestFinished(() => now.mockRestore());
    backend.log(record(3, { loss: 2, lr: 1 }));
    await backend.flush();
    expect(infoNow().step).toBeUndefined();
    now.mockReturnValue(performance.now() + 60_000);
    await backend.flush();
    expect(infoNow()).toMatchObject({
      status: "running",
      step: 3,
      elapsed: 0.375,
      metrics: { loss: 2, lr: 1 },
      best: { loss: { value: 2, step: 3 } },
    });
    await backend.close(END);
    expect(infoNow()).toMatchObject({ status: "completed", best: { loss: { value: 2, step: 3 } } });
  });

  it("says in run.json what the run is and how it ended", async () => {
    const backend = jsonl();
    await backend.open(facts());
    const begun = {
      schema: "hookline.run",
      version: 1,
      id: "id-1",
      name: "a",
      status: "running",
      startedAt: 1000,
      partStartedAt: 1000,
      resumedAt: null,
      totalSteps: 10,
      hparams: { lr: 0.1, clip: "Infinity" },
      about: { versions: { hookline: "0.1.0" } },
    };
    expect(JSON.parse(read("run.json"))).toEqual(begun);
    await backend.close(END);
    const end = { status: "completed", reason: "done", step: 5, endedAt: 9000, elapsed: 2, metrics: { loss: "NaN" } };
    expect(JSON.parse(read("run.json"))).toEqual({ ...begun, ...end, best: {} });
    await run([], { resumedAt: 3, startedAt: 7000 });
    expect(JSON.parse(read("run.json"))).toMatchObject({ startedAt: 1000, partStartedAt: 7000, resumedAt: 3 });
    expect(readdirSync(dir).sort()).toEqual(["events.jsonl", "metrics.jsonl", "run.json"]);
  });

  it.each([0, 1, 3, 5, 9])("goes on from step %i without a step twice", async (resumedAt) => {
    await run(upTo(5));
    const kept = Math.min(resumedAt, 5);
    await run(upTo(12, resumedAt + 1), { resumedAt });
    expect(steps()).toEqual([
      "header",
      ...upTo(kept).map(({ step }) => step),
      ...upTo(12, resumedAt + 1).map(({ step }) => step),
    ]);
  });

  it("cuts off what is torn or foreign after the last record to keep", async () => {
    await run(upTo(5));
    writeFileSync(join(dir, "metrics.jsonl"), `${read("metrics.jsonl")}not ours\n{"step":4,"epo`);
    await run([record(4)], { resumedAt: 3 });
    expect(steps()).toEqual(["header", 1, 2, 3, 4]);
  });

  it("keeps several records of the step it goes on from", async () => {
    await run([record(1), record(1, { "val/loss": 1 }), record(2)]);
    await run([record(2)], { resumedAt: 1 });
    expect(steps()).toEqual(["header", 1, 1, 2]);
  });

  it.each(["{", `{"schema":"hookline.metrics","ver`, ""])("goes on after a torn header: %j", async (torn) => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "metrics.jsonl"), torn);
    await run([record(1)], { resumedAt: 0 });
    expect(steps()).toEqual(["header", 1]);
    expect(readdirSync(dir)).toHaveLength(3);
  });

  it("puts the files of another run aside", async () => {
    await run(upTo(3));
    await run(upTo(2), { id: "id-2" });
    await run(upTo(1), { id: "id-3" });
    expect([steps(), steps("metrics.1.jsonl"), steps("metrics.2.jsonl")]).toEqual([
      ["header", 1],
      ["header", 1, 2, 3],
      ["header", 1, 2],
    ]);
    expect(JSON.parse(read("run.1.json"))).toMatchObject({ id: "id-1" });
    expect(lines("events.2.jsonl")).toMatchObject([{ run: "id-2" }]);
  });

  it("begins a run that branches off with what both share, and leaves the other as it was", async () => {
    await run(upTo(5));
    await run(upTo(4, 3), { id: "id-2", resumedAt: 2 });
    expect(steps()).toEqual(["header", 1, 2, 3, 4]);
    expect(lines("metrics.jsonl")[0]).toMatchObject({ run: "id-2" });
    expect(steps("metrics.1.jsonl")).toEqual(["header", 1, 2, 3, 4, 5]);
    expect(JSON.parse(read("run.1.json"))).toMatchObject({ id: "id-1", status: "completed" });
    await run(upTo(5, 5), { id: "id-2", resumedAt: 4 });
    expect(steps()).toEqual(["header", 1, 2, 3, 4, 5]);
    expect(readdirSync(dir).filter((name) => name.startsWith("metrics"))).toHaveLength(2);
  });

  it("leaves a file alone that is not ours", async () => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "metrics.jsonl"), "someone's notes");
    await run([record(4)], { resumedAt: 3 });
    expect(read("metrics.1.jsonl")).toBe("someone's notes");
    expect(steps()).toEqual(["header", 4]);
  });

  it("can be opened again by a second fit, and takes what comes after its end", async () => {
    const backend = jsonl();
    await backend.open(facts());
    backend.log(record(1));
    await backend.close(END);
    await backend.open(facts({ resumedAt: 1 }));
    backend.log(record(2));
    backend.flushSync();
    expect(steps()).toEqual(["header", 1, 2]);
    await backend.close(END);
    backend.log(record(3));
    backend.event!({ type: "end", step: 3, time: 0, details: {} });
    await backend.flush();
    await backend.close(END);
    expect(steps()).toEqual(["header", 1, 2]);
  });

  it("needs a directory, says what is in its way, and checks its options", async () => {
    await expect(jsonl().open(facts({ dir: undefined }))).rejects.toThrow(/jsonl: there is no directory.*`runDir:/);
    mkdirSync(join(dir, "metrics.jsonl"), { recursive: true });
    await expect(jsonl().open(facts())).rejects.toThrow(/metrics\.jsonl: a directory stands where the file should be/);
    writeFileSync(join(dir, "file"), "");
    await expect(jsonl({ dir: join(dir, "file/sub") }).open(facts())).rejects.toThrow(
      /a file stands where a directory/,
    );
    expect(() => jsonl({ dri: "x" } as object)).toThrow("jsonl: unknown option `dri`. Did you mean `dir`?");
  });
});
