import { expect, expectTypeOf, test } from "vitest";
import { ContextError } from "./errors.ts";
import { Shared, sharedKey } from "./shared.ts";

const lossEma = sharedKey<number>("lossEma");

test("a value is found under its key, and its type is the key's", () => {
  const shared = new Shared();
  expect(shared.get(lossEma)).toBeUndefined();
  shared.set(lossEma, 0.5);
  expect(shared.get(lossEma)).toBe(0.5);
  expectTypeOf(shared.get(lossEma)).toEqualTypeOf<number | undefined>();
  expectTypeOf(shared.need(lossEma)).toEqualTypeOf<number>();
  shared.delete(lossEma);
  expect(shared.get(lossEma)).toBeUndefined();
});

test("two keys of one name are the same key", () => {
  const shared = new Shared();
  shared.set(sharedKey<number>("lossEma"), 2);
  expect(shared.need(lossEma)).toBe(2);
});

test("a needed value that is missing is an error that says what there is", () => {
  const shared = new Shared();
  expect(() => shared.need(lossEma)).toThrow(ContextError);
  expect(() => shared.need(lossEma)).toThrow("No hook has set shared `lossEma`. Set so far: nothing yet.");
  shared.set(sharedKey<string>("phase"), "warm-up");
  expect(() => shared.need(lossEma)).toThrow("Set so far: phase.");
});

test("undefined is a value once it is set", () => {
  const shared = new Shared();
  const key = sharedKey<undefined>("nothing");
  shared.set(key, undefined);
  expect(shared.need(key)).toBeUndefined();
});
