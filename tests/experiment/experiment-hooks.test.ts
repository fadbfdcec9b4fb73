// Errors and stops in the events of an experiment.
import { ContextError, HookError, type Hook, type PipelineContexts, type PipelineEvent } from "hookline";
import { recordTrace, replay, testContext } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { methodOf } from "../../src/core/events.ts";
import { PIPELINE_EVENTS } from "../../src/core/outer-events.ts";
import { tinyExperiment } from "../support/tiny-experiment.ts";

const EVENTS = Object.keys(PIPELINE_EVENTS) as PipelineEvent[];

const failing = (event: PipelineEvent, more: Partial<Hook> = {}): Hook => ({
  name: "failing",
  [methodOf(event)]: async () => {
    await Promise.resolve();
    throw new TypeError("as planned");
  },
  ...more,
});

describe.each(EVENTS)("an error in %s", (event) => {
  it("ends the experiment, and says which hook and event", async () => {
    const error = await tinyExperiment({ hooks: [failing(event)] })
      .run()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HookError);
    expect(error).toMatchObject({
      hook: "failing",
      event,
      message: `Hook \`failing\` failed in \`${event}\`: TypeError: as planned`,
    });
    expect((error as Error).cause).toBeInstanceOf(TypeError);
  });

  it("is a warning where the hook's policy says so, and is counted", async () => {
    const warnings: string[] = [];
    const hooks = [failing(event, { onError: "warn" })];
    const result = await tinyExperiment({
      hooks,
      models: { a: {}, b: {} },
      warn: (text) => void warnings.push(text),
    }).run();
    const times = event === "dataRead" || event === "datasetCreated" ? 1 : 2;
    expect(result.status).toBe("completed");
    expect(warnings).toEqual(
      Array.from({ length: times }, () => `Hook \`failing\` failed in \`${event}\`: TypeError: as planned`),
    );
    expect(result.hookErrors).toHaveLength(times);
    expect(result.hookErrors[0]).toMatchObject({ hook: "failing", event, error: expect.any(TypeError) });
  });

  it("switches the hook off for the rest of the experiment, where its policy says so", async () => {
    const later: string[] = [];
    const hook = failing(event, { onError: "disable" });
    const told = new Set<string>(EVENTS.slice(EVENTS.indexOf(event) + 1));
    for (const each of told) Object.assign(hook, { [methodOf(each)]: () => void later.push(each) });
    Object.assign(hook, { onTrainBegin: () => void later.push("trainBegin") });
    const warnings: string[] = [];
    const result = await tinyExperiment({
      hooks: [hook],
      models: { a: {}, b: {} },
      warn: (text) => void warnings.push(text),
    }).run();
    expect(result.hookErrors).toHaveLength(1);
    expect(warnings.at(-1)).toBe("Hook `failing` is switched off.");
    // The first model was trained before it was switched off.
    const trained = event === "trainingComplete" || event === "evaluationComplete";
    expect(later).toEqual(trained ? ["trainBegin"] : []);
  });
});

describe("ctx.stop", () => {
  it.each(EVENTS)(
    "in %s ends the experiment after the event: those behind still see it, nothing else begins",
    async (event) => {
      const seen: string[] = [];
      const stopper: Hook = {
        name: "stopper",
        [methodOf(event)]: (ctx: PipelineContexts[PipelineEvent]) => ctx.stop("enough"),
      };
      const behind: Hook = {
        name: "behind",
        ...Object.fromEntries(EVENTS.map((each) => [methodOf(each), () => void seen.push(each)])),
      };
      const result = await tinyExperiment({ hooks: [stopper, behind], models: { a: {}, b: {} } }).run();
      expect(result).toMatchObject({ status: "stopped", reason: "enough", requestedBy: "stopper" });
      expect(seen).toEqual(EVENTS.slice(0, EVENTS.indexOf(event) + 1));
      expect(Object.keys(result.models)).toEqual(event === "evaluationComplete" ? ["a"] : []);
    },
  );

  it("is refused when the event has ended", async () => {
    let kept: PipelineContexts["dataRead"] | undefined;
    const keeper: Hook = { name: "keeper", onDataRead: (ctx) => void (kept = ctx) };
    await tinyExperiment({ hooks: [keeper] }).run();
    expect(() => kept!.stop("late")).toThrow(ContextError);
    expect(() => kept!.stop("late")).toThrow("after `dataRead` had ended");
  });

  it("of a training ends that training alone", async () => {
    const short: Hook = { name: "short", onStepEnd: (ctx) => ctx.stop("one step") };
    const { status, models } = await tinyExperiment({ hooks: [short], models: { a: {}, b: {} } }).run();
    expect(status).toBe("completed");
    expect(Object.values(models).map(({ training }) => [training.status, training.steps])).toEqual([
      ["stopped", 1],
      ["stopped", 1],
    ]);
  });
});

describe("results", () => {
  it("that are no numbers are the error of the hook that added them", async () => {
    const adds: Hook = {
      name: "adds",
      onEvaluationComplete: ({ results }) => void Object.assign(results, { best: "yes" }),
    };
    await expect(tinyExperiment({ hooks: [adds] }).run()).rejects.toThrow(
      'Hook `adds` failed in `evaluationComplete`: DataError: ctx.results: Expected results to be numbers, but `best` is `"yes"` (string)',
    );
  });
});

describe("the kit for testing hooks", () => {
  const guard: Hook = {
    name: "guard",
    onDataRead(ctx) {
      const { x } = ctx.data as { x: Float32Array };
      if (x.length === 0) ctx.stop("no rows");
      return { x: x.slice(0, 1) };
    },
    onEvaluationComplete: (ctx) => void (ctx.results.half = ctx.results["test/loss"]! / 2),
  };

  it("makes contexts for these events", () => {
    const { ctx, calls } = testContext("dataRead", { data: { x: new Float32Array(0) } });
    expect(guard.onDataRead!(ctx)).toEqual({ x: new Float32Array(0) });
    expect(calls).toEqual([{ event: "dataRead", verb: "stop", args: ["no rows"] }]);
    const end = testContext("evaluationComplete", { results: { "test/loss": 3 } });
    guard.onEvaluationComplete!(end.ctx);
    expect(end.ctx).toMatchObject({ results: { half: 1.5 }, model: "model", experiment: "experiment", seed: 0 });
  });

  it("records them, with the loop's between them, and replays them", async () => {
    const trace = recordTrace({ events: ["dataRead", "stepEnd", "evaluationComplete"] });
    await tinyExperiment({ hooks: [trace] }).run();
    expect(trace.names()).toEqual(["dataRead", "stepEnd", "stepEnd", "evaluationComplete"]);
    expect(trace.entries.at(-1)!.fields).toMatchObject({
      model: "model",
      results: { "test/loss": expect.any(Number) },
    });
    const seen: string[] = [];
    const watch: Hook = {
      name: "watch",
      onDataRead: (ctx) => void seen.push(Object.keys(ctx.data as object).join()),
      onStepEnd: (ctx) => void seen.push(`${ctx.step}`),
      onEvaluationComplete: (ctx) => ctx.stop(ctx.model),
    };
    const calls = await replay(trace.entries, watch);
    expect(seen).toEqual(["x,y", "1", "2"]);
    expect(calls).toEqual([{ event: "evaluationComplete", verb: "stop", args: ["model"] }]);
  });
});

it("closes the trainer whatever happens: nothing is left on the device", async () => {
  const { watchBuffers } = await import("../support/live-buffers.ts");
  const live = await watchBuffers();
  await tinyExperiment({ models: { a: {}, b: {} } }).run();
  for (const event of EVENTS)
    await tinyExperiment({ hooks: [failing(event)] })
      .run()
      .catch(() => undefined);
  const inStep: Hook = { name: "inStep", onStepEnd: () => Promise.reject(new Error("no")) };
  await expect(tinyExperiment({ hooks: [inStep] }).run()).rejects.toThrow("no");
  expect(live.count).toBe(0);
});
