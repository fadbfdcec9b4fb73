import { HookError, type Hook } from "hookline";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test } from "vitest";
import { fullTrainer } from "../../tests/support/full-trainer.ts";
import { BUILTIN_EVENTS, levelOf, methodOf } from "../core/events.ts";
import { when } from "./when.ts";

const fit = async (hook: Hook, options: TinyOptions = {}) => {
  await using trainer = tinyTrainer({ ...options, hooks: [hook] });
  return await trainer.fit();
};

test("holds back all but run-level and checkpoint events, whatever the predicate says", async () => {
  const seen = new Set<string>();
  const everything = {
    name: "all",
    ...Object.fromEntries(BUILTIN_EVENTS.map((event) => [methodOf(event), () => void seen.add(event)])),
  } as Hook;
  await using trainer = fullTrainer({ hooks: [when(() => false, everything)] });
  await trainer.fit();
  const always = BUILTIN_EVENTS.filter((event) => ["run", "checkpoint"].includes(levelOf(event)));
  expect([...seen].sort()).toEqual(always.filter((event) => event !== "exception").sort());
});

test("the predicate sees the context and the event, at each event anew", async () => {
  const asked: string[] = [];
  const seen: string[] = [];
  const hook: Hook = {
    name: "h",
    onStepBegin: (ctx) => void seen.push(`begin ${ctx.step}`),
    onStepEnd: (ctx) => void seen.push(`end ${ctx.step}`),
  };
  await fit(
    when((ctx, event) => {
      asked.push(event);
      return ctx.step === 2 || event === "stepBegin";
    }, hook),
  );
  expect(seen).toEqual(["begin 1", "begin 2", "end 2", "begin 3", "begin 4"]);
  expect(asked).toHaveLength(8);
});

test("an asynchronous method is awaited, and verbs work", async () => {
  const hook: Hook = {
    name: "h",
    async onStepEnd(ctx) {
      await Promise.resolve();
      ctx.stop("enough");
    },
  };
  const result = await fit(when((ctx) => ctx.step === 2, hook));
  expect(result).toMatchObject({ status: "stopped", requestedBy: "h", steps: 2 });
});

test("nested predicates must all hold", async () => {
  const seen: number[] = [];
  const hook: Hook = { name: "h", onStepEnd: (ctx) => void seen.push(ctx.step) };
  await fit(
    when(
      (ctx) => ctx.step > 1,
      when((ctx) => ctx.step < 4, hook),
    ),
  );
  expect(seen).toEqual([2, 3]);
});

test("a predicate that is no function, or returns a promise, is an error that says so", async () => {
  expect(() => when(3 as never, { name: "h" })).toThrow(/Expected `predicate` to be a function/);
  const late = when((async () => true) as never, { name: "h", onStepEnd: () => undefined });
  const error: unknown = await fit(late).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HookError);
  expect((error as Error).message).toContain("the predicate must return true or false, got an object (Promise)");
});
