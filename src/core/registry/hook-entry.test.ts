import { describe, expect, test } from "vitest";
import { fakeRegistry } from "../../../tests/support/fake-run.ts";
import { tinyTrainer } from "../../testing/tiny.ts";
import type { Cadence } from "../cadence.ts";
import { HookRegistrationError, OptionError } from "../errors.ts";
import type { Hook } from "../hook.ts";

const register = (hook: unknown): void => void fakeRegistry().hooks.add(hook as Hook);

describe("registration", () => {
  test.each([
    ["onStepEnnd", "onStepEnd"],
    ["onstepEnd", "onStepEnd"],
    ["on_step_end", "onStepEnd"],
    ["onValidationEnd", "onEvalEnd"],
    ["onepochends", "onEpochEnd"],
    ["onFlush", undefined],
  ])("a method %s is an error; nearest: %s", (method, near) => {
    const hint =
      near === undefined ? "no such event. Define custom events" : `no such event. Did you mean \`${near}\`?`;
    expect(() => register({ name: "mine", [method]() {} })).toThrow(HookRegistrationError);
    expect(() => register({ name: "mine", [method]() {} })).toThrow(
      `Hook \`mine\` has a method \`${method}\`, but there is ${hint}`,
    );
  });

  test.each([
    [{ evry: 10 }, "evry", "every"],
    [{ need: ["gradNorm"] }, "need", "needs"],
    [{ need: "gradNorm" }, "need", "needs"],
    [{ onerror: "warn" }, "onerror", "onError"],
    [{ on_error: "warn" }, "on_error", "onError"],
    [{ rank: "main" }, "rank", "ranks"],
    [{ priority: 5 }, "priority", "stage"],
    [{ stgae: "logger" }, "stgae", "stage"],
    [{ Before: "logger" }, "Before", "before"],
    [{ log_every: 5 }, "log_every", "logEvery"],
    [{ probe: { match: "*" } }, "probe", "probes"],
    [{ monitor: ["val/loss"] }, "monitor", "monitors"],
    [{ stateDict() {} }, "stateDict", "state"],
    [{ load_state_dict() {} }, "load_state_dict", "load"],
  ])("a misspelt setting is an error: %o", (fields, key, meant) => {
    const message = `Hook \`mine\` has a field \`${key}\`, which is no setting. Did you mean \`${meant}\`?`;
    expect(() => register({ name: "mine", ...fields })).toThrow(HookRegistrationError);
    expect(() => register({ name: "mine", ...fields })).toThrow(message);
    class Mine {
      name = "mine";
      constructor() {
        Object.assign(this, fields);
      }
    }
    expect(() => register(new Mine())).toThrow(message);
  });

  test.each([
    { rank: 3 },
    { monitor: "val/loss" },
    { probe: new Map() },
    { seeds: [1, 2] },
    { states: [], stats() {} },
    { loader: {}, optimizer: {}, threshold: 3, order: 1, frequency: 2 },
    { every: 5, evry: 7 },
    { evry: undefined },
  ])("a field of the hook's own is none of these: %o", (fields) => {
    expect(() => register({ name: "mine", ...fields })).not.toThrow();
  });

  test("what only begins with the same letters is the hook's own affair", () => {
    expect(() => register({ name: "mine", once: true, online() {}, only: 3, onError: "warn" })).not.toThrow();
  });

  test("an undefined method is no method; anything else but a function is an error", () => {
    const { hooks } = fakeRegistry();
    hooks.add({ name: "mine", onStepEnd: undefined });
    expect(hooks.listens("stepEnd")).toBe(false);
    expect(() => register({ name: "mine", onStepEnd: 3 })).toThrow(
      "Hook `mine`: `onStepEnd` must be a function, got number.",
    );
  });

  test.each([[undefined], [null], ["text"], [() => 0]])("%o is no hook", (hook) => {
    expect(() => register(hook)).toThrow("A hook is an object with a `name`");
  });

  test.each([[{}], [{ name: "" }], [{ name: 3 }]])("%o has no name", (hook) => {
    expect(() => register(hook)).toThrow('A hook needs a `name`: { name: "myHook", onStepEnd(ctx) { … } }.');
  });

  test.each<[object, string]>([
    [{ stage: "first" }, 'Hook `h`: Expected `stage` to be one of "user", "monitor"'],
    [{ onError: "ignore" }, 'Expected `onError` to be one of "throw", "warn", "disable", got `"ignore"` (string)'],
    [{ needs: ["gradnorm"] }, 'Expected `needs` to be an array, each one of "gradNorm", "outputs"'],
    [{ before: 3 }, "Expected `before` to be a non-empty string or an array"],
    [{ budget: 0 }, "Expected `budget` to be a number > 0, got `0` (number)"],
    [{ ranks: 0 }, 'Expected `ranks` to be one of "main", "all"'],
    [{ version: 0 }, "Expected `version` to be a whole number ≥ 1"],
    [{ state: {} }, "Expected `state` to be a function"],
  ])("%o", (settings, message) => {
    expect(() => register({ name: "h", ...settings })).toThrow(OptionError);
    expect(() => register({ name: "h", ...settings })).toThrow(message);
  });
});

describe("class instances", () => {
  class Base {
    readonly name: string = "base";
    protected seen: string[] = [];
    onStepEnd(): void {
      this.seen.push(`${this.name} stepEnd`);
    }
  }
  class Derived extends Base {
    override readonly name = "derived";
    onEpochEnd(): void {
      this.seen.push("epochEnd");
    }
    get calls(): readonly string[] {
      return this.seen;
    }
  }

  test("inherited methods listen, and `this` is the instance", () => {
    const { hooks } = fakeRegistry();
    const hook = new Derived();
    hooks.add(hook);
    void hooks.fire.stepEnd!();
    void hooks.fire.epochEnd!();
    expect(hook.calls).toEqual(["derived stepEnd", "epochEnd"]);
  });

  test("a misspelled inherited method is found, too", () => {
    class Wrong extends Derived {
      onStepEdn(): void {}
    }
    expect(() => register(new Wrong())).toThrow("Did you mean `onStepEnd`?");
  });
});

describe("scopes", () => {
  test("loaders", () => {
    const { hooks, run } = fakeRegistry();
    const seen: string[] = [];
    hooks.add({
      name: "scoped",
      loaders: ["b"],
      onBatchBegin: (ctx) => void seen.push(ctx.loaderName),
      onStepEnd: () => void seen.push("stepEnd"),
    });
    for (run.loaderName of ["a", "b", "c", "b"]) void hooks.fire.batchBegin!();
    void hooks.fire.stepEnd!();
    expect(seen, "events without a loader are not limited").toEqual(["b", "b", "stepEnd"]);
  });

  test.each([[["generator"]], [[1]], [["generator", 1]]])("optimizers %o", (optimizers) => {
    const { hooks, run } = fakeRegistry({ optimizers: ["critic", "generator"] });
    const seen: number[] = [];
    hooks.add({ name: "scoped", optimizers, onBeforeOptimizerStep: (ctx) => void seen.push(ctx.optimizerIdx) });
    for (run.optimizerIdx of [0, 1]) void hooks.fire.beforeOptimizerStep!();
    expect(seen).toEqual([1]);
  });

  test("calls that a scope keeps away do not end a row of failures", () => {
    const { hooks, run } = fakeRegistry();
    hooks.add({
      name: "log",
      stage: "logger",
      loaders: ["bad"],
      onBatchEnd() {
        throw new Error("oops");
      },
    });
    for (let i = 0; i < 3; i++) for (run.loaderName of ["bad", "good"]) void hooks.fire.batchEnd!();
    expect(hooks.list()[0]!.enabled).toBe(false);
  });
});

describe("functions with a cadence", () => {
  /** Steps at which a function on `stepEnd` is called, in a run of 5 steps. */
  async function steps(
    cadence: Cadence | undefined,
    options: { stopAt?: number; failAt?: number } = {},
  ): Promise<string[]> {
    const trainer = tinyTrainer({ steps: 5 });
    const seen: string[] = [];
    const note = (ctx: { step: number; loss: number; status: string }): void =>
      void seen.push(
        `${ctx.step}${ctx.status === "training" ? "" : ` ${ctx.status}`}${Number.isFinite(ctx.loss) ? "" : " no loss"}`,
      );
    if (cadence === undefined) trainer.on("stepEnd", note);
    else trainer.on("stepEnd", cadence, note);
    trainer.on("stepEnd", (ctx) => {
      if (ctx.step === options.stopAt) ctx.stop("enough");
      if (ctx.step === options.failAt) throw new Error("oops");
    });
    await trainer.fit().catch(() => undefined);
    return seen;
  }

  test("every so many steps", async () => {
    expect(await steps(undefined)).toEqual(["1", "2", "3", "4", "5"]);
    expect(await steps(2)).toEqual(["2", "4"]);
  });

  test("atEnd adds the last occasion, when it was not served anyway", async () => {
    expect(await steps({ every: 2, atEnd: true })).toEqual(["2", "4", "5 completed"]);
    expect(await steps({ every: 5, atEnd: true })).toEqual(["5"]);
    expect(await steps({ atEnd: true })).toEqual(["5 completed"]);
    expect(await steps({ every: 2, until: 2, atEnd: true })).toEqual(["2", "5 completed"]);
  });

  test("a stopped run has a last occasion as well; a failed one has not", async () => {
    expect(await steps({ every: 2, atEnd: true }, { stopAt: 3 })).toEqual(["2", "3 stopped"]);
    expect(await steps({ every: 2, atEnd: true }, { failAt: 3 })).toEqual(["2"]);
  });

  test("at the end the fields are those of the event, the verbs those of the end", async () => {
    const trainer = tinyTrainer({ steps: 3 });
    let message = "";
    trainer.on("epochEnd", { every: 99, atEnd: true }, async (ctx) => {
      await Promise.resolve();
      expect(ctx.partial).toBe(true);
      try {
        ctx.stop("too late");
      } catch (error) {
        message = (error as Error).message;
      }
    });
    trainer.on("trainEnd", (ctx) => {
      expect(() => (ctx as unknown as { partial: boolean }).partial).toThrow("not available in `trainEnd`");
    });
    await trainer.fit();
    expect(message).toMatch("ctx.stop is not valid in `trainEnd`");
  });

  test("each fit has its own end", async () => {
    const trainer = tinyTrainer({ steps: 3 });
    const seen: number[] = [];
    trainer.on("stepEnd", { every: 4, atEnd: true }, (ctx) => void seen.push(ctx.step));
    await trainer.fit();
    await trainer.fit({ steps: 6 });
    await trainer.fit({ steps: 6 });
    expect(seen).toEqual([3, 4, 6]);
  });

  test("on trainEnd itself, atEnd is simply true", async () => {
    const trainer = tinyTrainer({ steps: 3 });
    const seen: string[] = [];
    trainer.on("trainEnd", { every: 100, atEnd: true }, (ctx) => void seen.push(ctx.reason));
    await trainer.fit();
    expect(seen).toEqual(["3 steps"]);
  });
});
