// Every verb × every event: it works and is audited where VERBS says so, and elsewhere says where it works.
import { ContextError, defineEvent, type BuiltinEvent, type Hook, type RunResult } from "hookline";
import { DataLoader } from "hookline/data";
import { mse } from "hookline/nn";
import { tinyData } from "hookline/testing";
import { describe, expect, test } from "vitest";
import type { Context } from "../../src/core/context.ts";
import { BUILTIN_EVENTS, EVENTS, methodOf } from "../../src/core/events.ts";
import { SKIP_SCOPES, VERBS, type SkipScope, type VerbName } from "../../src/core/verbs.ts";
import { fullTrainer, SAVING } from "../support/full-trainer.ts";

declare module "hookline" {
  interface CustomEvents {
    verbsTestAlarm: { readonly level: number };
  }
}
defineEvent("verbsTestAlarm");

const WHY = "because";
const params = {
  weight: { data: Float32Array.of(1, 2, 3), shape: [1, 3] },
  bias: { data: Float32Array.of(0), shape: [1] },
};

/** How each verb is called, and how it shows in the audit. */
const CALLS: Record<VerbName, { readonly call: (ctx: Context) => void; readonly what: string }> = {
  stop: { call: (ctx) => ctx.stop(WHY), what: "stop" },
  skip: { call: (ctx) => ctx.skip("epoch", WHY), what: "" },
  pause: { call: (ctx) => ctx.pause(WHY), what: "pause" },
  continue: { call: (ctx) => ctx.continue(WHY), what: "continue" },
  remark: { call: (ctx) => ctx.remark(WHY), what: "remark" },
  replaceBatch: { call: (ctx) => ctx.replaceBatch(tinyData(4), WHY), what: "replaceBatch" },
  scaleLoss: { call: (ctx) => ctx.scaleLoss(0.5, WHY), what: "scaleLoss(0.5)" },
  setLoss: { call: (ctx) => ctx.setLoss(mse(), WHY), what: `setLoss(${mse().name || "anonymous"})` },
  setLr: { call: (ctx) => ctx.setLr(0.05, WHY), what: "setLr(0.05)" },
  setUpdate: { call: (ctx) => ctx.setUpdate(null, WHY), what: "setUpdate(null)" },
  setTrainable: { call: (ctx) => ctx.setTrainable("weight", WHY), what: 'setTrainable("weight")' },
  setAccumulate: { call: (ctx) => ctx.setAccumulate(1, WHY), what: "setAccumulate(1)" },
  setHook: { call: (ctx) => ctx.setHook("caller", true, WHY), what: 'setHook("caller", true)' },
  setParams: { call: (ctx) => ctx.setParams(params, WHY), what: "setParams" },
  swapParams: { call: (ctx) => ctx.swapParams(params, WHY), what: "swapParams" },
  requestEval: { call: (ctx) => ctx.requestEval(WHY), what: "requestEval" },
  requestSave: { call: (ctx) => ctx.requestSave(WHY), what: "requestSave" },
  rollback: { call: (ctx) => ctx.rollback(undefined, WHY), what: "rollback" },
};

const verbs = Object.keys(VERBS) as VerbName[];
const PAIRS = verbs
  .flatMap((verb) => BUILTIN_EVENTS.map((event) => ({ verb, event })))
  // The scopes of `skip` have a table of their own.
  .filter(({ verb }) => verb !== "skip");
const SKIPS = (Object.keys(SKIP_SCOPES) as SkipScope[]).flatMap((scope) =>
  BUILTIN_EVENTS.map((event) => ({ scope, event })),
);

interface Outcome {
  readonly thrown: unknown;
  /** Step and epoch at the call. */
  readonly at: { readonly step: number; readonly epoch: number };
  readonly result: RunResult | undefined;
  /** Without those of the hook that is part of the trainer. */
  readonly interventions: RunResult["interventions"];
  readonly evals: number;
}

const byOthers = ({ interventions }: Pick<RunResult, "interventions">) =>
  interventions.filter(({ who }) => who !== SAVING);

/** Runs, with `deed` done at the first occasion of an event; `exception` comes about by another hook. */
async function atFirst(event: BuiltinEvent, deed: (ctx: Context) => unknown, needs?: Hook["needs"]): Promise<Outcome> {
  let thrown: unknown;
  let at: Outcome["at"] | undefined;
  let evals = 0;
  const caller = {
    name: "caller",
    needs,
    async [methodOf(event)](ctx: Context) {
      if (at) return;
      at = { step: ctx.step, epoch: ctx.epoch };
      try {
        await deed(ctx);
      } catch (error) {
        thrown = error;
      }
    },
  } as Hook;
  const fails: Hook = { name: "fails", onStepEnd: () => Promise.reject(new Error("on purpose")) };
  const count: Hook = { name: "count", onEvalEnd: () => void evals++ };
  const hooks = event === "exception" ? [caller, fails] : [caller, count];
  await using trainer = fullTrainer({ hooks, samples: 32 });
  const result = await trainer.fit().catch((error: unknown) => {
    if (event !== "exception") throw error;
    return undefined;
  });
  let interventions = result ? byOthers(result) : [];
  if (EVENTS[event].level === "predict") {
    const look = (ctx: Pick<RunResult, "interventions">) => (interventions = byOthers(ctx));
    using _ = trainer.on("close", look);
    await trainer.predict(new DataLoader(tinyData(4), { batchSize: 4 }));
  }
  return { thrown, at: at!, result, interventions, evals };
}

describe.each(PAIRS)("$verb in $event", ({ verb, event }) => {
  const valid = (VERBS[verb].events as readonly string[]).includes(event);

  test(valid ? "works, and is audited" : "is refused, with the events where it works", async () => {
    const { thrown, at, result, interventions, evals } = await atFirst(event, CALLS[verb].call);
    if (!valid) {
      expect(thrown).toBeInstanceOf(ContextError);
      const where = `It works in: ${VERBS[verb].events.join(", ")}.`;
      expect((thrown as Error).message).toContain(`in \`${event}\``);
      expect((thrown as Error).message).toContain(where);
      expect(interventions).toEqual([]);
      return;
    }
    expect(thrown).toBeUndefined();
    expect(interventions[0]).toEqual({ who: "caller", event, ...at, what: CALLS[verb].what, why: WHY });
    // A rollback at the first step finds no checkpoint: the run stops, and that is a second entry. One that is asked for
    // in `log` is done at the next boundary.
    const stranded = verb === "rollback" && at.step === 1 && event !== "log";
    if (stranded)
      expect(result!.reason).toBe("caller asks for a rollback, but this run has no checkpoint yet (because)");
    expect(interventions).toHaveLength(stranded ? 2 : 1);
    expect(result!.status).toBe(verb === "stop" || stranded ? "stopped" : "completed");
    if (verb === "stop") expect(result).toMatchObject({ reason: WHY, requestedBy: "caller" });
    if (verb === "requestEval") expect(evals, "one for each epoch, and the one that was asked for").toBe(3);
  });
});

describe.each(SKIPS)('skip("$scope") in $event', ({ scope, event }) => {
  const valid = (SKIP_SCOPES[scope] as readonly string[]).includes(event);

  test(valid ? "works, and is audited" : "is refused, with the events where it works", async () => {
    const { thrown, at, interventions } = await atFirst(event, (ctx) => ctx.skip(scope, WHY));
    if (valid) {
      expect(thrown).toBeUndefined();
      expect(interventions).toEqual([{ who: "caller", event, ...at, what: `skip("${scope}")`, why: WHY }]);
      return;
    }
    expect(thrown).toBeInstanceOf(ContextError);
    expect((thrown as Error).message).toMatch(
      /ctx\.skip\("\w+"\) (comes too early|comes too late|is not valid) in `\w+`; it works in /,
    );
    expect((thrown as Error).message).toContain(SKIP_SCOPES[scope].join(", "));
  });
});

describe("arguments", () => {
  test.each<[string, BuiltinEvent, (ctx: Context) => void, string]>([
    [
      "skip",
      "stepBegin",
      (ctx) => ctx.skip("run" as SkipScope),
      'ctx.skip takes "batch", "step", "epoch", "save", got `"run"` (string)',
    ],
    ["scaleLoss", "batchBegin", (ctx) => ctx.scaleLoss(NaN), "ctx.scaleLoss takes a finite number, got `NaN` (number)"],
    ["setLr", "stepEnd", (ctx) => ctx.setLr(-1), "A learning rate must be a finite number ≥ 0, got `-1` (number)"],
    [
      "setAccumulate",
      "stepEnd",
      (ctx) => ctx.setAccumulate(0),
      "ctx.setAccumulate takes a whole number ≥ 1, got `0` (number)",
    ],
    [
      "log",
      "stepEnd",
      (ctx) => ctx.log({ loss: "low" as unknown as number }),
      'ctx.log takes numbers, histogram(…), text(…) and image(…), but `loss` is `"low"` (string)',
    ],
  ])("%s", async (_, event, deed, message) => {
    const { thrown, interventions } = await atFirst(event, deed);
    expect(thrown).toBeInstanceOf(ContextError);
    expect((thrown as Error).message).toContain(message);
    expect(interventions, "what was refused is not recorded").toEqual([]);
  });
});

describe("own events", () => {
  test("allow what stepEnd allows", async () => {
    const done: string[] = [];
    const trainer = fullTrainer({
      hooks: [
        {
          name: "alarm",
          onVerbsTestAlarm(ctx) {
            ctx.setLr(0.01, `level ${ctx.payload.level}`);
            ctx.skip("epoch");
            for (const verb of ["replaceBatch", "scaleLoss", "swapParams"] as const)
              expect(() => CALLS[verb].call(ctx as unknown as Context)).toThrow("is not valid in `verbsTestAlarm`");
            expect(() => (ctx as unknown as Context).skip("step")).toThrow("comes too late");
            expect(() => (ctx as unknown as Context).loss).toThrow("ctx.loss is not available in `verbsTestAlarm`");
            done.push(`alarm ${ctx.step}`);
          },
        },
      ],
    });
    trainer.on("stepEnd", { at: [1] }, async (ctx) => {
      await trainer.emit("verbsTestAlarm", { level: 3 });
      ctx.log({ alarms: done.length });
    });
    const result = await trainer.fit();
    const { metrics, steps } = result;
    expect(done).toEqual(["alarm 1"]);
    expect(byOthers(result).map(({ who, event, what }) => `${who} ${event} ${what}`)).toEqual([
      "alarm verbsTestAlarm setLr(0.01)",
      'alarm verbsTestAlarm skip("epoch")',
    ]);
    expect(metrics).toMatchObject({ alarms: 1 });
    expect(steps, "one step of the first epoch, two of the second").toBe(3);
  });
});

describe("after its event", () => {
  const LATE = /called ctx\..+ after its event had ended/;

  test.each(verbs)("ctx.%s throws in another event, in another hook's turn and between events", async (verb) => {
    let kept: Context | undefined;
    const errors: unknown[] = [];
    const use = (): void => {
      if (!kept) return;
      try {
        CALLS[verb].call(kept);
      } catch (error) {
        errors.push(error);
      }
    };
    const event: BuiltinEvent = VERBS[verb].events[0];
    const keeper = { name: "keeper", [methodOf(event)]: (ctx: Context) => void (kept ??= ctx) } as Hook;
    const other = { name: "other", [methodOf(event)]: () => use(), onLog: () => use() } as Hook;
    const result = await fullTrainer({ hooks: [keeper, other] }).fit();
    use();
    expect(errors.length).toBeGreaterThan(2);
    for (const error of errors) {
      expect(error).toBeInstanceOf(ContextError);
      expect((error as Error).message).toMatch(LATE);
    }
    expect(byOthers(result)).toEqual([]);
  });

  test("a promise that was not awaited comes too late", async () => {
    const late: Promise<unknown>[] = [];
    const hook: Hook = {
      name: "forgetful",
      onStepEnd(ctx) {
        const work = new Promise((resolve) => void setTimeout(resolve, 1)).then(() => ctx.stop("at last"));
        late.push(work.catch((error: unknown) => error));
      },
    };
    const result = await fullTrainer({ hooks: [hook] }).fit();
    expect([result.status, byOthers(result)]).toEqual(["completed", []]);
    for (const error of await Promise.all(late))
      expect(error).toMatchObject({ name: "ContextError", message: expect.stringMatching(LATE) as string });
  });

  test("an assignment to a group is an intervention, too", async () => {
    let kept: Context | undefined;
    await atFirst("stepEnd", (ctx) => void (kept = ctx));
    expect(() => void (kept!.optimizers[0]!.groups[0]!.lr = 1)).toThrow(LATE);
  });
});

test("in evaluate() nothing that changes a training run is valid", async () => {
  const refused: string[] = [];
  const trainer = fullTrainer({
    hooks: [
      {
        name: "caller",
        onEvalBegin(ctx) {
          if (ctx.phase !== "standalone") return;
          for (const verb of verbs.filter((name) => (VERBS[name].events as readonly string[]).includes("evalBegin"))) {
            try {
              CALLS[verb].call(ctx as unknown as Context);
            } catch (error) {
              if ((error as Error).message.includes("but evaluate() and predict() do not train")) refused.push(verb);
            }
          }
        },
      },
    ],
  });
  const { eval: loader } = trainer.options as { eval: Parameters<typeof trainer.evaluate>[0] };
  await trainer.evaluate(loader);
  const requests = ["requestEval", "requestSave", "rollback"];
  const settings = ["setLoss", "setLr", "setUpdate", "setTrainable", "setAccumulate", "setHook"];
  expect(refused).toEqual(["stop", "pause", "remark", ...settings, ...requests]);
});
