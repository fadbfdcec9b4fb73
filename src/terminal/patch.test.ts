import { expect, test } from "vitest";
import { patchWrite, type Write } from "./patch.ts";

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
