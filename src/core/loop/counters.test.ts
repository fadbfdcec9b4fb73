import { expect, test } from "vitest";
import { Clock, zeroCounters } from "./counters.ts";

test("marks keep the last two occasions of a kind, apart from the others", () => {
  const clock = new Clock();
  for (let step = 1; step <= 3; step++) {
    clock.now.step = step;
    clock.mark();
  }
  clock.now.step = 4;
  expect([clock.earlier("step").step, clock.before("step").step, clock.now.step]).toEqual([2, 3, 4]);
  expect(clock.before("epoch")).toEqual(zeroCounters());
  clock.mark("epoch");
  expect([clock.earlier("epoch").step, clock.before("epoch").step]).toEqual([0, 4]);
});

test("a mark is a copy: counting on does not move it", () => {
  const clock = new Clock();
  clock.now.samples = 5;
  clock.mark("eval");
  clock.now.samples = 9;
  expect(clock.before("eval").samples).toBe(5);
});

test("state and load carry everything, as plain data", () => {
  const clock = new Clock();
  clock.now.step = 7;
  clock.mark();
  clock.now.step = 8;
  const saved: unknown = JSON.parse(JSON.stringify(clock.state()));
  clock.now.step = 99;
  clock.mark();
  const resumed = new Clock();
  resumed.load(saved as ReturnType<Clock["state"]>);
  expect(resumed.state()).toEqual(saved);
  expect([resumed.before("step").step, resumed.now.step]).toEqual([7, 8]);
});

test("reset begins anew", () => {
  const clock = new Clock();
  clock.now.step = 7;
  clock.mark();
  clock.reset();
  expect(clock.state()).toEqual(new Clock().state());
});
