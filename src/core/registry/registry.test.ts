import { describe, expect, test } from "vitest";
import { fakeRegistry } from "../../../tests/support/fake-run.ts";
import { HookError, HooklineError, HookRegistrationError } from "../errors.ts";
import type { Hook } from "../hook.ts";
import type { HookRegistry } from "./registry.ts";
import { addFunction } from "./on.ts";
import { HookTimes } from "./hook-times.ts";

const listed = (hooks: HookRegistry): string[] => hooks.list().map(({ name }) => name);

/** A hook that notes its calls of `stepEnd`. */
const noting = (name: string, calls: string[], rest: Partial<Hook> = {}): Hook => ({
  name,
  onStepEnd: () => void calls.push(name),
  ...rest,
});

describe("add and remove", () => {
  test("a second hook of one name is an error, unless it replaces the first in its place", () => {
    const { hooks } = fakeRegistry();
    const [one, two] = [{ name: "a" }, { name: "a" }];
    hooks.add(one);
    hooks.add({ name: "b" });
    expect(() => hooks.add(two)).toThrow(
      "There is already a hook named `a`. Give this one another `name`, or call hooks.add(hook, { replace: true }).",
    );
    expect(hooks.get("a")).toBe(one);
    hooks.add(two, { replace: true });
    expect(hooks.get("a")).toBe(two);
    expect(listed(hooks)).toEqual(["a", "b"]);
  });

  test("replace without anything to replace just adds", () => {
    const { hooks } = fakeRegistry();
    hooks.add({ name: "a" }, { replace: true });
    expect(listed(hooks)).toEqual(["a"]);
  });

  test("removed hooks are not called any more; an unknown name is an error with the nearest", () => {
    const { hooks } = fakeRegistry();
    const calls: string[] = [];
    hooks.add(noting("early", calls));
    hooks.add(noting("late", calls));
    hooks.remove("early");
    void hooks.fire.stepEnd!();
    expect(calls).toEqual(["late"]);
    expect(hooks.get("early")).toBeUndefined();
    expect(() => hooks.remove("lates")).toThrow("No hook is named `lates`. Did you mean `late`? Registered: late.");
  });

  test("the disposer undoes just its own registration", () => {
    const { hooks } = fakeRegistry();
    const dispose = hooks.add({ name: "a" });
    hooks.add({ name: "a", version: 2 }, { replace: true });
    dispose();
    expect(hooks.get("a")).toMatchObject({ version: 2 });
    const second = hooks.add({ name: "b" });
    second();
    second();
    expect(listed(hooks)).toEqual(["a"]);
  });

  test("`using` disposes at the end of the block", () => {
    const { hooks } = fakeRegistry();
    {
      using _ = hooks.add({ name: "scoped" });
      expect(listed(hooks)).toEqual(["scoped"]);
    }
    expect(listed(hooks)).toEqual([]);
  });

  test.each<[string, Hook]>([
    ["an unknown name in after", { name: "new", after: "nobody" }],
    ["a cycle", { name: "new", before: "a", after: "a" }],
    ["a misspelled method", { name: "new", onStepEnnd() {} } as Hook],
    ["a wrong setting", { name: "new", stage: "first" } as unknown as Hook],
  ])("%s leaves the registry as it was", (_, bad) => {
    const { hooks } = fakeRegistry();
    const calls: string[] = [];
    hooks.add(noting("a", calls));
    const { version } = hooks;
    const before = hooks.explain();
    expect(() => hooks.add(bad)).toThrow(HooklineError);
    expect(listed(hooks)).toEqual(["a"]);
    expect([hooks.version, hooks.explain()]).toEqual([version, before]);
    void hooks.fire.stepEnd!();
    expect(calls).toEqual(["a"]);
  });

  test("removing a hook that another refers to is refused", () => {
    const { hooks } = fakeRegistry();
    hooks.add({ name: "a" });
    hooks.add({ name: "b", after: "a" });
    expect(() => hooks.remove("a")).toThrow("Hook `b` wants to run after `a`, but no hook has that name.");
    expect(listed(hooks)).toEqual(["a", "b"]);
  });

  test("several at once may refer to each other, and come in whole or not at all", () => {
    const { hooks } = fakeRegistry();
    hooks.addAll([{ name: "a", after: "b" }, { name: "b" }]);
    expect(listed(hooks)).toEqual(["b", "a"]);
    expect(() => hooks.addAll([{ name: "c" }, { name: "c" }])).toThrow("There is already a hook named `c`");
    expect(() => hooks.addAll([{ name: "c" }, { name: "d", before: "z" }])).toThrow(HookRegistrationError);
    expect(listed(hooks)).toEqual(["b", "a"]);
  });
});

describe("changes inside an event take effect at the next event", () => {
  test.each<[string, (hooks: HookRegistry, calls: string[]) => void, first: string[], then: string[]]>([
    ["add", (hooks, calls) => void hooks.add(noting("new", calls)), ["b"], ["b", "new"]],
    ["remove", (hooks) => hooks.remove("b"), ["b"], []],
    ["disable", (hooks) => hooks.disable("b"), ["b"], []],
    [
      "replace",
      (hooks, calls) =>
        void hooks.add(noting("b", calls, { onStepEnd: () => void calls.push("b2") }), { replace: true }),
      ["b"],
      ["b2"],
    ],
  ])("%s", (_, change, first, then) => {
    const { hooks } = fakeRegistry();
    const calls: string[] = [];
    let done = false;
    hooks.add({
      name: "changer",
      onStepEnd() {
        if (!done) change(hooks, calls);
        done = true;
      },
    });
    hooks.add(noting("b", calls));
    void hooks.fire.stepEnd!();
    expect(calls).toEqual(first);
    calls.length = 0;
    void hooks.fire.stepEnd!();
    expect(calls).toEqual(then);
  });

  test("a hook that removes itself and then fails is still named, and its own policy counts", () => {
    const { hooks, warnings } = fakeRegistry();
    hooks.add({
      name: "gone",
      onStepEnd() {
        hooks.remove("gone");
        throw new Error("oops");
      },
    });
    expect(() => hooks.fire.stepEnd!()).toThrow("Hook `gone` failed in `stepEnd` at step 0: Error: oops");

    hooks.add({
      name: "mild",
      onError: "warn",
      onStepEnd() {
        hooks.add({ name: "mild" }, { replace: true });
        throw new Error("oops");
      },
    });
    void hooks.fire.stepEnd!();
    expect(warnings).toEqual(["Hook `mild` failed in `stepEnd` at step 0: Error: oops"]);
  });
});

describe("enable and disable", () => {
  test("a disabled hook keeps its place and does not listen", () => {
    const { hooks } = fakeRegistry();
    const calls: string[] = [];
    hooks.add(noting("a", calls, { needs: ["outputs"] }));
    hooks.add(noting("b", calls));
    hooks.disable("a");
    void hooks.fire.stepEnd!();
    expect(calls).toEqual(["b"]);
    expect(hooks.list()).toMatchObject([
      { name: "a", enabled: false },
      { name: "b", enabled: true },
    ]);
    expect([hooks.needing("outputs"), hooks.firstListener("stepEnd")?.hook]).toEqual([undefined, "b"]);
    hooks.enable("a");
    void hooks.fire.stepEnd!();
    expect(calls).toEqual(["b", "a", "b"]);
    expect([hooks.needing("outputs"), hooks.firstListener("stepEnd")?.hook]).toEqual(["a", "a"]);
  });

  test("the version tells of real changes only", () => {
    const { hooks } = fakeRegistry();
    hooks.add({ name: "a" });
    const { version } = hooks;
    hooks.enable("a");
    expect(hooks.version).toBe(version);
    hooks.disable("a");
    expect(hooks.version).toBeGreaterThan(version);
  });

  test("an unknown name is an error", () => {
    const { hooks } = fakeRegistry();
    expect(() => hooks.disable("a")).toThrow("No hook is named `a`. Registered: none.");
    expect(() => hooks.enable("a")).toThrow(HookRegistrationError);
  });

  test("close reaches disabled hooks too: what they opened must be closed", async () => {
    const { hooks } = fakeRegistry();
    const closed: string[] = [];
    hooks.add({ name: "a", onClose: () => void closed.push("a") });
    hooks.disable("a");
    expect(await hooks.fireIsolated("close", 100)).toEqual([]);
    expect(closed).toEqual(["a"]);
  });
});

describe("who listens", () => {
  test("list is in running order, with events", () => {
    const { hooks } = fakeRegistry();
    hooks.add({ name: "bar", stage: "progress", onStepEnd() {}, onClose() {} });
    hooks.add({ name: "mine", onEpochEnd() {} });
    expect(hooks.list()).toEqual([
      { name: "mine", stage: "user", enabled: true, events: ["epochEnd"] },
      { name: "bar", stage: "progress", enabled: true, events: ["stepEnd", "close"] },
    ]);
    expect([hooks.listens("stepEnd"), hooks.listens("log"), hooks.listens("log", "close")]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("explain tells who runs where and why", () => {
    const { hooks } = fakeRegistry();
    hooks.add({ name: "bar", stage: "progress", before: [], onStepEnd() {} });
    hooks.add({ name: "mine", after: "bar", onStepEnd() {}, onClose() {} });
    hooks.disable("bar");
    expect(hooks.explain()).toBe(
      [
        "close",
        "  1. mine  [stage user, after bar]",
        "stepEnd",
        "  1. bar (disabled)  [stage progress]",
        "  2. mine  [stage user, after bar]",
      ].join("\n"),
    );
    expect(hooks.explain("log")).toBe("log\n  nobody listens");
  });

  test("hooks for the main process do not listen elsewhere, not even to close", async () => {
    const main: Hook = {
      name: "main",
      ranks: "main",
      onStepEnd() {},
      onClose: () => Promise.reject(new Error("called")),
    };
    const first = fakeRegistry({ rank: 0 }).hooks;
    const second = fakeRegistry({ rank: 1 }).hooks;
    first.add(main);
    second.add(main);
    second.add({ name: "all", onEpochEnd() {} });
    expect([first.listens("stepEnd"), second.listens("stepEnd"), second.listens("epochEnd")]).toEqual([
      true,
      false,
      true,
    ]);
    expect(await first.fireIsolated("close", 100)).toHaveLength(1);
    expect(await second.fireIsolated("close", 100)).toEqual([]);
  });
});

describe("report", () => {
  test("time per hook and event, and who is over budget", () => {
    const { hooks } = fakeRegistry();
    const busy = (ms: number): void => {
      for (const end = performance.now() + ms; performance.now() < end;);
    };
    hooks.add({ name: "slow", budget: 1, onEpochEnd: () => busy(3) });
    hooks.add({ name: "quick", budget: 10_000, onEpochEnd() {} });
    hooks.add({ name: "unlimited", onEpochEnd: () => busy(3) });
    for (let i = 0; i < 3; i++) void hooks.fire.epochEnd!();
    const { times, overBudget } = hooks.report();
    expect(times.map(({ calls }) => calls)).toEqual([3, 3, 3]);
    expect(times.find(({ hook }) => hook === "slow")!.ms).toBeGreaterThanOrEqual(9);
    expect(overBudget).toMatchObject([{ hook: "slow", event: "epochEnd", budget: 1 }]);
    hooks.beginRun();
    expect(hooks.report().times).toEqual([]);
  });

  test("calls of sampled events are estimated", () => {
    const { hooks } = fakeRegistry();
    hooks.add({ name: "a", onStepEnd() {} });
    for (let i = 0; i < 10_000; i++) void hooks.fire.stepEnd!();
    const { calls, ms } = hooks.report().times[0]!;
    expect(calls).toBeGreaterThan(9_900);
    expect(calls).toBeLessThanOrEqual(10_000);
    expect(ms).toBeGreaterThanOrEqual(0);
  });
});

describe("isolated events", () => {
  test("every hook is reached; what went wrong comes back named; a hanging one is cut off", async () => {
    const { hooks, run } = fakeRegistry();
    run.clock.now.step = 7;
    const reached: string[] = [];
    hooks.add({ name: "throws", onClose: () => Promise.reject(new Error("a")) });
    hooks.add({ name: "hangs", onClose: () => new Promise(() => {}) });
    hooks.add({
      name: "throwsNow",
      onClose() {
        throw new Error("b");
      },
    });
    hooks.add({ name: "last", onClose: () => void reached.push("last") });
    const errors = await hooks.fireIsolated("close", 20);
    expect(errors.map(({ message }) => message)).toEqual([
      "Hook `throws` failed in `close` at step 7: Error: a",
      "Hook `hangs` failed in `close` at step 7: Error: did not finish within 20 ms",
      "Hook `throwsNow` failed in `close` at step 7: Error: b",
    ]);
    expect(errors[0]).toBeInstanceOf(HookError);
    expect(reached).toEqual(["last"]);
    expect(run.turn).toEqual({ event: null, ctx: null });
  });

  test("a promise that rejects after its deadline is nobody's unhandled rejection", async () => {
    const { hooks } = fakeRegistry();
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    hooks.add({
      name: "late",
      onClose: () => new Promise((_, reject) => void setTimeout(reject, 30, new Error("late"))),
    });
    expect(await hooks.fireIsolated("close", 5)).toHaveLength(1);
    await new Promise((resolve) => void setTimeout(resolve, 60));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});

test("times add up per hook and event, the most expensive first, sampled calls with their weight", () => {
  const times = new HookTimes();
  times.add({ hook: "a" }, "stepEnd", 1, 1);
  times.add({ hook: "b" }, "stepEnd", 2, 10);
  times.add({ hook: "a" }, "stepEnd", 3, 1);
  times.add({ hook: "a" }, "epochEnd", 0.5, 1);
  expect(times.report(new Map()).times).toEqual([
    { hook: "b", event: "stepEnd", calls: 10, ms: 20 },
    { hook: "a", event: "stepEnd", calls: 2, ms: 4 },
    { hook: "a", event: "epochEnd", calls: 1, ms: 0.5 },
  ]);
  times.clear();
  expect(times.report(new Map()).times).toEqual([]);
});

test("over budget is the mean call of one event, not a single slow one", () => {
  const times = new HookTimes();
  times.add({ hook: "a" }, "stepEnd", 9, 1);
  for (let i = 0; i < 9; i++) times.add({ hook: "a" }, "stepEnd", 1, 1);
  times.add({ hook: "a" }, "log", 5, 1);
  times.add({ hook: "free" }, "log", 100, 1);
  expect(times.report(new Map([["a", 2]])).overBudget).toEqual([{ hook: "a", event: "log", budget: 2, msPerCall: 5 }]);
});

test.each([
  ["dataRead", "an experiment", "onDataRead"],
  ["trialStart", "a study", "onTrialStart"],
])("`on` refuses %s, which no trainer fires", (event, owner, method) => {
  const { hooks } = fakeRegistry();
  expect(() => addFunction(hooks, event, () => undefined)).toThrow(
    `on("${event}"): it is an event of ${owner}, and a trainer never fires it. Give ${owner} a hook with \`${method}\`.`,
  );
  expect(listed(hooks)).toEqual([]);
});

test("a report is a copy", () => {
  const times = new HookTimes();
  times.add({ hook: "a" }, "log", 1, 1);
  const before = times.report(new Map());
  times.add({ hook: "a" }, "log", 1, 1);
  expect(before.times[0]!.calls).toBe(1);
});
