// What is written, to the byte, and that it comes back.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CheckpointError } from "../../core/errors.ts";
import { fromHostArrays, toHostArrays } from "./tensor-values.ts";
import { SafetensorsFile, decodeSafetensors, encodeSafetensors, safetensorsParts } from "./safetensors.ts";
import { ShardedSafetensors } from "./shards.ts";
import { bytesPerElement, DTYPES, sizeInBytes, type FileTensor, type FileTensors, type ByteSource } from "./tensor.ts";

const floats = (values: number[], shape: number[]): FileTensor => ({
  dtype: "F32",
  shape,
  bytes: new Uint8Array(Float32Array.from(values).buffer),
});
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/** Any tensors that a file can hold. */
const anyTensor: fc.Arbitrary<FileTensor> = fc
  .tuple(fc.constantFrom(...DTYPES), fc.array(fc.nat(4), { maxLength: 4 }))
  .map(([dtype, shape]) => ({ dtype, shape: bytesPerElement(dtype) < 1 ? [...shape, 4] : shape }))
  .chain(({ dtype, shape }) => {
    const size = sizeInBytes(dtype, shape) as number;
    return fc.uint8Array({ minLength: size, maxLength: size }).map((bytes) => ({ dtype, shape, bytes }));
  });
const anyTensors: fc.Arbitrary<FileTensors> = fc.dictionary(
  fc.string({ unit: "grapheme", maxLength: 12 }).filter((name) => !/^__(proto|metadata)__$/.test(name)),
  anyTensor,
  { maxKeys: 8 },
);
const anyMetadata = fc.dictionary(
  fc.string({ unit: "grapheme" }).filter((key) => key !== "__proto__"),
  fc.string({ unit: "grapheme" }),
);

describe("the bytes written", () => {
  it("are those of the reference implementation", () => {
    // From the reference's own tests: aligned by luck, and padded with spaces.
    const data = "\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40";
    expect(latin1(encodeSafetensors({ "attn.0": floats([0, 1, 2, 3, 4, 5], [1, 2, 3]) }))).toBe(
      `@\0\0\0\0\0\0\0{"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}}${data}`,
    );
    expect(latin1(encodeSafetensors({ attn0: floats([0, 1, 2, 3, 4, 5], [1, 1, 2, 3]) }))).toBe(
      `H\0\0\0\0\0\0\0{"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       ${data}`,
    );
    expect([...encodeSafetensors({})]).toEqual([8, 0, 0, 0, 0, 0, 0, 0, 123, 125, 32, 32, 32, 32, 32, 32]);
    expect(latin1(encodeSafetensors({}, { framework: "pt" }))).toBe(
      '(\0\0\0\0\0\0\0{"__metadata__":{"framework":"pt"}}     ',
    );
  });

  it("have wide types first, then names in order, whatever order they came in", () => {
    const byte = (dtype: FileTensor["dtype"], size: number): FileTensor => ({
      dtype,
      shape: [1],
      bytes: new Uint8Array(size),
    });
    const tensors = {
      "10": byte("U8", 1),
      b: byte("F32", 4),
      a: byte("F32", 4),
      z: byte("I64", 8),
      h: byte("BF16", 2),
    };
    const bytes = encodeSafetensors(tensors, { b: "1", a: "2" });
    expect(Object.keys(decodeSafetensors(bytes, "m").tensors)).toEqual(["10", "z", "a", "b", "h"]);
    const header = latin1(bytes.subarray(8));
    const places = ["z", "a", "b", "h", "10"].map((name) => header.indexOf(`"${name}":{`));
    expect(places).toEqual(places.toSorted((x, y) => x - y));
    expect(encodeSafetensors(Object.fromEntries(Object.entries(tensors).toReversed()), { a: "2", b: "1" })).toEqual(
      bytes,
    );
  });

  it("come in parts that are the tensors' own memory", () => {
    const tensor = floats([1, 2], [2]);
    const [header, ...rest] = safetensorsParts({ tensor });
    expect(header!.length % 8).toBe(0);
    expect(rest[0]).toBe(tensor.bytes);
  });

  it.each<[string, FileTensors, Record<string, unknown>, string]>([
    ["too few bytes", { a: { dtype: "F32", shape: [2], bytes: new Uint8Array(7) } }, {}, "has 7 bytes"],
    ["an unknown type", { a: { dtype: "F33" as "F32", shape: [2], bytes: new Uint8Array(8) } }, {}, '"F33"'],
    ["a bad shape", { a: { dtype: "U8", shape: [-1], bytes: new Uint8Array(1) } }, {}, "dimension -1"],
    ["a name of the format's own", { __metadata__: floats([1], [1]) }, {}, "__metadata__"],
    ["a trap for a name", { "a.__proto__": floats([1], [1]) }, {}, "forbidden"],
    ["metadata that is no text", {}, { step: 3 }, "step"],
  ])("are not written for %s", (_name, tensors, metadata, says) => {
    const write = () => encodeSafetensors(tensors, metadata as Record<string, string>);
    expect(write).toThrow(CheckpointError);
    expect(write).toThrow(says);
  });
});

describe("reading", () => {
  it("gives back what was written", () => {
    fc.assert(
      fc.property(anyTensors, anyMetadata, (tensors, metadata) => {
        const read = decodeSafetensors(encodeSafetensors(tensors, metadata), "m");
        expect({ ...read.tensors }).toEqual({ ...tensors });
        expect({ ...read.metadata }).toEqual({ ...metadata });
      }),
      { numRuns: 300 },
    );
  });

  it("copies nothing, and takes a Buffer at any place", () => {
    const file = encodeSafetensors({ a: floats([1, 2], [2]) });
    const shifted = Buffer.concat([Buffer.from("x"), file]).subarray(1);
    const { a } = decodeSafetensors(shifted, "m").tensors;
    expect(a!.bytes.buffer).toBe(shifted.buffer);
    expect(toHostArrays({ a: a! }, "m").a!.data).toEqual(Float32Array.of(1, 2));
  });

  it("makes trainers' arrays and back again", () => {
    const arrays = {
      f: { data: Float32Array.of(1, -0, Number.NaN), shape: [3] },
      i: { data: Int32Array.of(1, -2), shape: [2, 1] },
      b: { data: Uint8Array.of(1, 0), shape: [2], dtype: "bool" as const },
    };
    const read = decodeSafetensors(encodeSafetensors(fromHostArrays(arrays)), "m");
    expect(toHostArrays(read.tensors, "m")).toEqual(arrays);
  });
});

const sourceOf = (bytes: Uint8Array, reads: number[][] = []): ByteSource => ({
  size: bytes.length,
  read(offset, length) {
    reads.push([offset, length]);
    return Promise.resolve(bytes.slice(offset, offset + length));
  },
});

describe("reading one tensor of a file", () => {
  const file = encodeSafetensors({ a: floats([1, 2], [2]), b: floats([3], []) }, { step: "7" });

  it("reads the header and this tensor, nothing else", async () => {
    const reads: number[][] = [];
    const opened = await SafetensorsFile.open(sourceOf(file, reads), "m");
    expect(opened.names).toEqual(["a", "b"]);
    expect({ ...opened.metadata }).toEqual({ step: "7" });
    expect(opened.info("b")).toEqual({ dtype: "F32", shape: [], begin: 8, end: 12 });
    expect(await opened.read("b")).toEqual(floats([3], []));
    expect(reads).toEqual([
      [0, 8],
      [8, file.length - 20],
      [file.length - 4, 4],
    ]);
  });

  it("says which tensor is not there", async () => {
    const named = encodeSafetensors({ weight: floats([1], [1]), bias: floats([1], [1]) });
    const opened = await SafetensorsFile.open(sourceOf(named), "m.safetensors");
    await expect(opened.read("wieght")).rejects.toThrow(
      'm.safetensors: it has no tensor "wieght". It has 2 tensors. Did you mean `weight`?',
    );
  });
});

describe("a model in several files", () => {
  const shards: Record<string, Uint8Array> = {
    "model-1.safetensors": encodeSafetensors({ a: floats([1], [1]) }),
    "model-2.safetensors": encodeSafetensors({ b: floats([2], [1]), c: floats([3], [1]) }),
  };
  const index = Buffer.from(
    JSON.stringify({
      metadata: { total_size: 12, ratio: -1.5e-3, parts: ["x", null, true], nested: { deep: {} } },
      weight_map: { a: "model-1.safetensors", b: "model-2.safetensors", c: "model-2.safetensors" },
    }),
  );

  it("reads as one, opening each file once and when it is needed", async () => {
    const opened: string[] = [];
    const model = new ShardedSafetensors(index, "index", (name) => {
      opened.push(name);
      return Promise.resolve(sourceOf(shards[name]!));
    });
    expect(model.names).toEqual(["a", "b", "c"]);
    expect(JSON.parse(JSON.stringify(model.index.metadata))).toEqual(JSON.parse(index.toString()).metadata);
    expect(await Promise.all([model.read("c"), model.read("b")])).toEqual([floats([3], [1]), floats([2], [1])]);
    expect(opened).toEqual(["model-2.safetensors"]);
  });

  it("opens a file again that was not there the first time", async () => {
    let tries = 0;
    const model = new ShardedSafetensors(index, "index", (name) =>
      ++tries === 1 ? Promise.reject(new Error("ENOENT")) : Promise.resolve(sourceOf(shards[name]!)),
    );
    await expect(model.read("a")).rejects.toThrow("ENOENT");
    expect(await model.read("a")).toEqual(floats([1], [1]));
  });
});
