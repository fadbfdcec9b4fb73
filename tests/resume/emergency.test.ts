// A run that fails saves its last whole state, and the run that resumes from it ends as if nothing had happened.
import type { BuiltinEvent, Hook } from "hookline";
import { CheckpointError, memoryStore } from "hookline/checkpoint";
import { recordTrace, tinyTrainer } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { BUILTIN_EVENTS, levelOf, methodOf } from "../../src/core/events.ts";
import { failingEngine } from "../support/engines.ts";
import { scenario, type Way } from "./scenario.ts";

const STEPS = 16;

/** Saves at the end only, however the run ends. */
const atEnd: Hook = { name: "atEnd", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }) };

interface Where {
  readonly step: number;
  readonly epoch: number;
}

const failing = (event: BuiltinEvent, when: (ctx: Where) => boolean): Hook => ({
  name: "failing",
  [methodOf(event)]: (ctx: Where) => {
    if (when(ctx)) throw new Error("as planned");
  },
});

/** The occasion at which an event fails: somewhere in the middle. */
function occasion(event: BuiltinEvent): (ctx: Where) => boolean {
  if (event === "epochBegin") return ({ epoch }) => epoch === 1;
  if (event === "epochEnd") return ({ epoch }) => epoch === 0;
  return ({ step }) => step === (levelOf(event) === "eval" ? 5 : event === "log" ? 6 : 8);
}

const isInStep = (event: BuiltinEvent): boolean => ["forward / backward", "optimizer"].includes(levelOf(event));
const EVENTS = BUILTIN_EVENTS.filter((event) => !["run", "checkpoint", "predict"].includes(levelOf(event)));

describe.each<Way>(["fused", "split"])("%s steps", (way) => {
  const options = { steps: STEPS };

  test.each(EVENTS.filter((event) => way === "split" || !isInStep(event)))(
    "a failure in %s loses nothing",
    async (event) => {
      const whole = scenario(memoryStore(), way, { ...options, hooks: [] });
      await whole.trainer.fit();
      const expected = await whole.trainer.stateDict();
      await whole.trainer.close();

      const store = memoryStore();
      const broken = scenario(store, way, { ...options, hooks: [failing(event, occasion(event)), atEnd] });
      await expect(broken.trainer.fit()).rejects.toThrow("as planned");
      await broken.trainer.close();
      expect((await store.list()).map(({ reason }) => reason)).toEqual(["emergency"]);

      const resumed = scenario(store, way, { ...options, hooks: [] });
      const result = await resumed.trainer.fit({ resume: "auto" });
      expect(result.steps).toBe(STEPS);
      expect(await resumed.trainer.stateDict()).toEqual(expected);
      await resumed.trainer.close();
    },
  );
});

test("the order of events: exception, the save, trainEnd, close", async () => {
  const trace = recordTrace();
  const hooks = [failing("stepEnd", ({ step }) => step === 2), atEnd, trace];
  await using trainer = tinyTrainer({ hooks, store: memoryStore() });
  await expect(trainer.fit()).rejects.toThrow("as planned");
  expect(trace.names().slice(-5)).toEqual(["exception", "beforeSave", "afterSave", "trainEnd", "close"]);
});

test("hooks that fail in the emergency do not keep it from being saved; their errors are attached", async () => {
  const store = memoryStore();
  const worse: Hook = {
    name: "worse",
    onBeforeSave: () => Promise.reject(new Error("in beforeSave")),
    onAfterSave: () => Promise.reject(new Error("in afterSave")),
  };
  await using trainer = tinyTrainer({ hooks: [failing("stepEnd", ({ step }) => step === 2), worse, atEnd], store });
  const error = await trainer.fit().catch((thrown: unknown) => thrown as Error & { hookErrors: Error[] });
  expect(error).toMatchObject({ message: expect.stringContaining("as planned") as string });
  const attached = (error as { hookErrors: Error[] }).hookErrors.map(({ message }) => message);
  expect(attached).toEqual([expect.stringContaining("in beforeSave"), expect.stringContaining("in afterSave")]);
  expect(await store.list()).toHaveLength(1);
});

test("when the program that failed took the parameters with it, the error says that there is no such checkpoint", async () => {
  const store = memoryStore();
  const warnings: string[] = [];
  const engine = await failingEngine(3);
  const trainer = tinyTrainer({ hooks: [atEnd], store, engine, warn: (message) => void warnings.push(message) });
  const error = (await trainer.fit().catch((thrown: unknown) => thrown)) as Error & { hookErrors: Error[] };
  expect(error.message).toContain("the device is gone");
  expect(error.hookErrors).toEqual([expect.any(CheckpointError)]);
  expect(error.hookErrors[0]!.message).toContain("there is no emergency checkpoint of step 2");
  expect(warnings.join()).toContain("there is no emergency checkpoint");
  expect(warnings.join()).toContain("The failed step may have destroyed the parameters.");
  expect(await store.list()).toEqual([]);
  // Closing frees what is left.
  await trainer.close();
  await engine.close();
});

test("when a hook's state is the cause, the error names the hook and blames no program", async () => {
  const stateless: Hook = {
    ...atEnd,
    state() {
      throw new Error("no state");
    },
  };
  const hooks = [stateless, failing("stepEnd", ({ step }) => step === 2)];
  const trainer = tinyTrainer({ hooks, store: memoryStore(), warn: () => undefined });
  const error = (await trainer.fit().catch((thrown: unknown) => thrown)) as Error & { hookErrors: Error[] };
  const [{ message }] = error.hookErrors as [Error];
  expect(message).toMatch(/there is no emergency checkpoint of step 2: .*`atEnd`.*no state.*Earlier checkpoints/);
  expect(message).not.toContain("parameters");
});

test("a failure in the first step leaves no checkpoint: a mended model starts from its beginning", async () => {
  const store = memoryStore();
  const failed = tinyTrainer({ store, hooks: [atEnd, failing("stepBegin", () => true)] });
  await expect(failed.fit()).rejects.toThrow("as planned");
  expect(await store.list()).toEqual([]);
  await using mended = tinyTrainer({ store, hooks: [atEnd] });
  expect((await mended.fit({ resume: "auto" })).steps).toBe(4);
  await failed.close();
});
