// Every event × every error policy × synchronous and asynchronous: what a hook that throws does to the run.
import type { BuiltinEvent, Hook, RunResult } from "hookline";
import { HookError } from "hookline";
import { DataLoader } from "hookline/data";
import { recordTrace, tinyData } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { BUILTIN_EVENTS, methodOf } from "../../src/core/events.ts";
import { ERROR_POLICIES, type ErrorPolicy } from "../../src/core/hook.ts";
import { fullTrainer } from "../support/full-trainer.ts";

interface Case {
  readonly event: BuiltinEvent;
  readonly policy: ErrorPolicy;
  readonly how: "sync" | "async";
}

/** `exception` and `close` reach every hook whatever happens, so no policy applies to them. */
const ISOLATED: readonly BuiltinEvent[] = ["exception", "close"];
/** Fired by `predict`, not by `fit`. */
const isOfPredict = (event: BuiltinEvent): boolean => event.startsWith("predict");
const CASES = BUILTIN_EVENTS.flatMap((event) =>
  ERROR_POLICIES.flatMap((policy) => (["sync", "async"] as const).map((how): Case => ({ event, policy, how }))),
);

/** Has one method, for `event`, that calls `body`; asynchronous after a real wait. */
function hookOn(name: string, event: BuiltinEvent, how: Case["how"], body: () => void, rest: Partial<Hook> = {}): Hook {
  const wait = async (): Promise<void> => {
    await new Promise((resolve) => void setImmediate(resolve));
    body();
  };
  return { name, ...rest, [methodOf(event)]: how === "sync" ? body : wait };
}

const fails = (error: Error) => (): never => {
  throw error;
};

/** Runs with a hook that throws at every occasion of an event, between one that looks before and a trace behind. */
async function runCase({ event, policy, how }: Case, ...others: Hook[]) {
  const oops = new Error(`oops in ${event}`);
  const warnings: string[] = [];
  let step = -1;
  let calls = 0;
  const trace = recordTrace();
  const look = { name: "look", [methodOf(event)]: (ctx: { step: number }) => void (step = ctx.step) } as Hook;
  const culprit = hookOn("culprit", event, how, () => (calls++, fails(oops)()), { onError: policy });
  const trainer = fullTrainer({
    hooks: [look, culprit, trace, ...others],
    warn: (message) => void warnings.push(message),
  });
  const [outcome] = await Promise.allSettled([
    isOfPredict(event)
      ? trainer.predict(new DataLoader(tinyData(8), { batchSize: 4 })).then(() => undefined)
      : trainer.fit(),
  ]);
  const result: RunResult | undefined = outcome.status === "fulfilled" ? outcome.value : undefined;
  const error: unknown = outcome.status === "rejected" ? outcome.reason : undefined;
  return { oops, warnings, step, calls, trace, trainer, result, error };
}

const attached = (error: unknown): HookError[] => [...((error as { hookErrors?: HookError[] }).hookErrors ?? [])];
const policyCases = CASES.filter(({ event }) => !ISOLATED.includes(event) && !isOfPredict(event));

describe.each(policyCases.filter(({ policy }) => policy === "throw"))("$event throws, $how", (a) => {
  test("the run fails with an error that names hook, event and step, and ends in order", async () => {
    const { error, oops, step, calls, trace, trainer } = await runCase(a);
    expect(error).toBeInstanceOf(HookError);
    expect(error).toMatchObject({ hook: "culprit", event: a.event, step, cause: oops });
    expect((error as Error).message).toBe(
      `Hook \`culprit\` failed in \`${a.event}\` at step ${step}: Error: ${oops.message}`,
    );
    const inTrainEnd = a.event === "trainEnd";
    // A throw in `trainEnd` comes after the run: it is too late for another one.
    expect(trace.names().slice(inTrainEnd ? -2 : -3)).toEqual(
      inTrainEnd ? ["exception", "close"] : ["exception", "trainEnd", "close"],
    );
    expect(calls).toBe(1);
    if (!inTrainEnd) expect(trace.names(), "hooks behind the culprit do not see it").not.toContain(a.event);
    expect(trace.entries.slice(-2).map(({ fields }) => fields.status)).toEqual(["error", "error"]);
    if (!inTrainEnd)
      expect(trace.entries.at(-2)!.fields).toMatchObject({ requestedBy: "culprit", reason: (error as Error).message });
    expect(attached(error)).toEqual([]);
    expect(trainer.hooks.list().every(({ enabled }) => enabled)).toBe(true);
  });
});

describe.each(policyCases.filter(({ policy }) => policy === "warn"))("$event warns, $how", (a) => {
  test("the run completes, and every failure is counted", async () => {
    const { result, oops, calls, trace, warnings, trainer, step } = await runCase(a);
    const times = trace.names().filter((name) => name === a.event).length;
    expect(result!.status).toBe("completed");
    expect(times).toBeGreaterThan(0);
    expect([calls, result!.hookErrorCount, result!.hookErrors.length, warnings.length]).toEqual([
      times,
      times,
      times,
      times,
    ]);
    expect(result!.hookErrors.at(-1)).toEqual({ hook: "culprit", event: a.event, step, error: oops });
    expect(warnings[0]).toContain(`Hook \`culprit\` failed in \`${a.event}\``);
    expect(trainer.hooks.list().every(({ enabled }) => enabled)).toBe(true);
  });
});

describe.each(policyCases.filter(({ policy }) => policy === "disable"))("$event disables, $how", (a) => {
  test("the run completes without the hook", async () => {
    const { result, calls, warnings, trainer, trace } = await runCase(a);
    expect(result!.status).toBe("completed");
    expect([calls, result!.hookErrorCount]).toEqual([1, 1]);
    expect(warnings).toEqual([expect.stringContaining("failed in"), "Hook `culprit` is switched off."]);
    expect(trainer.hooks.list().find(({ name }) => name === "culprit")!.enabled).toBe(false);
    expect(trace.names()).toContain(a.event);
  });
});

describe.each(CASES.filter(({ event }) => isOfPredict(event)))("$event with policy $policy, $how", (a) => {
  test("predict fails with an error that names hook and event, or completes and warns", async () => {
    const { error, oops, calls, trace, warnings, trainer } = await runCase(a);
    const times = trace.names().filter((name) => name === a.event).length;
    const isOn = trainer.hooks.list().find(({ name }) => name === "culprit")!.enabled;
    if (a.policy === "throw") {
      expect(error).toBeInstanceOf(HookError);
      expect(error).toMatchObject({ hook: "culprit", event: a.event, cause: oops });
      expect({ calls, times, isOn }).toEqual({ calls: 1, times: 0, isOn: true });
    } else {
      expect(error).toBeUndefined();
      expect(times).toBe(a.event.includes("Batch") ? 2 : 1);
      expect(warnings[0]).toContain(`Hook \`culprit\` failed in \`${a.event}\``);
      expect({ calls, isOn }).toEqual(a.policy === "warn" ? { calls: times, isOn: true } : { calls: 1, isOn: false });
    }
    expect(trace.names().at(-1)).toBe("close");
  });
});

describe.each(CASES.filter(({ event }) => event === "close"))("close with policy $policy, $how", (a) => {
  test("fails alone: the run is complete, the others are closed, and a warning tells", async () => {
    const { result, calls, warnings, trace, trainer } = await runCase(a);
    expect(result!.status).toBe("completed");
    expect(calls).toBe(1);
    expect(warnings).toEqual(["Hook `culprit` failed in `close` at step 4: Error: oops in close"]);
    expect(trace.names().at(-1)).toBe("close");
    expect(trainer.hooks.list().every(({ enabled }) => enabled)).toBe(true);
  });
});

describe.each(CASES.filter(({ event }) => event === "exception"))("exception with policy $policy, $how", (a) => {
  test("fails alone: the first error is rethrown with this one attached", async () => {
    const first = new Error("first");
    const { error, calls, trace, oops } = await runCase(a, hookOn("first", "stepEnd", "sync", fails(first)));
    expect(error).toMatchObject({ hook: "first", event: "stepEnd", cause: first });
    expect(calls).toBe(1);
    expect(attached(error)).toMatchObject([{ hook: "culprit", event: "exception", cause: oops }]);
    expect(trace.names().slice(-3)).toEqual(["exception", "trainEnd", "close"]);
  });
});

describe("a failed run", () => {
  test("is told to disabled hooks, too", async () => {
    const told: string[] = [];
    const off: Hook = {
      name: "off",
      onError: "disable",
      onStepBegin: fails(new Error("at once")),
      onException: () => void told.push("exception"),
      onTrainEnd: () => void told.push("trainEnd"),
      onClose: () => void told.push("close"),
    };
    const trainer = fullTrainer({
      hooks: [off, hookOn("first", "stepEnd", "sync", fails(new Error("first")))],
      warn() {},
    });
    await expect(trainer.fit()).rejects.toThrow("first");
    expect(told).toEqual(["exception", "trainEnd", "close"]);
  });

  test.each(ERROR_POLICIES)("attaches what fails on the way out, in order; policy %s", async (onError) => {
    const bad = (name: string): Hook => ({
      name,
      onError,
      onException: () => Promise.reject(new Error("e")),
      onTrainEnd: fails(new Error("t")),
      onClose: fails(new Error("c")),
    });
    const trainer = fullTrainer({
      hooks: [bad("a"), bad("b"), hookOn("first", "evalEnd", "async", fails(new Error("first")))],
    });
    const error: unknown = await trainer.fit().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ hook: "first", event: "evalEnd" });
    expect(attached(error).map(({ hook, event }) => `${hook} ${event}`)).toEqual([
      "a exception",
      "b exception",
      "a trainEnd",
      "b trainEnd",
      "a close",
      "b close",
    ]);
    expect(Object.keys(error as object), "the attachment does not clutter the printed error").not.toContain(
      "hookErrors",
    );
  });

  test("what is thrown and is no Error is kept as the cause", async () => {
    const trainer = fullTrainer({
      hooks: [{ name: "odd", onStepEnd: () => Promise.reject("just text") }],
    });
    const error: unknown = await trainer.fit().catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^Hook `odd` failed in `stepEnd` at step 1: .*just text/) as string,
      cause: "just text",
    });
  });

  test("an error of the loop itself is not a hook's", async () => {
    const trace = recordTrace({ events: ["exception", "trainEnd", "close"] });
    const broken = new Error("no disk");
    const loader = {
      length: 1,
      begin() {},
      next: () => Promise.reject(broken),
      skip: () => false,
      state: () => ({ epoch: 0, batches: 0, samples: 0 }),
      load() {},
    };
    const trainer = fullTrainer({ train: loader, hooks: [trace] });
    await expect(trainer.fit()).rejects.toBe(broken);
    expect(trace.names()).toEqual(["exception", "trainEnd", "close"]);
    expect(trace.entries[1]!.fields).toMatchObject({ status: "error", reason: "no disk", requestedBy: "" });
  });

  test("leaves the trainer ready for another fit", async () => {
    let broken = true;
    const trainer = fullTrainer({
      hooks: [hookOn("once", "afterBackward", "sync", () => void (broken && fails(new Error("once"))()))],
    });
    await expect(trainer.fit()).rejects.toThrow("once");
    broken = false;
    expect((await trainer.fit()).status).toBe("completed");
  });
});

describe("loggers and progress", () => {
  const reporter = (
    stage: "logger" | "progress",
    how: Case["how"],
    failing: (call: number) => boolean,
    seen: number[],
  ): Hook => {
    let call = 0;
    return hookOn(
      "reporter",
      "stepEnd",
      how,
      () => {
        seen.push(++call);
        if (failing(call)) throw new Error("full disk");
      },
      { stage },
    );
  };
  const cases = (["logger", "progress"] as const).flatMap((stage) =>
    (["sync", "async"] as const).map((how) => ({ stage, how })),
  );

  test.each(cases)("$stage, $how: warn, and are switched off after three failures in a row", async ({ stage, how }) => {
    const seen: number[] = [];
    const warnings: string[] = [];
    const trainer = fullTrainer({
      steps: 8,
      epochs: 4,
      hooks: [reporter(stage, how, () => true, seen)],
      warn: (message) => void warnings.push(message),
    });
    const result = await trainer.fit();
    expect([result.status, result.steps, result.hookErrorCount]).toEqual(["completed", 8, 3]);
    expect(seen).toEqual([1, 2, 3]);
    expect(warnings.at(-1)).toBe("Hook `reporter` is switched off after 3 failures in a row.");
    expect(trainer.hooks.list().find(({ name }) => name === "reporter")!.enabled).toBe(false);
  });

  test.each(cases)("$stage, $how: a success in between begins a new row", async ({ stage, how }) => {
    const seen: number[] = [];
    const trainer = fullTrainer({
      steps: 8,
      epochs: 4,
      hooks: [reporter(stage, how, (call) => call !== 3, seen)],
      warn() {},
    });
    const result = await trainer.fit();
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(result.hookErrorCount).toBe(5);
  });

  test("with a policy of their own they follow it", async () => {
    const seen: number[] = [];
    const strict = { ...reporter("logger", "sync", () => true, seen), onError: "throw" } as const;
    await expect(fullTrainer({ hooks: [strict] }).fit()).rejects.toThrow("full disk");
    expect(seen).toEqual([1]);
  });

  test("other hooks that warn are never switched off", async () => {
    const hook = hookOn("stubborn", "stepEnd", "sync", fails(new Error("again")), { onError: "warn" });
    const trainer = fullTrainer({ epochs: 4, hooks: [hook], warn() {} });
    expect((await trainer.fit()).hookErrorCount).toBe(8);
    expect(trainer.hooks.list()[0]!.enabled).toBe(true);
  });
});

test("of many failures the first hundred are kept, and all are counted", async () => {
  const hook = hookOn("stubborn", "batchEnd", "sync", fails(new Error("again")), { onError: "warn" });
  const result = await fullTrainer({ epochs: 60, eval: undefined, hooks: [hook], warn() {} }).fit();
  expect([result.hookErrors.length, result.hookErrorCount]).toEqual([100, 240]);
});

describe("a hook that hangs in close", () => {
  const hangs: Hook = { name: "hangs", onClose: () => new Promise(() => {}) };

  test("is cut off, and the others are closed", async () => {
    const warnings: string[] = [];
    const trace = recordTrace({ events: ["close"] });
    const trainer = fullTrainer({
      closeTimeout: 20,
      hooks: [hangs, trace],
      warn: (message) => void warnings.push(message),
    });
    expect((await trainer.fit()).status).toBe("completed");
    expect(warnings).toEqual(["Hook `hangs` failed in `close` at step 4: Error: did not finish within 20 ms"]);
    expect(trace.names()).toEqual(["close"]);
  });

  test("is attached to the error of a failed run", async () => {
    const first = hookOn("first", "stepEnd", "sync", fails(new Error("first")));
    const error: unknown = await fullTrainer({ closeTimeout: 20, hooks: [hangs, first] })
      .fit()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ hook: "first" });
    expect(attached(error)).toMatchObject([{ hook: "hangs", event: "close" }]);
  });
});
