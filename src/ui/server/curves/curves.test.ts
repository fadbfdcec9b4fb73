// Reduction, smoothing and the wire format against naive ones, and a store against files that are cut, torn and replaced.
import { appendFileSync, mkdirSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { tempDir } from "../../../../tests/support/temp-dir.ts";
import { headerLine, recordLine } from "../../../runs/log-lines.ts";
import { decodeSeries, encodeSeries, type SeriesData } from "../../series.ts";
import { Refusal } from "../answer.ts";
import { Reader } from "../reader.ts";
import { choosePoints, type Curve } from "./choose-points.ts";
import { Pyramid } from "./pyramid.ts";
import { RunStore } from "./run-store.ts";
import { Smoothing } from "./smoothing.ts";

const value = fc.oneof(
  { weight: 20, arbitrary: fc.double({ noNaN: true, min: -100, max: 100 }) },
  { weight: 1, arbitrary: fc.constantFrom(NaN, Infinity, -Infinity, 1e300) },
);
const values = fc.array(value, { maxLength: 3000, size: "max" }).map((list) => Float64Array.from(list));

const curveOf = (list: Float64Array, x: (i: number) => number, isSorted = true): Curve => {
  const pyramid = new Pyramid();
  // As it grows while a run is watched.
  for (let count = 0; count < list.length; count += 97) pyramid.extend(list, count);
  pyramid.extend(list, list.length);
  return { count: list.length, values: list, pyramid, x, isSorted };
};

test("the extremes of any range are those of a scan", () => {
  fc.assert(
    fc.property(values, fc.nat(), fc.nat(), (list, a, b) => {
      const [from, to] = [a % (list.length + 1), b % (list.length + 1)].sort((p, q) => p - q) as [number, number];
      const { min, max, nan } = curveOf(list, (i) => i).pyramid.extremes(list, from, to);
      const range = list.slice(from, to);
      const numbers = range.filter((each) => !Number.isNaN(each));
      expect(min < 0 ? undefined : list[min]).toBe(
        numbers.length > 0 ? numbers.reduce((p, q) => Math.min(p, q)) : undefined,
      );
      expect(max < 0 ? undefined : list[max]).toBe(
        numbers.length > 0 ? numbers.reduce((p, q) => Math.max(p, q)) : undefined,
      );
      const first = range.findIndex((each) => Number.isNaN(each));
      expect(nan).toBe(first < 0 ? -1 : from + first);
    }),
    { numRuns: 60 },
  );
});

test("of every pixel column the first, the last, the least, the greatest and a missing value are kept", () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(values, fc.integer({ min: 2, max: 200 }), gaps, (list, px, steps) => {
      const x = list.map((_, i) => i).map((i) => i * 3 + steps[i % steps.length]! / 10);
      const curve = curveOf(list, (i) => x[i]!);
      const { indexes, isReduced } = choosePoints(curve, { px });
      expect(isReduced).toBe(list.length > 4 * px);
      expect(indexes.length).toBeLessThanOrEqual(isReduced ? 4 * px : list.length);
      expect([...indexes]).toEqual([...new Set(indexes)].sort((a, b) => a - b));
      if (!isReduced) {
        expect(indexes.length).toBe(list.length);
        return;
      }
      const buckets = list.some((each) => Number.isNaN(each)) ? Math.max(1, Math.floor((4 * px) / 5)) : px;
      const kept = new Set(indexes);
      const [x0, x1] = [x[0]!, x.at(-1)!];
      const columns: number[][] = Array.from({ length: buckets }, () => []);
      for (const i of list.keys()) {
        let k = 0;
        while (k + 1 < buckets && x[i]! >= x0 + ((x1 - x0) * (k + 1)) / buckets) k++;
        columns[k]!.push(i);
      }
      for (const column of columns.filter((each) => each.length > 0)) {
        const numbers = column.map((i) => list[i]!).filter((each) => !Number.isNaN(each));
        const shown = column.filter((i) => kept.has(i)).map((i) => list[i]!);
        expect(kept.has(column[0]!) && kept.has(column.at(-1)!)).toBe(true);
        if (numbers.length > 0) expect(shown).toContain(numbers.reduce((p, q) => Math.min(p, q)));
        if (numbers.length > 0) expect(shown).toContain(numbers.reduce((p, q) => Math.max(p, q)));
        if (numbers.length < column.length) expect(shown.some(Number.isNaN)).toBe(true);
      }
    }),
    { numRuns: 40 },
  );
});

test("a range has its points and the neighbours on both sides; an axis that goes back loses nothing", () => {
  const list = Float64Array.from({ length: 1000 }, (_, i) => Math.sin(i));
  const curve = curveOf(list, (i) => i);
  expect([...choosePoints(curve, { px: 10, from: 100, to: 105 }).indexes]).toEqual([
    99, 100, 101, 102, 103, 104, 105, 106,
  ]);
  expect([...choosePoints(curve, { px: 10, after: 998 }).indexes]).toEqual([998, 999]);
  expect([...choosePoints(curve, { px: 10, after: 1000 }).indexes]).toEqual([]);
  expect([...choosePoints(curve, { px: 10, from: 5000, to: 6000 }).indexes]).toEqual([999]);
  list[700] = 50;
  const back = curveOf(list, (i) => (i < 500 ? i : i - 300), false);
  expect([...choosePoints(back, { px: 20 }).indexes]).toContain(700);
  expect(choosePoints(back, { px: 20 }).indexes.length).toBeLessThanOrEqual(80);
});

test("smoothed values are the weighted means of all points before, however the curve grew", () => {
  expect.hasAssertions();
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 200 }),
      fc.double({ min: 0.1, max: 50, noNaN: true }),
      fc.array(fc.nat(200), { maxLength: 5 }),
      (list, halfLife, cuts) => {
        const all = Float64Array.from(list.map((each) => (Math.abs(each) > 1e200 ? NaN : each)));
        const x = (i: number): number => i * 1.5 + 0.4 * (i % 3);
        const smoothing = new Smoothing(halfLife);
        for (const cut of cuts.sort((a, b) => a - b)) smoothing.extend(all, Math.min(cut, all.length), x);
        const smoothed = smoothing.extend(all, all.length, x);
        all.forEach((_, at) => {
          let [sum, weight] = [0, 0];
          for (let i = 0; i <= at; i++) {
            if (!Number.isFinite(all[i]!)) continue;
            const w = 2 ** ((x(i) - x(at)) / halfLife);
            sum += w * all[i]!;
            weight += w;
          }
          if (weight === 0) expect(smoothed[at]).toBeNaN();
          else if (weight > 1e-200) expect(smoothed[at]).toBeCloseTo(sum / weight, 7);
        });
      },
    ),
    { numRuns: 60 },
  );
});

test("series travel as they are", () => {
  const numbers = fc.array(fc.double(), { maxLength: 20 });
  const one = fc.record({
    name: fc.string(),
    run: fc.string(),
    x: numbers,
    smooth: fc.option(numbers, { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 5 }), (list) => {
      const series = list.map(({ name, run, x, smooth }, i): SeriesData => ({
        name,
        run,
        rev: i,
        total: 10,
        reduced: i % 2 === 0,
        x: Float64Array.from(x),
        y: Float64Array.from(x.toReversed()),
        ...(smooth && { smooth: Float64Array.from(x, (_, at) => smooth[at] ?? NaN) }),
      }));
      expect(decodeSeries(encodeSeries(series).buffer)).toEqual(series);
    }),
    { numRuns: 100 },
  );
  expect(() => decodeSeries(new ArrayBuffer(4))).toThrow("no series");
  expect(() => decodeSeries(new TextEncoder().encode('{"error":1}').buffer)).toThrow("no series");
});

const header = headerLine("metrics", { id: "r", startedAt: 1 });
const line = (step: number, loss: number, more: Record<string, number> = {}): string =>
  recordLine({ step, epoch: 0, time: step, elapsed: step, scalars: { loss, ...more }, media: {} });

test("a store follows a log that grows, is torn, cut, replaced and removed", async () => {
  const dir = tempDir();
  const path = `${dir}/metrics.jsonl`;
  const store = new RunStore(dir);
  const read = async (): Promise<number[]> => {
    await store.refresh();
    return [...store.curve({ run: "r", name: "loss", x: "step", px: 1000 }).y];
  };
  expect(await read()).toEqual([]);
  writeFileSync(path, header + line(1, 1) + line(2, 2).slice(0, 20));
  expect(await read()).toEqual([1]);
  writeFileSync(path, header + line(1, 1) + line(2, 2) + line(3, 3));
  expect(await read()).toEqual([1, 2, 3]);
  const { rev } = store;
  appendFileSync(path, "not JSON\n" + line(4, 4));
  expect([await read(), store.rev]).toEqual([[1, 2, 3, 4], rev]);
  // A resume cuts the log back to its checkpoint and logs other numbers.
  truncateSync(path, (header + line(1, 1)).length);
  appendFileSync(path, line(2, 20));
  expect(await read()).toEqual([1, 20]);
  expect(store.rev).toBeGreaterThan(rev);
  // Another run in the same directory, and as long.
  writeFileSync(`${path}.new`, header + line(5, 1) + line(6, 21));
  renameSync(`${path}.new`, path);
  expect(await read()).toEqual([1, 21]);
  mkdirSync(`${dir}/elsewhere`);
  renameSync(path, `${dir}/elsewhere/metrics.jsonl`);
  expect(await read()).toEqual([]);
});

test("samples and tokens as the axis; a metric's smoothing does not depend on the zoom", async () => {
  const dir = tempDir();
  const lines = Array.from({ length: 500 }, (_, i) => line(i + 1, Math.sin(i), { "data/samples": 32 * (i + 1) }));
  writeFileSync(`${dir}/metrics.jsonl`, header + lines.join(""));
  const store = new RunStore(dir);
  await store.refresh();
  const base = { run: "r", name: "loss", x: "samples", px: 1000, smooth: 640 } as const;
  const whole = store.curve(base);
  expect(whole.x.slice(0, 3)).toEqual(Float64Array.of(32, 64, 96));
  const zoomed = store.curve({ ...base, px: 10, from: 3200, to: 12_800 });
  zoomed.x.forEach((x, i) => expect(zoomed.smooth![i]).toBe(whole.smooth![x / 32 - 1]));
  expect(store.curve({ ...base, x: "tokens" }).x.slice(0, 3)).toEqual(new Float64Array(3));
});

test("a log that takes long to read is refused with its progress, and answered once it is read", async () => {
  const dir = tempDir();
  const lines = Array.from({ length: 60_000 }, (_, i) => line(i + 1, i));
  writeFileSync(`${dir}/metrics.jsonl`, header + lines.join(""));
  const reader = new Reader(1e9, 0);
  const refused: string[] = [];
  try {
    for (;;) {
      const found = await reader.ask({ kind: "news", dir }).catch((error: unknown) => error as Refusal);
      if (!(found instanceof Refusal)) {
        expect(found.records).toBe(60_000);
        break;
      }
      expect([found.status, found.code]).toEqual([503, "reading"]);
      refused.push(found.message);
    }
    expect(refused[0]).toMatch(/^The log is being read: \d+ %\.$/);
  } finally {
    await reader.close();
  }
});
