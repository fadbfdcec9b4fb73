import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import { guard } from "./guard.ts";

class FakeProcess extends EventEmitter {
  readonly pid = 7;
  readonly kill = vi.fn();
}

const events = ["SIGINT", "SIGTERM", "SIGHUP", "exit", "uncaughtExceptionMonitor"];
const listeners = (process: FakeProcess): number =>
  events.reduce((sum, event) => sum + process.listenerCount(event), 0);

test.each(["exit", "uncaughtExceptionMonitor"])("puts things in order at %s", (event) => {
  const process = new FakeProcess();
  const restore = vi.fn();
  guard(process, restore);
  process.emit(event);
  expect(restore).toHaveBeenCalledOnce();
});

test("a signal that nobody else handles does what it would have done, after that", () => {
  const process = new FakeProcess();
  const restore = vi.fn(() => expect(process.kill).not.toHaveBeenCalled());
  guard(process, restore);
  process.emit("SIGTERM");
  expect(restore).toHaveBeenCalledOnce();
  expect(process.kill.mock.calls).toEqual([[7, "SIGTERM"]]);
  expect(listeners(process)).toBe(0);
});

test("one that someone handles is theirs", () => {
  const process = new FakeProcess();
  const restore = vi.fn();
  process.on("SIGINT", () => undefined);
  const undo = guard(process, restore);
  process.emit("SIGINT");
  expect(restore).not.toHaveBeenCalled();
  expect(process.kill).not.toHaveBeenCalled();
  undo();
  expect(listeners(process)).toBe(1);
});
