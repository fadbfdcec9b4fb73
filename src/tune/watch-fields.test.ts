import { expect, test } from "vitest";
import type { Hook } from "../core/hook.ts";
import { watchFields } from "./watch-fields.ts";

const where = { here: "the study's process", there: "the process of a trial" };

class Counter implements Hook {
  readonly name = "counter";
  count = 0;
  losses: number[] = [];
  declare later: string | undefined;
  #secret = 1;

  onStepEnd(): void {
    this.count += this.#secret;
    this.#secret++;
  }

  get double(): number {
    return 2 * this.count;
  }

  set double(value: number) {
    this.count = value / 2;
  }
}

test("a hook works as before: private fields, accessors, methods, fields that come later", () => {
  const hook = new Counter();
  const watched = watchFields(hook, where);
  hook.onStepEnd();
  hook.onStepEnd();
  expect([hook.count, hook.double, Object.entries(hook)[1]![1]]).toEqual([3, 6, 3]);
  hook.double = 10;
  hook.later = "x";
  expect([hook.count, hook.later, hook instanceof Counter]).toEqual([5, "x", true]);
  expect(watched.changed.toSorted()).toEqual(["count", "later"]);
});

test("what is set or grown is told; what the constructor made is not", () => {
  const hook = new Counter();
  const watched = watchFields(hook, where);
  expect(watched.changed).toEqual([]);
  hook.losses.push(1);
  expect(watched.changed).toEqual(["losses"]);
});

test("reading what was set only elsewhere throws, and says what to do", () => {
  const hook = new Counter();
  const watched = watchFields(hook, where);
  expect([hook.count, hook.later]).toEqual([0, undefined]);
  watched.setElsewhere(["count", "losses", "later"]);
  expect(() => hook.count).toThrow(
    "`count` of hook `counter` was set in the process of a trial, and is read in the study's process, where it never was: the hook is made in each of them. They share what is reported, and `trial.stash`: put it there.",
  );
  expect(() => hook.losses.length).toThrow("`losses` of hook `counter`");
  expect(() => hook.later).toThrow("`later` of hook `counter`");
  hook.count = 7;
  hook.later = "here";
  expect([hook.count, hook.later]).toEqual([7, "here"]);
});

test("plain objects too, and one that is frozen stays as it is", () => {
  const plain = { name: "plain", seen: 0, onStepEnd: () => undefined };
  const watched = watchFields(plain, where);
  watched.setElsewhere(["seen"]);
  expect(() => plain.seen).toThrow("`seen` of hook `plain`");
  const frozen = Object.freeze({ name: "frozen", seen: 0 });
  expect(watchFields(frozen, where).changed).toEqual([]);
  expect(frozen.seen).toBe(0);
});
