// The table: growing columns, quoting, going on from a checkpoint.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { logRecord, runEnd, runFacts } from "../../tests/support/logger-facts.ts";
import { image, text } from "../core/media.ts";
import type { LogRecord, RunFacts } from "../runs/types.ts";
import { csv } from "./csv.ts";

let dir: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  dir = join(folder, "runs/a");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const facts = (resumedAt?: number): RunFacts => runFacts({ dir, resumedAt, totalSteps: 10 });
const record = (step: number, scalars: LogRecord["scalars"], media: LogRecord["media"] = {}): LogRecord =>
  logRecord(step, { scalars, media });
const END = runEnd();
const read = (): string => readFileSync(join(dir, "metrics.csv"), "utf8");
const table = (): string[][] =>
  read()
    .trimEnd()
    .split("\n")
    .map((row) => row.split(","));

async function run(records: readonly LogRecord[], resumedAt?: number, flushEvery = Infinity): Promise<void> {
  const backend = csv();
  await backend.open(facts(resumedAt));
  for (const [i, each] of records.entries()) {
    backend.log(each);
    if ((i + 1) % flushEvery === 0) await backend.flush();
  }
  await backend.close(END);
}

describe("csv", () => {
  const records = [record(1, { loss: 0.5 }), record(2, { "val/loss": NaN, loss: 1e-9 }), record(3, { acc: -Infinity })];

  it.each([1, 2, Infinity])("has a column for each metric, flushed every %d records", async (every) => {
    await run(records, undefined, every);
    expect(read()).toBe(
      "step,epoch,time,elapsed,loss,val/loss,acc\n" +
        "1,0,1001,0.125,0.5,,\n" +
        "2,0,1002,0.25,1e-9,NaN,\n" +
        "3,0,1003,0.375,,,-Infinity\n",
    );
    expect(readdirSync(dir)).toEqual(["metrics.csv"]);
  });

  it("widens a table that is longer than what is read at once", async () => {
    const count = 30_000;
    const many = Array.from({ length: count }, (_, i) => record(i + 1, { loss: i / 7 }));
    await run([...many, record(count + 1, { late: 1 })]);
    const rows = table();
    expect(rows).toHaveLength(count + 2);
    expect(rows.every((row) => row.length === 6)).toBe(true);
    expect(rows.slice(1, -1).every((row, i) => row[0] === `${i + 1}` && row[4] === `${i / 7}` && row[5] === "")).toBe(
      true,
    );
    expect(rows.at(-1)).toEqual([`${count + 1}`, "0", `${1001 + count}`, `${(count + 1) / 8}`, "", "1"]);
  });

  it("quotes, keeps a row a line, and leaves spreadsheets no formula", async () => {
    const media = { a: text('=HYPERLINK("x")'), b: text("two\r\nlines, a comma"), c: text("\n=1"), d: text("plain") };
    const pixels = image({ data: new Uint8Array(4), shape: [2, 2] });
    await run([record(1, { "@x": -1, "a,b": 2, epoch: 3 }, { ...media, seen: pixels })]);
    expect(read()).toBe(
      `step,epoch,time,elapsed,'@x,"a,b",epoch_,a,b,c,d\n` +
        `1,0,1001,0.125,-1,2,3,"'=HYPERLINK(""x"")","two lines, a comma",' =1,plain\n`,
    );
  });

  it.each(["=", "+", "-", "@", "\t=", " +", "＝"])("defuses a cell that begins with %j", async (start) => {
    await run([record(1, { loss: 1 }, { said: text(`${start}1+1`) })]);
    expect(table()[1]!.at(-1)).toBe(`'${start}1+1`);
  });

  it.each([1, 2, 3, 7])("goes on from step %i without a step twice", async (resumedAt) => {
    await run(records);
    const more = Array.from({ length: 3 }, (_, i) => record(resumedAt + 1 + i, { loss: 9, "@new": 1 }));
    await run(more, resumedAt);
    const kept = [1, 2, 3].filter((step) => step <= resumedAt);
    expect(readdirSync(dir)).toEqual(["metrics.csv"]);
    expect(table().map(([step]) => step)).toEqual(["step", ...[...kept, ...more.map(({ step }) => step)].map(String)]);
    expect(table()[0]).toEqual(["step", "epoch", "time", "elapsed", "loss", "val/loss", "acc", "'@new"]);
    expect(new Set(table().map(({ length }) => length))).toEqual(new Set([8]));
    expect(table().at(-1)).toEqual([...table().at(-1)!.slice(0, 4), "9", "", "", "1"]);
  });

  it("goes on after a torn row, a torn header, and a torn copy", async () => {
    await run(records);
    writeFileSync(join(dir, "metrics.csv"), `${read()}4,0,10`);
    writeFileSync(join(dir, "metrics.csv.tmp"), "half of it");
    await run([record(4, { loss: 1, more: 1 })], 3);
    expect(table().map(([step]) => step)).toEqual(["step", "1", "2", "3", "4"]);
    expect(readdirSync(dir)).toEqual(["metrics.csv"]);
    writeFileSync(join(dir, "metrics.csv"), "step,epoch,time,elapsed,lo");
    await run([record(4, { loss: 1 })], 3);
    expect(table().map(([step]) => step)).toEqual(["step", "4"]);
  });

  it("puts another run's table aside", async () => {
    await run(records);
    await run([record(1, { loss: 3 })]);
    await run([record(1, { loss: 4 })], 0);
    expect(table()).toHaveLength(2);
    expect(readdirSync(dir).sort()).toEqual(["metrics.1.csv", "metrics.2.csv", "metrics.csv"]);
  });

  it("has an end to its columns, and says what it left out", async () => {
    const scalars = Object.fromEntries(Array.from({ length: 1200 }, (_, i) => [`m${i}`, i]));
    await expect(run([record(1, scalars)])).rejects.toThrow(/more than 1000 columns; left out are m996, m997, m998/);
    expect(table()[0]).toHaveLength(1000);
    expect(table()[1]).toHaveLength(1000);
  });

  it("writes names of an object's own properties only", async () => {
    await run([record(1, { constructor: 1, ["__proto__"]: 2 }), record(2, { loss: 1 })]);
    expect(table()[0]!.slice(4)).toEqual(["constructor", "__proto__", "loss"]);
    expect(table()[2]!.slice(4)).toEqual(["", "", "1"]);
  });

  it("does not repeat what the record says itself", async () => {
    await run([record(1, { epoch: 0, loss: 1 }), record(2, { epoch: 0.5 }), record(3, { epoch: 0 })]);
    expect(table()[0]!.slice(4)).toEqual(["loss", "epoch_"]);
    expect(table().map((row) => row.at(-1))).toEqual(["epoch_", "", "0.5", ""]);
  });

  it("says what is in its way", async () => {
    mkdirSync(join(dir, "metrics.csv"), { recursive: true });
    await expect(run(records)).rejects.toThrow(/metrics\.csv: a directory stands where the file should be/);
    expect(() => csv({ file: "x" } as object)).toThrow("csv: unknown option `file`");
  });
});
