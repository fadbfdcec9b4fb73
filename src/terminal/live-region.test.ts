// Live lines: what others write passes through, and the terminal is restored however the process ends.
import { type Write, guard, patchWrite } from "./live-region.ts";
import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";

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

class Stream {
  readonly written: unknown[] = [];
  write(...args: Parameters<Write>): boolean {
    this.written.push(args.length === 1 ? args[0] : args);
    return false;
  }
}

const shout = (text: string): string => text.toUpperCase();

test("changes what is written, and only until it is undone", () => {
  const stream = new Stream();
  const { original, undo } = patchWrite(stream, shout);
  const done = (): void => undefined;
  // What a stream says of its buffer reaches the writer.
  expect(stream.write("a")).toBe(false);
  stream.write("b", "utf8", done);
  original("c");
  undo();
  stream.write("d");
  expect(stream.written).toEqual(["A", ["B", "utf8", done], "c", "d"]);
  expect(Object.hasOwn(stream, "write")).toBe(false);
});

test("bytes are text, also when a character comes in two parts; other encodings pass", () => {
  const stream = new Stream();
  patchWrite(stream, (text) => `<${text}>`);
  const bytes = new TextEncoder().encode("é");
  stream.write(bytes.subarray(0, 1));
  stream.write(bytes.subarray(1));
  stream.write("616263", "hex");
  expect(stream.written).toEqual(["<>", "<é>", ["616263", "hex"]]);
});

test("a stream that had a patch of its own gets it back", () => {
  const stream = new Stream() as { write: Write };
  const own: Write = () => true;
  stream.write = own;
  patchWrite(stream, shout).undo();
  expect(stream.write).toBe(own);
});

test("one that was patched over stays so, and what is below it does nothing any more", () => {
  const stream = new Stream();
  const { undo } = patchWrite(stream, shout);
  const below = stream.write;
  const over = (text: string): boolean => below.call(stream, `${text}!`);
  (stream as { write: Write }).write = over as Write;
  undo();
  stream.write("a");
  expect(stream.written).toEqual(["a!"]);
});
