import { expect, test } from "vitest";
import type { Hook } from "../core/hook.ts";
import { watchFields } from "./module-hooks.ts";

class Counter implements Hook {
  readonly name = "counter";
  count = 0;
  losses: number[] = [];
  seen = new Set<string>();
  last = NaN;
  declare later: string | undefined;
  #secret = 1;

  onStepEnd(): void {
    this.count += this.#secret;
    this.#secret++;
  }

  set double(value: number) {
    this.count = value / 2;
  }
}

test("the hook stays as it is: no accessors, no other prototype", () => {
  const hook = new Counter();
  const before = Object.getOwnPropertyDescriptors(hook);
  watchFields(hook);
  expect(Object.getOwnPropertyDescriptors(hook)).toEqual(before);
  expect(Object.getPrototypeOf(hook)).toBe(Counter.prototype);
});

test("fields that were set, added or grown are listed; what the constructor made is not", () => {
  const hook = new Counter();
  const changed = watchFields(hook);
  expect(changed()).toEqual([]);
  hook.onStepEnd();
  expect(changed()).toEqual(["count"]);
  hook.losses.push(1);
  hook.seen.add("x");
  hook.later = "x";
  expect(changed()).toEqual(["count", "losses", "seen", "later"]);
});

test("fields set through a setter of the class are listed; private fields are not", () => {
  const hook = new Counter();
  const changed = watchFields(hook);
  hook.double = 10;
  expect(changed()).toEqual(["count"]);
});

test("plain objects and frozen ones", () => {
  const plain = { name: "plain", seen: 0, onStepEnd: () => undefined };
  const changed = watchFields(plain);
  plain.seen++;
  plain.onStepEnd = () => undefined;
  expect(changed()).toEqual(["seen"]);
  expect(watchFields(Object.freeze({ name: "frozen", seen: 0 }))()).toEqual([]);
});
