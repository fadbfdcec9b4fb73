// Reading a run back: exact numbers, growing files, damage, hostile names, and how long it takes.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { logRecord, runEnd, runFacts } from "../../tests/support/logger-facts.ts";
import { histogram, text } from "../core/media.ts";
import type { LogRecord, RunFacts } from "./types.ts";
import { jsonl } from "../loggers/jsonl.ts";
import { recordLine } from "./log-lines.ts";
import { readRun, type RunLog } from "./read-run.ts";

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "hookline-"));
  file = join(dir, "metrics.jsonl");
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

const HEADER = `{"schema":"hookline.metrics","version":1,"run":"id-1","startedAt":1000}\n`;
const record = (step: number, scalars: LogRecord["scalars"], media: LogRecord["media"] = {}): LogRecord =>
  logRecord(step, { epoch: step >> 2, scalars, media });
const write = (...lines: readonly string[]): void => writeFileSync(file, HEADER + lines.join(""));
const read = (): Promise<RunLog> => readRun(dir);
const facts = (): RunFacts => runFacts({ dir, hparams: { lr: 0.1 }, totalSteps: 9 });
const END = runEnd({ status: "stopped", reason: "plateau", step: 3, time: 5, elapsed: 1, metrics: { loss: 2 } });
const plain = ({ steps, values, times }: ReturnType<RunLog["get"]>) => [[...steps], [...values], [...times]];

describe("readRun", () => {
  it("reads what jsonl() wrote", async () => {
    const backend = jsonl();
    await backend.open(facts());
    backend.log(record(1, { loss: 0.1 + 0.2, nan: NaN }));
    backend.log(
      record(2, { loss: -Infinity, "val/loss": 1e-300, time: 7 }, { grads: histogram([1, 2]), said: text("x") }),
    );
    backend.event!({ type: "save", step: 2, time: 4, details: { name: "step-2" } });
    backend.log(record(5, { loss: Infinity }));
    await backend.close(END);
    const run = await read();
    expect(run.names).toEqual(["loss", "nan", "val/loss", "time_"]);
    expect([[...run.steps], [...run.epochs]]).toEqual([
      [1, 2, 5],
      [0, 0, 1],
    ]);
    expect([[...run.times], [...run.elapsed]]).toEqual([
      [1001, 1002, 1005],
      [0.125, 0.25, 0.625],
    ]);
    expect(plain(run.get("loss"))).toEqual([
      [1, 2, 5],
      [0.1 + 0.2, -Infinity, Infinity],
      [1001, 1002, 1005],
    ]);
    expect(plain(run.get("nan"))).toEqual([[1], [NaN], [1001]]);
    expect(plain(run.get("val/loss"))).toEqual([[2], [1e-300], [1002]]);
    expect(plain(run.get("epoch"))[1]).toEqual([0, 0, 1]);
    expect(plain(run.get("time"))).toEqual([[2], [7], [1002]]);
    expect(run.problems).toBe(0);
    expect(run.info).toMatchObject({ id: "id-1", status: "stopped", reason: "plateau", hparams: { lr: 0.1 } });
    expect(await run.events()).toEqual([{ type: "save", step: 2, time: 4, details: { name: "step-2" } }]);
  });

  it("gets every number back as it was", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.double(), fc.float(), fc.maxSafeInteger()), { maxLength: 50 }),
        async (rows) => {
          write(...rows.map(([a, b, c], i) => recordLine(record(i + 1, { a, b, c }))));
          const run = await read();
          expect(run.problems).toBe(0);
          for (const [place, name] of ["a", "b", "c"].entries()) {
            const values = rows.map((row) => row[place]! + 0);
            if (rows.length > 0)
              expect([...run.get(name).values]).toEqual(values.map((value) => (value === 0 ? 0 : value)));
          }
        },
      ),
    ));

  it("takes any name, and pollutes nothing", () =>
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ unit: "binary-ascii" }), { minLength: 1, maxLength: 20 }),
        async (names) => {
          const all = [...new Set([...names, "__proto__", "constructor", "ünï", 'q"\\', "\u2028", "\ud800"])];
          const scalars = Object.fromEntries(all.map((name, i) => [name, i]));
          write(recordLine(record(1, scalars)), recordLine(record(2, scalars)));
          const run = await read();
          for (const [i, name] of all.entries()) {
            expect([...run.get(name).values]).toEqual([i, i]);
          }
          expect(Object.keys(Object.prototype)).toEqual([]);
          expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
        },
      ),
      { numRuns: 30 },
    ));

  it("passes over what it does not know, and counts lines that are none of ours", async () => {
    write(
      `{"step":1,"epoch":0,"time":1,"elapsed":1,"loss":1,"new":[1,{"a":2}],"flag":true,"none":null,"note":"hi"}\n`,
      "\n",
      "not json\n",
      "[1]\n",
      "17\n",
      "null\n",
      `{"loss":3}\n`,
      `{"schema":"something.else","version":1}\n`,
      "\0\0\0\0\n",
      ` { "loss" : 2.5, "step" : 2 }\r\n`,
      `{"step":3,"loss":1,"loss":4}\n`,
      `{"step":4,"loss":5}garbage\n`,
      `{"__proto__":{"polluted":1},"step":5,"loss":6}\n`,
    );
    const run = await read();
    expect(plain(run.get("loss"))).toEqual([
      [1, 2, 3, 5],
      [1, 2.5, 4, 6],
      [1, NaN, NaN, NaN],
    ]);
    expect(run.problems).toBe(8);
    expect(run.names).toEqual(["loss"]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("ignores a torn last line at every length, and reads it once it is whole", async () => {
    const [first, last] = [recordLine(record(1, { loss: 1 })), recordLine(record(2, { loss: 2, "val/loss": 3 }))];
    for (let length = 0; length < last.length; length++) {
      write(first, last.slice(0, length));
      const run = await read();
      expect([[...run.steps], run.problems]).toEqual([[1], 0]);
      expect(await run.more()).toBe(0);
      appendFileSync(file, last.slice(length));
      expect(await run.more()).toBe(1);
      expect(plain(run.get("loss"))).toEqual([
        [1, 2],
        [1, 2],
        [1001, 1002],
      ]);
    }
  });

  it("follows a run that grows, also one that goes back to a checkpoint", async () => {
    write(recordLine(record(1, { loss: 1 })));
    const run = await read();
    const { steps } = run;
    appendFileSync(file, recordLine(record(2, { loss: 2 })) + recordLine(record(3, { late: 3 })));
    expect(await Promise.all([run.more(), run.more()])).toEqual([2, 0]);
    expect([[...steps], [...run.steps], run.names]).toEqual([[1], [1, 2, 3], ["loss", "late"]]);
    const length = readFileSync(file).length;
    truncateSync(file, HEADER.length + recordLine(record(1, { loss: 1 })).length);
    expect(await run.more()).toBe(1);
    expect([...run.steps]).toEqual([1]);
    // Cut and grown beyond where it was.
    appendFileSync(file, recordLine(record(2, { loss: 9 })).repeat(3));
    await run.more();
    write(recordLine(record(1, { other: 1 })).repeat(20));
    expect(readFileSync(file).length).toBeGreaterThan(length);
    expect(await run.more()).toBe(20);
    expect(run.names).toEqual(["other"]);
  });

  it("reads lines that lie across its chunks, and passes over endless ones", async () => {
    const long = recordLine(record(2, { loss: 2 }, { said: text("y".repeat(900_000)) }));
    const endless = `{"step":3,"x":"${"z".repeat(17 * 1024 * 1024)}"}\n`;
    write(
      ...[1, 2, 3, 4, 5].map((i) => long.replace('"step":2', `"step":${i}`)),
      endless,
      recordLine(record(6, { loss: 2 })),
    );
    const run = await read();
    expect([[...run.steps], run.problems]).toEqual([[1, 2, 3, 4, 5, 6], 1]);
    appendFileSync(file, endless.slice(0, -1));
    expect(await run.more()).toBe(0);
    appendFileSync(file, `\n${recordLine(record(7, { loss: 2 }))}`);
    expect([await run.more(), run.problems]).toEqual([1, 2]);
  });

  it("says what is missing", async () => {
    await expect(read()).rejects.toThrow(`${file}: it does not exist. Expected a run directory`);
    await expect(readRun("")).rejects.toThrow("readRun: expected the path of a run directory");
    write(recordLine(record(1, { "val/loss": 1 })));
    const run = await read();
    expect(() => run.get("val/los")).toThrow(
      "there is no metric `val/los`. Did you mean `val/loss`? There is: val/loss.",
    );
    expect(() => run.get("schema")).toThrow("there is no metric `schema`");
    expect(run.info).toBeUndefined();
    expect(await run.events()).toEqual([]);
    writeFileSync(file, HEADER.replace('"version":1', '"version":2'));
    await expect(read()).rejects.toThrow("it has version 2, and this hookline reads up to 1. Update hookline.");
  });

  it("reads a million records", async () => {
    const lines = Array.from({ length: 1000 }, (_, i) => recordLine(record(i, { loss: Math.sin(i) / 3 })));
    const block = lines.join("");
    write(...Array.from({ length: 1000 }, () => block));
    const run = await read();
    const { values } = run.get("loss");
    expect([values.length, run.problems]).toEqual([1_000_000, 0]);
    expect(values[999_999]).toBe(Math.sin(999) / 3);
  });
});
