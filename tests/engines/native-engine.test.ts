// The native engine's promises about buffers, memory and errors.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { grad, init, lax, numpy as np } from "@jax-js/jax";
import { build } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Tensor } from "../../src/core/model.ts";
import type { Buffer } from "../../src/engines/engine.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { nativeResources } from "../support/native-resources.ts";
import { EngineMemory } from "../../src/engines/native/memory.ts";
import { Program } from "../../src/engines/native/program.ts";
import { numbers } from "../support/both-engines.ts";
import { tempDir } from "../support/temp-dir.ts";

beforeAll(async () => void (await init("wasm")));

let engine: NativeEngine;
const warnings: string[] = [];
beforeEach(() => {
  warnings.length = 0;
  engine = new NativeEngine({ threads: 1, warn: (message) => void warnings.push(message) });
  return () => engine.close();
});

const two = (): Buffer => engine.put({ data: Float32Array.of(1, 2), shape: [2] });

describe("buffers", () => {
  it("come back as they were put", () => {
    const hosts = [
      { data: Float32Array.of(1.5, -0, Number.NaN), shape: [3] },
      { data: Int32Array.of(-1, 2 ** 31 - 1), shape: [2, 1] },
      { data: Uint32Array.of(2 ** 32 - 1), shape: [] },
      { data: new Float32Array(0), shape: [0, 4] },
    ];
    for (const host of hosts) expect(engine.read(engine.put(host))).toEqual(host.data);
    expect(engine.read(engine.put({ data: Uint8Array.of(0, 7, 1), shape: [3], dtype: "bool" }))).toEqual(
      Int32Array.of(0, 1, 1),
    );
    expect(engine.read(engine.put({ data: Float64Array.of(0.1), shape: [1] }))).toEqual(Float32Array.of(0.1));
    expect(engine.read(engine.put({ data: Int16Array.of(-5), shape: [1] }))).toEqual(Int32Array.of(-5));
  });

  describe("that are given up", () => {
    const at = (buffer: Buffer): number => (buffer as unknown as { block: { at: number } }).block.at;
    const double = () => engine.jit((x: Tensor) => x.mul(2), { donate: [0] });

    it("lend their memory to the result", () => {
      const buffer = two();
      const before = at(buffer);
      const doubled = double()(buffer) as Buffer;
      expect([at(doubled), engine.read(doubled)]).toEqual([before, Float32Array.of(2, 4)]);
      expect(() => engine.read(buffer)).toThrow("used after it was freed");
      engine.free(doubled);
    });

    it("stay as they are for those who have a copy", () => {
      const buffer = two();
      const copy = engine.copy(buffer);
      const doubled = double()(buffer) as Buffer;
      expect([copy, doubled].map((each) => engine.read(each))).toEqual([Float32Array.of(1, 2), Float32Array.of(2, 4)]);
      // The copy is alone now.
      const again = double()(copy) as Buffer;
      expect(engine.read(again)).toEqual(Float32Array.of(2, 4));
    });

    it("are not overwritten where the program is given them twice", () => {
      const program = engine.jit((x: Tensor, y: Tensor) => ({ x: x.mul(2), y: y.add(1) }), { donate: [0] });
      const buffer = two();
      const { x, y } = program(buffer, buffer) as { x: Buffer; y: Buffer };
      expect([x, y].map((each) => engine.read(each))).toEqual([Float32Array.of(2, 4), Float32Array.of(2, 3)]);
    });

    it("are gone when the program fails half-way, and only then", () => {
      const run = vi.spyOn(Program.prototype, "run").mockImplementationOnce(() => {
        throw new Error("half-way");
      });
      const program = double();
      const buffer = two();
      expect(() => program(buffer)).toThrow("half-way");
      expect(() => engine.read(buffer)).toThrow("used after it was freed");
      run.mockRestore();
      const next = two();
      const grows = engine.jit((x: Tensor) => ({ next: x.ref.mul(2), more: np.stack([x.ref, x]) }), { donate: [0] });
      engine.free((grows(engine.copy(next)) as { next: Buffer }).next);
      const allocate = vi.spyOn(EngineMemory.prototype, "allocate").mockImplementation(() => {
        throw new Error("out of memory");
      });
      expect(() => grows(next)).toThrow("out of memory");
      allocate.mockRestore();
      expect(engine.read(next)).toEqual(Float32Array.of(1, 2));
    });
  });

  it("take as many numbers as their shape says", () => {
    expect(() => engine.put({ data: new Float32Array(7), shape: [2, 3] })).toThrow(/7 numbers do not fill.*\[2, 3\]/);
    expect(engine.bytesInUse).toBe(0);
  });

  it("cannot be used or freed once they are freed", () => {
    const buffer = two();
    engine.free(buffer);
    const double = engine.jit((x: Tensor) => x.add(x.ref));
    for (const use of [
      () => engine.free(buffer),
      () => engine.read(buffer),
      () => engine.copy(buffer),
      () => double(buffer),
    ]) {
      expect(use).toThrow(`Engine "native": a buffer was used after it was freed.`);
    }
  });

  it("are gone when they are donated, but not their copies", () => {
    const [buffer, other] = [two(), two()];
    const copy = engine.copy(buffer);
    const sum = engine.jit((x: Tensor, y: Tensor) => x.add(y), { donate: [0] });
    expect(engine.read(sum(buffer, other) as Buffer)).toEqual(Float32Array.of(2, 4));
    expect(() => engine.read(buffer)).toThrow("freed");
    expect([copy, other].map((each) => engine.read(each))).toEqual([Float32Array.of(1, 2), Float32Array.of(1, 2)]);
  });

  it("of results are their own: an input that is returned, twice", () => {
    const same = engine.jit((x: Tensor) => [x.ref, x]);
    const buffer = two();
    const [a, b] = same(buffer) as Buffer[];
    engine.free(buffer);
    engine.free(a!);
    expect(engine.read(b!)).toEqual(Float32Array.of(1, 2));
  });
});

describe("programs", () => {
  it("are told apart by the structure of their arguments", () => {
    const minus = engine.jit(({ a, b }: { a: Tensor; b: Tensor }) => a.sub(b));
    const [x, y] = [two(), engine.put({ data: Float32Array.of(10, 20), shape: [2] })];
    expect(engine.read(minus({ a: x, b: y }) as Buffer)).toEqual(Float32Array.of(-9, -18));
    expect(engine.read(minus({ b: x, a: y }) as Buffer)).toEqual(Float32Array.of(9, 18));
  });

  it("are compiled for each shape", () => {
    const sum = engine.jit((x: Tensor) => x.sum());
    for (const n of [1, 5, 9]) {
      const ones = engine.put({ data: new Float32Array(n).fill(1), shape: [n] });
      expect(engine.read(sum(ones) as Buffer)).toEqual(Float32Array.of(n));
    }
  });

  it("of nothing: empty arrays, sums of none, products with no inner dimension", () => {
    const empty = engine.put({ data: new Float32Array(0), shape: [0, 3] });
    const fn = engine.jit((x: Tensor) => [x.ref.sum(0), x.ref.sum(1), np.exp(x.ref), np.matmul(x.ref.transpose(), x)]);
    const out = (fn(empty) as Buffer[]).map((buffer) => Array.from(engine.read(buffer)));
    expect(out).toEqual([[0, 0, 0], [], [], Array.from({ length: 9 }, () => 0)]);
  });
});

describe("memory", () => {
  it("is flat over a thousand steps", () => {
    const step = engine.jit(
      (w: Tensor, x: Tensor) => {
        const loss = (v: Tensor): Tensor => np.square(np.tanh(np.matmul(x.ref, v))).sum();
        return w.ref.sub(grad(loss)(w).mul(0.01));
      },
      { donate: [0] },
    );
    const x = engine.put(numbers([16, 20]));
    let w = engine.put(numbers([20, 16], 1));
    const seen = new Set<number>();
    for (let i = 0; i < 1000; i++) {
      w = step(w, x) as Buffer;
      if (i > 0) seen.add(engine.bytesInUse);
    }
    expect(seen.size).toBe(1);
  });

  it("is all back when everything is freed and closed", async () => {
    const buffers = [two(), two()];
    const out = engine.jit((x: Tensor, y: Tensor) => x.add(y).mul(np.array(Float32Array.of(3, 5))))(
      buffers[0]!,
      buffers[1]!,
    );
    for (const buffer of [...buffers, out as Buffer]) engine.free(buffer);
    await engine.close();
    expect(engine.bytesInUse).toBe(0);
  });

  it("is given back by a program that cannot be traced or compiled", () => {
    const before = engine.bytesInUse;
    const x = two();
    const held = engine.bytesInUse;
    const broken = engine.jit((): Tensor => {
      throw new Error("no such layer");
    });
    expect(() => broken()).toThrow("no such layer");
    const odd = engine.jit((a: Tensor) => a.add(np.ones([3])));
    expect(() => odd(x)).toThrow("Incompatible array broadcast shapes");
    expect(engine.bytesInUse).toBe(held);
    engine.free(x);
    expect(engine.bytesInUse).toBe(before);
    const resources = nativeResources();
    const plan = {
      buffers: [{ length: 100, source: { kind: "constant" as const, data: new Float32Array(100) } }],
      steps: [{ kind: "kernel" as const, buffers: [0], kernel: undefined as never }],
    };
    expect(() => new Program(plan, resources)).toThrow(TypeError);
    expect(resources.memory.bytesInUse).toBe(0);
  });
});

describe.each([1, 2])("with %i threads", (threads) => {
  const own = new NativeEngine({ threads, warn: () => {} });
  afterAll(() => own.close());
  const bits = (buffer: Buffer): Uint32Array => new Uint32Array((own.read(buffer) as Float32Array<ArrayBuffer>).buffer);

  /** What else a program may do with the array: in the same kernel, dear enough for threads, or read across the rows. */
  const beside: Record<string, (x: Tensor) => Tensor> = {
    "a map": (x) => x.mul(2),
    "a dear map": (x) => np.exp(np.sin(x)),
    "a map of something repeated": (x) => x.ref.mul(x.max(0, { keepdims: true })),
    "a map of it turned about": (x) => x.ref.add(np.flip(x)),
    "another sum": (x) => np.square(x).sum(-1),
    "a sort": (x) => np.sort(x),
    "whole numbers": (x) => np.fmod(x.mul(9).astype(np.int32), np.array(3, { dtype: np.int32 })),
  };
  it.each([
    [
      [6, 5, 7],
      [1, 2],
    ],
    [[300, 64], [0]],
    [[300, 61], [1]],
    [
      [300, 61],
      [0, 1],
    ],
    [
      [40, 33, 30],
      [0, 2],
    ],
    [
      [40, 33, 30],
      [0, 1],
    ],
    [[4, 900], [1]],
  ])("sums of %j over %j have the same bits whatever else a program does", (shape, axes) => {
    const x = own.put(numbers(shape));
    const alone = bits(own.jit((a: Tensor) => a.sum(axes))(x) as Buffer);
    for (const [name, fn] of Object.entries(beside)) {
      const [sum] = own.jit((a: Tensor) => [a.ref.sum(axes), fn(a)])(x) as Buffer[];
      expect(bits(sum!), name).toEqual(alone);
    }
  });
});

it("names a primitive that it leaves to wasm, once", () => {
  const solve = engine.jit((x: Tensor) => np.linalg.cholesky(x));
  const four = engine.put({ data: Float32Array.of(4, 0, 0, 9), shape: [2, 2] });
  for (let i = 0; i < 2; i++) expect(engine.read(solve(four) as Buffer)).toEqual(Float32Array.of(2, 0, 0, 3));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain("`cholesky`");
  const conv = engine.jit((x: Tensor, w: Tensor) => lax.conv(x, w, [1], "VALID"));
  const [x, w] = [engine.put(numbers([1, 1, 5])), engine.put({ data: Float32Array.of(1, 1), shape: [1, 1, 2] })];
  expect(engine.read(conv(x, w) as Buffer)).toHaveLength(4);
});

describe("without onnxruntime-node", () => {
  /** What loading it says, in a folder with these files. */
  async function loading(files: Record<string, string>): Promise<string> {
    const folder = tempDir();
    const outfile = join(folder, "engine.mjs");
    await build({
      entryPoints: [join(import.meta.dirname, "../../src/engines/native/products.ts")],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile,
    });
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(folder, name, ".."), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const script = `import("./engine.mjs").then((m) => { try { new m.Products({}); } catch (e) { console.log(e.constructor.name + ": " + e.message); } })`;
    return execFileSync(process.execPath, ["-e", script], { cwd: folder, encoding: "utf8" });
  }

  it("says what to install", async () => {
    const message = await loading({});
    expect(message).toContain("EngineError");
    expect(message).toContain(`Engine "native": onnxruntime-node is not installed.`);
    expect(message).toContain("npm install onnxruntime-node@1.30");
  });

  it("says when it is one that it cannot use", async () => {
    const message = await loading({
      "node_modules/onnxruntime-node/package.json": `{"name":"onnxruntime-node","version":"2.0.0"}`,
      "node_modules/onnxruntime-node/index.js": `module.exports = { env: { versions: {} } };`,
      "node_modules/onnxruntime-node/dist/binding.js": `module.exports = {};`,
    });
    expect(message).toContain("built otherwise than 1.30");
  });
});
