import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HookRegistrationError } from "../errors.ts";
import { STAGES, type Stage } from "../hook.ts";
import { orderHooks, type Ordered } from "./hook-order.ts";

const item = (name: string, stage: Stage = "user", rest: Partial<Ordered> = {}): Ordered => ({
  name,
  stage,
  before: [],
  after: [],
  ...rest,
});
const order = (...items: Ordered[]): string =>
  orderHooks(items)
    .map((placed) => placed.item.name)
    .join(" ");

describe("order", () => {
  test("stages first, registration within a stage", () => {
    const late = STAGES.toReversed().flatMap((stage) => [item(`${stage}1`, stage), item(`${stage}2`, stage)]);
    expect(order(...late)).toBe(STAGES.flatMap((stage) => [`${stage}1`, `${stage}2`]).join(" "));
  });

  test("after overrides the stage: the hook that asks moves back", () => {
    expect(
      order(item("mine", "user", { after: ["bar"] }), item("other"), item("bar", "progress"), item("log", "logger")),
    ).toBe("other log bar mine");
  });

  test("before overrides the stage: the hook that asks moves up, the others keep their places", () => {
    expect(
      order(
        item("u1"),
        item("u2"),
        item("save", "checkpoint"),
        item("log", "logger", { before: ["u2"] }),
        item("bar", "progress"),
      ),
    ).toBe("u1 log u2 save bar");
  });

  test("a chain of befores stays together", () => {
    expect(
      order(
        item("u"),
        item("m", "monitor"),
        item("a", "progress", { before: ["b"] }),
        item("b", "logger", { before: ["m"] }),
      ),
    ).toBe("u a b m");
  });

  test("before and after together", () => {
    expect(order(item("a"), item("b"), item("c", "user", { before: ["b"], after: ["a"] }))).toBe("a c b");
  });

  test("the reasons are told", () => {
    const placed = orderHooks([
      item("a"),
      item("log", "logger", { before: ["a"] }),
      item("b", "user", { after: ["a"] }),
    ]);
    expect(Object.fromEntries(placed.map(({ item: { name }, because }) => [name, because]))).toEqual({
      log: "stage logger, before a",
      a: "stage user",
      b: "stage user, after a",
    });
  });
});

describe("mistakes", () => {
  test("a cycle is told as a path in running order", () => {
    expect(() =>
      order(
        item("x"),
        item("a", "user", { before: ["b"] }),
        item("b", "user", { before: ["c"] }),
        item("c", "user", { before: ["a"] }),
      ),
    ).toThrow(/The order of hooks has a cycle: (a → b → c → a|b → c → a → b|c → a → b → c)\./);
    expect(() => order(item("a", "user", { after: ["a"] }))).toThrow("has a cycle: a → a. Remove one of");
  });

  test("a hook behind a cycle is not blamed", () => {
    const attempt = () =>
      order(
        item("late", "user", { after: ["a"] }),
        item("a", "user", { after: ["b"] }),
        item("b", "user", { after: ["a"] }),
      );
    expect(attempt).toThrow(HookRegistrationError);
    expect(attempt).not.toThrow(/late/);
  });

  test("an unknown name is an error with the nearest and all there are", () => {
    expect(() => order(item("mine", "user", { after: ["earlyStoping"] }), item("earlyStopping", "monitor"))).toThrow(
      "Hook `mine` wants to run after `earlyStoping`, but no hook has that name. Did you mean `earlyStopping`? Registered: mine, earlyStopping.",
    );
  });
});

test("any acyclic wishes are met, and every hook is placed once", () => {
  const wishes = fc.array(fc.record({ stage: fc.constantFrom(...STAGES), after: fc.nat(), before: fc.nat() }), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(wishes, (made) => {
      // Wishes point to lower numbers (after) or higher ones (before) only, so there is no cycle.
      const items = made.map(({ stage, after, before }, i) =>
        item(`h${i}`, stage, {
          after: i > 0 && after % 2 ? [`h${after % i}`] : [],
          before: i < made.length - 1 && before % 2 ? [`h${i + 1 + (before % (made.length - 1 - i))}`] : [],
        }),
      );
      const names = orderHooks(items).map((placed) => placed.item.name);
      expect(names.toSorted()).toEqual(items.map(({ name }) => name).toSorted());
      for (const { name, before, after } of items) {
        for (const other of before) expect(names.indexOf(name)).toBeLessThan(names.indexOf(other));
        for (const other of after) expect(names.indexOf(name)).toBeGreaterThan(names.indexOf(other));
      }
    }),
  );
});
