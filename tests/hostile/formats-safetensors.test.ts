// Hostile safetensors files: thirty tricks and the reference library's own negative cases, all refused with one error class.
import { describe, expect, it } from "vitest";
import { SafetensorsFile, decodeSafetensors, encodeSafetensors } from "../../src/checkpoint/formats/safetensors.ts";
import { ShardedSafetensors, parseShardIndex } from "../../src/checkpoint/formats/shards.ts";
import { CheckpointError } from "../../src/core/errors.ts";
import { peakOf, takesTooLong } from "./formats-measure.ts";

/** A file from the text of its header (latin1: one byte a character) and its data. */
function file(header: string, data: number | Uint8Array = 16, length?: bigint): Uint8Array {
  const text = Buffer.from(header, "latin1");
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(length ?? BigInt(text.length));
  return Buffer.concat([start, text, typeof data === "number" ? new Uint8Array(data) : data]);
}

const info = (more: Record<string, unknown> = {}): string =>
  JSON.stringify({ dtype: "I32", shape: [2, 2], data_offsets: [0, 16], ...more });
const one = (more: Record<string, unknown>): Uint8Array => file(`{"test":${info(more)}}`);
const overlapping = (count: number): Uint8Array =>
  file(`{${Array.from({ length: count }, (_, i) => `"weight_${i}":${info()}`).join(",")}}`);

/** Each takes no room, so nothing but their number is wrong. */
const empty = (count: number): Uint8Array =>
  file(
    `{${Array.from({ length: count }, (_, i) => `"t${i}":${info({ shape: [0], data_offsets: [0, 0] })}`).join(",")}}`,
    0,
  );

const thirty: Record<string, [bytes: Uint8Array, says: string]> = {
  "overlapping tensors": [file(`{"a":${info()},"b":${info({ data_offsets: [8, 24] })}}`, 24), "overlap"],
  "two tensors in one place": [overlapping(2), "overlap"],
  "a hole": [file(`{"a":${info()},"b":${info({ data_offsets: [20, 36] })}}`, 36), "hole"],
  "a hole at the start": [one({ data_offsets: [4, 20] }), "hole"],
  "bytes after the end": [file(`{"test":${info()}}`, 50), "50 bytes of data"],
  "missing bytes": [file(`{"test":${info()}}`, 14), "after its end"],
  "a shape too small": [one({ shape: [2, 1] }), "span 16"],
  "a shape too large": [one({ shape: [2, 3] }), "span 16"],
  "a shape that overflows": [
    file(`{"test":${info().replace("[2,2]", "[4294967296,4294967296]")}}`),
    "too large to count",
  ],
  "an overflow hidden by a zero": [one({ shape: [2 ** 40, 2 ** 40, 0], data_offsets: [0, 0] }), "too large to count"],
  "a negative dimension": [one({ shape: [-2, -2] }), "whole number"],
  "a fractional dimension": [one({ shape: [2.5, 1.6] }), "expected ]"],
  "a dimension as text": [one({ shape: ["2", "2"] }), "whole number"],
  "a dimension with an exponent": [file(`{"test":${info().replace("[2,2]", "[4e0]")}}`), "expected ]"],
  "a negative offset": [one({ data_offsets: [-16, 0] }), "whole number"],
  "offsets backwards": [one({ data_offsets: [16, 0] }), "span -16"],
  "an offset beyond the file": [one({ data_offsets: [2 ** 40, 2 ** 40 + 16] }), "begins at"],
  "three offsets": [one({ data_offsets: [0, 16, 16] }), "more offsets"],
  "one offset": [one({ data_offsets: [16] }), "no pair of offsets"],
  "an unknown type": [one({ dtype: "I31" }), '"I31"'],
  "a type of the prototype": [one({ dtype: "constructor" }), '"constructor"'],
  "the same name twice": [file(`{"test":${info()},"test":${info()}}`), "twice"],
  "a field twice": [file(`{"test":{"dtype":"I32","dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}`), "twice"],
  "the name __proto__": [file(`{"__proto__":${info()}}`), "__proto__"],
  "metadata that is a number": [file(`{"__metadata__":{"a":1},"test":${info()}}`), "a string"],
  "metadata named __proto__": [file(`{"__metadata__":{"__proto__":"x"},"test":${info()}}`), "__proto__"],
  "a list as header": [file(`[${info()}]`), "begin with {"],
  "a number as header": [file("42"), "begin with {"],
  "a million dimensions": [
    file(`{"test":${info({ shape: Array.from({ length: 1e6 }, () => 1) })}}`),
    "more dimensions",
  ],
  "a hundred thousand tensors in one place": [overlapping(100_000), "overlap"],
};

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");
const sound = '<\0\0\0\0\0\0\0{"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}}';
const zeros = "\0".repeat(16);

/** After the tests of safetensors/src/tensor.rs, and the same trick in other places. */
const reference: Record<string, [bytes: Uint8Array, says: string]> = {
  test_json_attack: [overlapping(10), "overlap"],
  test_metadata_incomplete_buffer: [bytes(`${sound}${zeros}extra_bogus_data_for_polyglot_file`), "bytes of data"],
  "test_metadata_incomplete_buffer, short": [bytes(sound + "\0".repeat(14)), "after its end"],
  test_header_too_large: [
    bytes(sound.replace("<\0\0\0\0\0\0\0", "<\0\0\0\0\xff\xff\xff") + zeros),
    "more than 100000000",
  ],
  test_header_too_small: [bytes(""), "too few"],
  "test_header_too_small, 7 bytes": [bytes("\0".repeat(7)), "too few"],
  test_invalid_header_length: [bytes("<\0\0\0\0\0\0\0"), "ends inside its header"],
  test_invalid_header_non_utf8: [bytes("\x01\0\0\0\0\0\0\0\xff"), "begin with {"],
  "a name that is not UTF-8": [file(`{"\xff":${info()}}`), "not valid text"],
  "half a character as a name": [file(`{"\\ud800":${info()}}`), "not valid text"],
  test_invalid_header_not_json: [bytes("\x01\0\0\0\0\0\0\0{"), "not the JSON it should be"],
  test_whitespace_start_padded_header_is_not_allowed: [bytes("\x06\0\0\0\0\0\0\0\x09\x0a{}\x0d\x20"), "begin with {"],
  test_invalid_info: [bytes(sound.replace("[0,16]", "[0, 4]")), "span 4"],
  test_validation_overflow: [file(`{"test":${info().replace("[2,2]", "[2,18446744073709551614]")}}`), "beyond 2⁵³"],
  "test_validation_overflow of bytes": [
    file(`{"test":${info().replace("[2,2]", "[2,9007199254740991]")}}`),
    "too large",
  ],
  "a header of 100 MB and a byte": [file("{}", 0, 100_000_001n), "more than 100000000"],
  "a header length of 2⁶⁴ - 1": [file("{}", 0, 2n ** 64n - 1n), "more than 100000000"],
  "an unknown field": [one({ extra: 1 }), '"extra"'],
  "no type": [file('{"test":{"shape":[2,2],"data_offsets":[0,16]}}'), "unknown type"],
  "no shape": [file('{"test":{"dtype":"I32","data_offsets":[0,16]}}'), "no shape"],
  "no offsets": [file('{"test":{"dtype":"I32","shape":[2,2]}}'), "no pair of offsets"],
  "null for a tensor": [file('{"test":null}'), "expected {"],
  "something after the object": [file(`{"test":${info()}}{}`), "expected the end"],
  "NUL as padding": [file(`{"test":${info()}}\0\0`), "expected the end"],
  "a comma too many": [file(`{"test":${info()},}`), "expected a string"],
  "a number with a leading zero": [file(`{"test":${info().replace("[2,2]", "[02,2]")}}`), "whole number"],
  "a control character in a name": [file(`{"te\nst":${info()}}`), "end of a string"],
  "a name without an end": [file('{"test'), "end of a string"],
  "a name that ends in a backslash": [file('{"test\\'), "end of a string"],
  "packed elements that do not fill a byte": [one({ dtype: "F4", shape: [3], data_offsets: [0, 1] }), "whole bytes"],
  "a hundred thousand braces": [file("{".repeat(100_000)), "expected a string"],
};

/** What is wrong with how a file is refused. */
function problems(name: string, [content, says]: [Uint8Array, string]): string[] {
  let failure: unknown = "it was accepted";
  const isSlow = takesTooLong(() => {
    try {
      decodeSafetensors(content, "m.safetensors");
    } catch (error) {
      failure = error;
    }
  });
  if (!(failure instanceof CheckpointError)) return [`${name}: ${String(failure)}`];
  const wrong = isSlow ? [`${name} takes too long`] : [];
  if (failure.file !== "m.safetensors" || !failure.message.startsWith("m.safetensors: "))
    wrong.push(`${name}: no file`);
  return failure.reason.includes(says) ? wrong : [...wrong, `${name}: ${failure.message}`];
}

const source = (content: Uint8Array) => ({
  size: content.length,
  read: (offset: number, length: number) => Promise.resolve(content.slice(offset, offset + length)),
});

describe("hostile safetensors", () => {
  // A million of either took minutes; what is left is the time for as many as may be there.
  it.each([
    ["tensors", empty(1_000_000), "it has more than 200000 tensors"],
    [
      "entries of metadata",
      file(`{"__metadata__":{${Array.from({ length: 1e6 }, (_, i) => `"${i}":""`).join(",")}}}`, 0),
      "its metadata has more than 200000 entries",
    ],
  ])("a million empty %s", (_, content, says) => {
    expect(() => decodeSafetensors(content, "model.safetensors")).toThrow(CheckpointError);
    expect(() => decodeSafetensors(content, "model.safetensors")).toThrow(`model.safetensors: ${says}`);
  });

  it("has thirty cases", () => expect(Object.keys(thirty)).toHaveLength(30));

  it.each(Object.entries({ ...thirty, ...reference }))("%s", (name, each) => {
    expect(problems(name, each)).toEqual([]);
  });

  it("refuses the same when it reads lazily", async () => {
    for (const [name, [content]] of Object.entries({ ...thirty, ...reference }))
      await expect(SafetensorsFile.open(source(content), "m"), name).rejects.toBeInstanceOf(CheckpointError);
  });

  it("accepts what the reference accepts", () => {
    const read = (content: Uint8Array) => Object.keys(decodeSafetensors(content, "m").tensors);
    expect(read(bytes(sound + zeros))).toEqual(["test"]);
    expect(read(bytes("\x06\0\0\0\0\0\0\0{}\x0d\x20\x09\x0a"))).toEqual([]);
    expect(read(file('{"test":{"dtype":"I32","shape":[2,0],"data_offsets":[0, 0]}}', 0))).toEqual(["test"]);
    expect(read(file('{"test":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}', 4))).toEqual(["test"]);
    expect(read(file('{"constructor":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}', 4))).toEqual(["constructor"]);
  });

  it("takes no more than twice the file's size in memory", () => {
    for (const name of ["a million dimensions", "a hundred thousand tensors in one place"]) {
      const [content] = thirty[name]!;
      const peak = peakOf(() => void problems(name, thirty[name]!));
      expect(peak, name).toBeLessThan(2 * content.length);
    }
  });

  it("notices a source that gives too little", async () => {
    const content = encodeSafetensors({ a: { dtype: "F32", shape: [2], bytes: new Uint8Array(8) } });
    const opened = await SafetensorsFile.open(
      { ...source(content), read: (offset, length) => source(content.slice(0, -4)).read(offset, length) },
      "m",
    );
    await expect(opened.read("a")).rejects.toThrow("m: it gave 4 of 8 bytes");
  });
});

it("says which file a failing source is of, and why", async () => {
  const cause = new Error("EIO: i/o error, read");
  const failing = { size: 100, read: () => Promise.reject(cause) };
  const failure = await SafetensorsFile.open(failing, "m.safetensors").catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CheckpointError);
  expect(failure).toMatchObject({ file: "m.safetensors", reason: "it could not be read: EIO: i/o error, read", cause });
});

describe("hostile indexes of shards", () => {
  const index = (weight_map: unknown, more: object = {}) =>
    bytes(JSON.stringify({ metadata: {}, weight_map, ...more }));

  it.each([
    ["../model.safetensors"],
    ["/etc/passwd"],
    ["a/b.safetensors"],
    ["a\\b.safetensors"],
    [".."],
    [".hidden"],
    [""],
    ["C:model"],
    ["a\0b"],
    ["x".repeat(300)],
  ])("a path for a file: %j", (path) => {
    expect(() => parseShardIndex(index({ a: path }), "i")).toThrow(CheckpointError);
    expect(() => parseShardIndex(index({ a: path }), "i")).toThrow("plain file name");
  });

  it.each([
    ["no tensors", index({}), "names no tensors"],
    ["a number for a file", index({ a: 1 }), "a string"],
    ["a list", bytes("[]"), "expected {"],
    ["an unknown field", index({ a: "b" }, { code: "x" }), '"code"'],
    ["a name twice", bytes('{"weight_map":{"a":"b","a":"c"}}'), "twice"],
    ["metadata without end", bytes(`{"metadata":${"[".repeat(50_000)}`), "nested deeper"],
    ["metadata that is no value", bytes('{"metadata":nan}'), "expected a value"],
  ])("%s", (_name, content, says) => {
    expect(() => parseShardIndex(content, "i")).toThrow(CheckpointError);
    expect(() => parseShardIndex(content, "i")).toThrow(says);
  });

  it("a shard that is not the one the index means", async () => {
    const shard = encodeSafetensors({ a: { dtype: "U8", shape: [1], bytes: new Uint8Array(1) } });
    const read = (weights: object, name: string) =>
      new ShardedSafetensors(index(weights), "i", () => Promise.resolve(source(shard))).read(name);
    await expect(read({ a: "s", b: "s" }, "a")).rejects.toThrow('i: s lacks tensor "b"');
    await expect(read({ b: "s", a: "t" }, "b")).rejects.toThrow('i: s lacks tensor "b"');
    await expect(read({ a: "s", c: "t" }, "d")).rejects.toThrow('i: it has no tensor "d"');
  });
});
