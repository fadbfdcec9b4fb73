import { expect, it, onTestFinished, vi } from "vitest";
import { logRecord } from "../../../tests/support/logger-facts.ts";
import { histogram, image } from "../../core/media.ts";
import type { LogRecord } from "../../runs/types.ts";
import { RecordLines, Seen, endLine, parseLine } from "./record-lines.ts";

// Records as lines: one per step, with every number kept.

const record = (step: number, scalars: Record<string, number>, media: LogRecord["media"] = {}): LogRecord =>
  logRecord(step, { elapsed: step / 10, scalars, media });

it("joins what belongs to one step, and keeps the last step back until it is complete", () => {
  const lines = new RecordLines({ media: false });
  lines.add(record(1, { loss: 0.5, 'odd "name"\n': 1e-300 }));
  lines.add(record(2, { loss: Number.NaN, up: Infinity }));
  lines.add(record(2, { loss: 0.25, down: -Infinity }));
  const first = lines.take(false);
  expect(first.map(parseLine)).toEqual([
    { kind: "log", step: 1, time: 1001, elapsed: 0.1, scalars: { loss: 0.5, 'odd "name"\n': 1e-300 } },
  ]);
  expect(first[0]).not.toContain("\n");
  expect(lines.length).toBe(2);
  const scalars = { loss: 0.25, up: "Infinity", down: "-Infinity" };
  expect(lines.take(true).map(parseLine)).toEqual([{ kind: "log", step: 2, time: 1002, elapsed: 0.2, scalars }]);
  expect(lines.take(true)).toEqual([]);
});

it("takes the last step as complete when nothing has come for a while", () => {
  const lines = new RecordLines({ media: false });
  lines.add(record(1, { loss: 1 }));
  expect(lines.take(false)).toEqual([]);
  const now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now + 2000);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(lines.take(false)).toHaveLength(1);
});

it("keeps histograms, texts and images where they are wanted", () => {
  const media = {
    w: histogram({ edges: [0, 1], counts: [2] }),
    x: image({ data: new Uint8Array(2), shape: [1, 2] }),
  };
  const lines = new RecordLines({ media: true });
  lines.add(record(1, {}, media));
  expect(parseLine(lines.take(true)[0]!)).toMatchObject({
    scalars: {},
    media: {
      w: { kind: "histogram", edges: [0, 1], counts: [2] },
      x: { kind: "image", width: 2, height: 1, png: expect.stringMatching(/^iVBORw0KGgo/) },
    },
  });
});

it("reads back ends, and nothing of what is damaged", () => {
  const end = { status: "error", reason: "no", step: 1, time: 2, elapsed: 3 } as const;
  expect(parseLine(endLine({ ...end, metrics: {} }))).toEqual({ kind: "end", ...end });
  for (const line of ["", "{", "null", "5", '{"kind":"x"}', '{"step":1}']) expect(parseLine(line)).toBeUndefined();
});

// What counts as new, per metric, also after it was stored.

it("knows the latest step of each metric, and keeps it as plain data", () => {
  const seen = new Seen();
  expect(seen.isNew("loss", 0)).toBe(true);
  seen.add("loss", 5);
  seen.add("loss", 3);
  seen.add("__proto__", 1);
  expect([seen.isNew("loss", 5), seen.isNew("loss", 6), seen.isNew("val/loss", 1)]).toEqual([false, true, true]);
  const again = new Seen(JSON.parse(JSON.stringify(seen)) as Record<string, number>);
  expect([again.isNew("loss", 5), again.isNew("loss", 6), again.isNew("__proto__", 1)]).toEqual([false, true, false]);
});
