// Every conditional field × every event: it can be read exactly where FIELDS says so.
import { ContextError, type BuiltinEvent, type Grads, type Hook } from "hookline";
import { linear, sequential } from "hookline/nn";
import { DataLoader } from "hookline/data";
import { testEngine, tinyData } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { COMMON_FIELDS } from "../../src/core/common-fields.ts";
import { fieldsOf as fieldNamesOf, type Context } from "../../src/core/context.ts";
import { BUILTIN_EVENTS, EVENTS, methodOf } from "../../src/core/events.ts";
import { fullTrainer } from "../support/full-trainer.ts";

const fieldsOf = (event: BuiltinEvent): readonly string[] => fieldNamesOf(event);
const CONDITIONAL = [...new Set(BUILTIN_EVENTS.flatMap(fieldsOf))] as (keyof Context)[];
const eventsWith = (field: string): BuiltinEvent[] => BUILTIN_EVENTS.filter((event) => fieldsOf(event).includes(field));

/** Reads fields at every occasion of an event: the value, or what was thrown. */
async function readIn(event: BuiltinEvent, fields: readonly (keyof Context)[]): Promise<Map<string, unknown>[]> {
  const seen: Map<string, unknown>[] = [];
  const reader = {
    name: "reader",
    needs: ["outputs", "gradNorm", "batchMetrics", "finite"],
    probes: { match: "*" },
    [methodOf(event)](ctx: Context) {
      const read = (field: keyof Context): unknown => {
        try {
          return ctx[field];
        } catch (error) {
          return error;
        }
      };
      seen.push(new Map(fields.map((field) => [field, read(field)])));
    },
  } as unknown as Hook;
  const fails: Hook = { name: "fails", onStepEnd: () => Promise.reject(new Error("on purpose")) };
  const model = sequential(linear(3, 1));
  await using trainer = fullTrainer({ model, hooks: event === "exception" ? [reader, fails] : [reader] });
  const error: unknown = await trainer.fit().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (EVENTS[event].level === "predict") await trainer.predict(new DataLoader(tinyData(4), { batchSize: 4 }));
  expect(error === undefined).toBe(event !== "exception");
  expect(seen.length).toBeGreaterThan(0);
  return seen;
}

describe.each(BUILTIN_EVENTS)("%s", (event) => {
  test("shows its own fields and no others", async () => {
    for (const values of await readIn(event, CONDITIONAL)) {
      for (const [field, value] of values) {
        if (fieldsOf(event).includes(field)) {
          if (event !== "exception") expect(value, field).not.toBeInstanceOf(Error);
          expect(value, field).not.toBeUndefined();
          continue;
        }
        expect(value, field).toBeInstanceOf(ContextError);
        const { message } = value as ContextError;
        if (field === "grads")
          expect(message).toContain(
            `There are no gradients in \`${event}\`. They live from afterBackward to afterOptimizerStep: use onAfterBackward`,
          );
        else
          expect(message).toBe(
            `ctx.${field} is not available in \`${event}\`. It is in: ${eventsWith(field).join(", ")}.`,
          );
      }
    }
  });

  test("shows what is always there", async () => {
    for (const values of await readIn(event, COMMON_FIELDS)) {
      for (const [field, value] of values) expect(value, field).not.toBeInstanceOf(Error);
      expect(values.get("totalSteps")).toBe(4);
      expect(values.get("device")).toBe(testEngine());
    }
  });
});

describe("gradients", () => {
  /** What comes of `deed`, done once with the gradients of `event`, when `later` is fired. */
  async function keptFrom(event: BuiltinEvent, later: BuiltinEvent): Promise<unknown> {
    let kept: Grads | undefined;
    let outcome: unknown;
    const keep = { name: "keep", [methodOf(event)]: (ctx: { grads: Grads }) => void (kept ??= ctx.grads) } as Hook;
    const use = {
      name: "use",
      async [methodOf(later)]() {
        if (kept) outcome ??= await kept.norm().catch((error: unknown) => error);
      },
    } as Hook;
    await fullTrainer({ hooks: [keep, use] }).fit();
    return outcome;
  }

  test("the micro-batch's are gone in the next event", async () => {
    expect(await keptFrom("afterBackward", "batchEnd")).toMatchObject({
      name: "ContextError",
      message: expect.stringContaining("These gradients are gone") as string,
    });
    expect(await keptFrom("afterBackward", "beforeOptimizerStep")).toBeInstanceOf(ContextError);
  });

  test.each(["beforeOptimizerStep", "gradientClip", "afterOptimizerStep"] as const)(
    "the step's, kept in %s, are gone with the step",
    async (event) => {
      expect(await keptFrom(event, "stepEnd")).toBeInstanceOf(ContextError);
    },
  );

  test("a kept context does not lead to another hook's gradients", async () => {
    let kept: Context | undefined;
    let thrown: unknown;
    const keep = { name: "keep", onAfterBackward: (ctx: Context) => void (kept = ctx) } as unknown as Hook;
    const use: Hook = {
      name: "use",
      onBeforeOptimizerStep() {
        try {
          void kept!.grads;
        } catch (error) {
          thrown = error;
        }
      },
    };
    await fullTrainer({ hooks: [keep, use] }).fit();
    expect(thrown).toBeInstanceOf(ContextError);
    expect((thrown as Error).message).toContain("Hook `keep` called ctx.grads after its event had ended");
  });
});

describe("needs", () => {
  const readEnd = async (
    field: "gradNorm" | "outputs",
    event: BuiltinEvent,
    needs: Hook["needs"],
  ): Promise<unknown> => {
    let seen: unknown;
    const hook = {
      name: "reader",
      needs,
      [methodOf(event)](ctx: Context) {
        try {
          seen = ctx[field];
        } catch (error) {
          seen = error;
        }
      },
    } as Hook;
    await fullTrainer({ hooks: [hook], accumulate: 1, clipNorm: undefined }).fit();
    return seen;
  };

  test.each(["gradNorm", "outputs"] as const)("%s without saying so is an error that says so", async (field) => {
    const event = field === "gradNorm" ? "stepEnd" : "batchEnd";
    const error = await readEnd(field, event, undefined);
    expect(error).toBeInstanceOf(ContextError);
    expect((error as Error).message).toContain(`needs: ["${field}"]`);
    expect(await readEnd(field, event, [field])).not.toBeInstanceOf(Error);
  });
});

test("the loss of the last step and the epoch's mean are there at the ends of batch, epoch and run", async () => {
  const seen: Record<string, number[]> = { step: [], average: [], epoch: [], end: [] };
  const averages: number[] = [];
  const hook: Hook = {
    name: "h",
    onBatchEnd: (ctx) => void averages.push(ctx.avgLoss),
    onStepEnd: (ctx) => void (seen.step!.push(ctx.loss), seen.average!.push(ctx.avgLoss)),
    onEpochEnd: (ctx) => void seen.epoch!.push(ctx.loss, ctx.avgLoss),
    onTrainEnd: (ctx) => void seen.end!.push(ctx.loss, ctx.avgLoss),
  };
  await fullTrainer({ hooks: [hook], accumulate: 1, samples: 8, epochs: 1 }).fit();
  const last = [seen.step!.at(-1), seen.average!.at(-1)];
  expect(seen.epoch).toEqual(last);
  expect(seen.end).toEqual(last);
  expect(averages).toEqual(seen.average);
});
