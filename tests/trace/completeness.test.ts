// Every declared event fires, and what begins also ends, whatever hooks skip or stop.
import type { BuiltinEvent, Hook } from "hookline";
import { DataLoader } from "hookline/data";
import { recordTrace, tinyData, tinyTrainer } from "hookline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { BUILTIN_EVENTS, methodOf } from "../../src/core/events.ts";
import { PIPELINE_EVENTS } from "../../src/core/outer-events.ts";
import { SKIP_SCOPES, VERBS } from "../../src/core/verbs.ts";
import { fullTrainer } from "../support/full-trainer.ts";
import { tinyExperiment } from "../support/tiny-experiment.ts";

const loader = (samples: number) => new DataLoader(tinyData(samples), { batchSize: 4 });

test("every event of the map fires in a run, or when it fails", async () => {
  const recorder = recordTrace();
  const failing: Hook = { name: "failing", onTrainEnd: () => Promise.reject(new Error("after everything")) };
  await using trainer = fullTrainer({ hooks: [recorder, { ...failing, after: "trace" }] });
  await expect(trainer.fit()).rejects.toThrow("after everything");
  await trainer.predict(loader(8));
  expect(BUILTIN_EVENTS.filter((event) => !recorder.names().includes(event))).toEqual([]);
});

test("every event of the pipeline fires in an experiment, beside those of the loop", async () => {
  const recorder = recordTrace();
  await tinyExperiment({ hooks: [recorder] }).run();
  const events = [...BUILTIN_EVENTS, ...Object.keys(PIPELINE_EVENTS)] as string[];
  const silent = events.filter((event) => !(recorder.names() as string[]).includes(event));
  // It neither clips, predicts, pauses, saves nor fails.
  expect(silent).toEqual([
    "exception",
    "command",
    "pause",
    "continue",
    "gradientClip",
    "predictBegin",
    "predictBatchBegin",
    "predictBatchEnd",
    "predictEnd",
    "beforeSave",
    "afterSave",
    "saveError",
    "beforeLoad",
    "afterLoad",
  ]);
});

const PAIRS: Readonly<Record<string, BuiltinEvent>> = {
  init: "close",
  trainBegin: "trainEnd",
  epochBegin: "epochEnd",
  stepBegin: "stepEnd",
  batchBegin: "batchEnd",
  evalBegin: "evalEnd",
  evalBatchBegin: "evalBatchEnd",
  predictBegin: "predictEnd",
  predictBatchBegin: "predictBatchEnd",
};

/** The first violation of proper nesting, or undefined. */
function imbalance(names: readonly string[]): string | undefined {
  const open: string[] = [];
  const ends = new Set<string>(Object.values(PAIRS));
  for (const [i, name] of names.entries()) {
    const end = PAIRS[name];
    if (end) open.push(end);
    else if (ends.has(name) && open.pop() !== name)
      return `${name} at ${i}: ${names.slice(Math.max(0, i - 6), i + 1).join(" → ")}`;
  }
  return open.length > 0 ? `never: ${open.join(", ")}` : undefined;
}

/** At its n-th occurrence of `event`, the hook does `act`. */
const action = fc.constantFrom(...VERBS.stop.events, ...VERBS.skip.events).chain((event) => {
  const scopes = (Object.keys(SKIP_SCOPES) as (keyof typeof SKIP_SCOPES)[]).filter((scope) =>
    (SKIP_SCOPES[scope] as readonly string[]).includes(event),
  );
  return fc.record({
    event: fc.constant(event),
    at: fc.integer({ min: 1, max: 6 }),
    act: fc.constantFrom("stop" as const, ...scopes),
  });
});

test("begin and end balance under random skips and stops", async () => {
  const scenario = fc.record({
    actions: fc.array(action, { minLength: 1, maxLength: 3 }),
    accumulate: fc.integer({ min: 1, max: 3 }),
    evalEvery: fc.constantFrom("1 epoch", "2 steps"),
  });
  const property = fc.asyncProperty(scenario, async ({ actions, accumulate, evalEvery }) => {
    const recorder = recordTrace();
    const hooks = actions.map(({ event, at, act }, i): Hook => {
      let seen = 0;
      const method = (ctx: { stop(reason: string): void; skip(scope: string): void }): void => {
        if (++seen !== at) return;
        if (act === "stop") ctx.stop("asked");
        else ctx.skip(act);
      };
      return { name: `actor ${i}`, [methodOf(event)]: method };
    });
    await using trainer = tinyTrainer({
      hooks: [...hooks, recorder],
      samples: 24,
      epochs: 2,
      eval: loader(8),
      accumulate,
      evalEvery,
      logEvery: 2,
    });
    const result = await trainer.fit();
    expect(imbalance(recorder.names())).toBeUndefined();
    expect(recorder.names().filter((name) => name === "stepEnd")).toHaveLength(result.steps);
    expect(["completed", "stopped"]).toContain(result.status);
  });
  await fc.assert(property, { numRuns: 60 });
});
