// Following a run: what is new, once; a torn line later; everything again after the log was cut.
import { appendFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { logRecord } from "../../tests/support/logger-facts.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { eventLine, headerLine, recordLine } from "./log-lines.ts";
import { tailRun, type RunNews } from "./tail.ts";

const HEADER = headerLine("metrics", { id: "a", startedAt: 1 });
const line = (step: number, loss = step): string => recordLine(logRecord(step, { scalars: { loss, worst: NaN } }));
const seen = ({ restarted, records }: RunNews): unknown => [restarted, records.map(({ step }) => step)];

test("each call gives what is new, once", async () => {
  const dir = tempDir();
  const tail = tailRun(dir);
  expect(await tail.next()).toEqual({ info: undefined, restarted: false, records: [], events: [] });
  writeFileSync(`${dir}/metrics.jsonl`, HEADER + line(1));
  writeFileSync(`${dir}/events.jsonl`, headerLine("events", { id: "a", startedAt: 1 }));
  expect((await tail.next()).records).toEqual([
    { step: 1, epoch: 0, time: 1001, elapsed: 0.125, values: { loss: 1, worst: NaN } },
  ]);
  appendFileSync(`${dir}/metrics.jsonl`, `${line(2)}not json\n{"loss":1}\n${line(3)}`);
  appendFileSync(`${dir}/events.jsonl`, eventLine({ type: "save", step: 3, time: 5, details: { name: "x" } }));
  // Two calls at once do not give it twice.
  const [first, second] = await Promise.all([tail.next(), tail.next()]);
  expect([seen(first), seen(second)]).toEqual([
    [false, [2, 3]],
    [false, []],
  ]);
  expect([first.events, second.events]).toEqual([[{ type: "save", step: 3, time: 5, details: { name: "x" } }], []]);
});

test("a torn last line comes when it is whole", async () => {
  const dir = tempDir();
  const whole = line(2);
  for (let length = 1; length < whole.length; length += 7) {
    writeFileSync(`${dir}/metrics.jsonl`, HEADER + line(1) + whole.slice(0, length));
    const tail = tailRun(dir);
    expect(seen(await tail.next())).toEqual([false, [1]]);
    appendFileSync(`${dir}/metrics.jsonl`, whole.slice(length));
    expect(seen(await tail.next())).toEqual([false, [2]]);
  }
});

test("after a cut, or in a new file, everything comes again", async () => {
  const dir = tempDir();
  const file = `${dir}/metrics.jsonl`;
  writeFileSync(file, HEADER + line(1) + line(2) + line(3));
  const tail = tailRun(dir);
  await tail.next();
  truncateSync(file, (HEADER + line(1)).length);
  expect(seen(await tail.next())).toEqual([true, [1]]);
  appendFileSync(file, line(2) + line(3));
  expect(seen(await tail.next())).toEqual([false, [2, 3]]);
  // Cut, and grown beyond where it was, between two calls.
  truncateSync(file, (HEADER + line(1)).length);
  appendFileSync(file, line(2, 7) + line(3, 8) + line(4));
  expect(seen(await tail.next())).toEqual([true, [1, 2, 3, 4]]);
  rmSync(file);
  expect(seen(await tail.next())).toEqual([true, []]);
  writeFileSync(file, HEADER + line(9));
  expect(seen(await tail.next())).toEqual([false, [9]]);
});

test("a log of a newer version is an error, and so is a directory without a name", async () => {
  const dir = tempDir();
  writeFileSync(`${dir}/metrics.jsonl`, HEADER.replace('"version":1', '"version":2'));
  await expect(tailRun(dir).next()).rejects.toThrow("it has version 2, and this hookline reads up to 1");
  expect(() => tailRun("")).toThrow("tailRun: expected the path of a run directory");
});
