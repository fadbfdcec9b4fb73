import type { Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test } from "vitest";
import { debug, type DebugOptions } from "./debug.ts";
import { nanGuard } from "./nan-guard.ts";

async function lines(options: DebugOptions, trainerOptions: TinyOptions = {}): Promise<string[]> {
  const printed: string[] = [];
  await using trainer = tinyTrainer({
    ...trainerOptions,
    hooks: [debug({ print: (line) => void printed.push(line), ...options }), ...(trainerOptions.hooks ?? [])],
  });
  await trainer.fit();
  return printed;
}

const spoiled = () => {
  const data = tinyData(16);
  data.x.data[13] = Number.NaN;
  data.x.data[14] = Infinity;
  return new DataLoader(data, { batchSize: 4 });
};

test("shows the first batch of each loader: shapes, types and ranges", async () => {
  const printed = await lines({}, { epochs: 2, eval: new DataLoader(tinyData(4), { batchSize: 4 }) });
  expect(printed).toHaveLength(2);
  expect(printed[0]).toMatch(
    /^debug: step 1, batch 0 of loader train: x float32 \[4, 3\] from -[\d.]+ to [\d.]+; y float32 \[4, 1\] from /,
  );
  expect(printed[1]).toMatch(/^debug: step 4, batch 0 of evaluation loader val: x float32 \[4, 3\]/);
});

test("and at a cadence, with loss, rate and norm", async () => {
  const printed = await lines({ every: 3 }, { epochs: 2 });
  expect(printed.map((line) => /step \d, (batch|loss)/.exec(line)?.[0])).toEqual([
    "step 1, batch",
    "step 3, batch",
    "step 3, loss",
    "step 6, batch",
    "step 6, loss",
  ]);
  expect(printed[2]).toMatch(/loss [\d.]+, lr 0\.1, gradient norm [\d.]+$/);
  // Bare numbers are steps although batches come more often.
  const accumulated = await lines({ every: 2 }, { accumulate: 2 });
  expect(accumulated.map((line) => /step (\d)/.exec(line)![1])).toEqual(["1", "2", "2", "2"]);
});

test("says by name what is not finite in a bad step", async () => {
  const printed = await lines({ every: 2 }, { train: spoiled() });
  expect(printed[1]).toMatch(/x float32 \[4, 3\] from .*, 2 not finite/);
  expect(printed[2]).toBe(
    "debug: step 2, not finite, micro-batch 0 of train: batch x (2), loss NaN, gradient weight (3), gradient bias (1)",
  );
});

test("nanGuard does not tell of the same step again", async () => {
  const told = async (options: DebugOptions): Promise<[warnings: number, printed: number]> => {
    const warnings: string[] = [];
    const printed = await lines(options, {
      train: spoiled(),
      hooks: [nanGuard({ action: "skip" })],
      warn: (message) => void warnings.push(message),
    });
    const ofStep2 = (all: readonly string[]): number => all.filter((line) => line.includes("step 2")).length;
    return [ofStep2(warnings), ofStep2(printed)];
  };
  expect(await told({})).toEqual([0, 1]);
  expect(await told({ nan: false })).toEqual([1, 0]);
});

test("without `nan` it only looks on: the run is the same, bit for bit", async () => {
  const run = async (hooks: Hook[]) => {
    await using trainer = tinyTrainer({ hooks });
    await trainer.fit();
    return [...(await trainer.stateDict()).weight!.data];
  };
  expect(await run([debug({ every: 1, print: () => undefined })])).toEqual(await run([]));
  const bad = await lines({ nan: false, every: 1 }, { train: spoiled() });
  expect(bad.some((line) => line.includes("loss NaN"))).toBe(true);
});

test("disabled it listens to nothing and needs nothing", () => {
  expect(debug({ enabled: false, every: 1, breakpoint: true })).toEqual({ name: "debug" });
  expect(tinyTrainer({ hooks: [debug({ enabled: false })] }).hooks.list()[0]!.events).toEqual([]);
});

test("enabled, the step stays one program", () => {
  expect(tinyTrainer({ hooks: [debug({ every: 1, breakpoint: true })] }).explainPlan()).toMatch(/^fused/);
});

test("mistakes are errors at construction", () => {
  expect(() => debug({ breakpoint: true, nan: false })).toThrow(/which `nan: false` does not detect/);
  expect(() => debug({ every: "2 stpes" })).toThrow(/Did you mean `steps`/);
  expect(() => debug({ brakpoint: true } as never)).toThrow(/Did you mean `breakpoint`/);
});
