// Records that go to another thread arrive as they were.
import fc from "fast-check";
import { expect, it } from "vitest";
import { logRecord } from "../../../tests/support/logger-facts.ts";
import { histogram, image, text } from "../../core/media.ts";
import type { LogRecord } from "../../runs/types.ts";
import { BatchWriter, recordsOf } from "./record-batch.ts";

const record = (more: Partial<LogRecord>): LogRecord => logRecord(1, more);

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
  const all = [record({}), record({ scalars: wide }), record({ scalars: { loss: NaN } })];
  for (const each of all) writer.add(each);
  expect(sent(writer)).toEqual(all);
});

it("names once for all records that share them", () => {
  const writer = new BatchWriter({ images: false });
  for (let step = 1; step <= 100; step++) writer.add(record({ step, scalars: { loss: 1 / step, lr: 0.1 } }));
  writer.add(record({ step: 100, scalars: { "val/loss": 1 } }));
  expect(writer.take().shapes).toEqual([
    { names: ["loss", "lr"], count: 100 },
    { names: ["val/loss"], count: 1 },
  ]);
});

it("pixels only where they are wanted", () => {
  const shown = { x: image({ data: new Uint8Array(4).fill(7), shape: [2, 2] }), note: text("x") };
  for (const images of [true, false]) {
    const writer = new BatchWriter({ images });
    writer.add(record({ media: shown }));
    const [{ media: arrived }] = sent(writer) as [LogRecord];
    expect(arrived).toEqual(images ? shown : { ...shown, x: { ...shown.x, pixels: new Uint8Array(0) } });
  }
  expect(shown.x.pixels.length).toBe(4);
});
