// The binding to PJRT, against a plugin in C that checks every struct and handle, counts what is alive, and fails on demand.
import { numpy as np } from "@jax-js/jax";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, mse } from "hookline/nn";
import { sgd } from "hookline/optim";
import type { Tensor } from "../../../src/core/model.ts";
import type { Buffer } from "../../../src/engines/engine.ts";
import { PjrtApi, PjrtError } from "../../../src/engines/xla/pjrt/api.ts";
import { PjrtClient } from "../../../src/engines/xla/pjrt/client.ts";
import { XlaEngine } from "../../../src/engines/xla/xla-engine.ts";
import { compileTestPlugin, type TestPlugin } from "./test-plugin.ts";

const plugin = compileTestPlugin();
afterAll(() => plugin?.remove());

type Program = (...args: Buffer[]) => Promise<Buffer> | Buffer;
const host = (...values: number[]) => ({ data: Float32Array.from(values), shape: [values.length] });

describe.skipIf(!plugin)("on the test plugin (needs a C compiler and koffi)", () => {
  // The body runs even when it is skipped.
  const { live, fail, path, koffi } = plugin ?? ({} as TestPlugin);
  const alive = (): string[] =>
    (["client", "buffer", "program", "executable", "event", "error", "mapping"] as const).filter(
      (kind) => live(kind) > 0,
    );
  let engine: XlaEngine;
  beforeEach(() => {
    process.env.HOOKLINE_PJRT_PLUGIN = path;
    engine = new XlaEngine({ cache: false });
  });
  afterEach(async () => {
    delete process.env.HOOKLINE_PJRT_PLUGIN;
    await engine.close();
    if (alive().length > 0) throw new Error(`left over: ${alive().join(", ")}`);
  });
  const double = (donate: number[] = []): Program =>
    engine.jit(((x: Tensor) => x.mul(2)) as never, { donate }) as unknown as Program;

  it("names the device, and counts its memory", () => {
    expect(engine.device).toBe("Mock device");
    const before = engine.memory!.bytesInUse;
    const buffer = engine.put(host(1, 2, 3));
    expect(engine.memory!.bytesInUse - before).toBe(12);
    engine.free(buffer);
  });

  it("puts and reads every type and shape", () => {
    const arrays = [
      { data: Float32Array.of(1.5, Number.NaN), shape: [2, 1] },
      { data: Int32Array.of(-7), shape: [] },
      { data: Uint32Array.of(2 ** 32 - 1, 0), shape: [2] },
      { data: new Float32Array(0), shape: [0, 3] },
    ];
    for (const array of arrays) {
      const buffer = engine.put(array);
      expect(engine.read(buffer)).toEqual(array.data);
      engine.free(buffer);
    }
    const truths = engine.put({ data: Int32Array.of(0, 5, 1), shape: [3], dtype: "bool" });
    expect(engine.read(truths)).toEqual(Int32Array.of(0, 1, 1));
    engine.free(truths);
    expect(() => engine.put({ data: new Float32Array(2), shape: [3] })).toThrow("2 numbers do not fill");
  });

  describe("batches", () => {
    const rows = (first: number, length = 40_000) => ({
      data: Float32Array.from({ length }, (_, i) => first + i),
      shape: [length],
    });

    it("are on their way when putRows returns, and the next ones do not overwrite them", () => {
      const batch = rows(0);
      const buffers = Array.from({ length: 10 }, (_, step) => {
        batch.data.fill(step);
        return engine.putRows(batch);
      });
      batch.data.fill(-1);
      expect(buffers.map((buffer) => engine.read(buffer)[39_999])).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(live("mapping")).toBe(4);
      // Also those that lie in shared memory, or have another type.
      const shared = { data: new Float32Array(new SharedArrayBuffer(160_000)).fill(2.5), shape: [40_000] };
      const truths = {
        data: Int32Array.from({ length: 70_000 }, (_, i) => i % 3),
        shape: [70_000],
        dtype: "bool" as const,
      };
      const more = [shared, truths].map((array) => engine.putRows(array));
      expect(engine.read(more[0]!)).toEqual(Float32Array.from(shared.data));
      expect(engine.read(more[1]!).slice(0, 4)).toEqual(Int32Array.of(0, 1, 1, 0));
      for (const buffer of [...buffers, ...more]) engine.free(buffer);
    });

    it("that are freed before they have arrived leave nothing, also when the engine is closed meanwhile", async () => {
      for (let i = 0; i < 10; i++) engine.free(engine.putRows(rows(i)));
      engine.putRows(rows(0, 50_000));
      await engine.close();
      expect(alive()).toEqual([]);
    });

    it("that are small, and single numbers, have more places, since there are several in a step", () => {
      const buffers = Array.from({ length: 40 }, (_, i) => engine.put({ data: Float32Array.of(i), shape: [] }));
      expect(live("mapping")).toBe(32);
      expect(buffers.map((buffer) => engine.read(buffer)[0])).toEqual(buffers.map((_, i) => i));
      for (const buffer of buffers) engine.free(buffer);
      engine.free(engine.put(rows(0)));
      expect(live("mapping"), "a model's arrays are copied").toBe(32);
    });

    it("are copied where memory cannot be pinned", () => {
      fail("Client_DmaMap", 12, "not implemented");
      const buffers = [rows(1), rows(2)].map((batch) => engine.putRows(batch));
      expect(live("mapping")).toBe(0);
      expect(buffers.map((buffer) => engine.read(buffer)[1])).toEqual([2, 3]);
      for (const buffer of buffers) engine.free(buffer);
    });

    it("whose transfer has failed are the error of what reads them: their place is used again", () => {
      const buffers = [0, 1, 2, 3].map((i) => engine.putRows(rows(i)));
      fail("Event_Await", 8, "Out of memory");
      const next = engine.putRows(rows(4));
      expect(engine.read(next)[0]).toBe(4);
      expect(live("mapping")).toBe(4);
      for (const buffer of [...buffers, next]) engine.free(buffer);
    });
  });

  it("compiles once for each list of shapes, and runs the second time without waiting", async () => {
    const program = double();
    const [a, b] = [engine.put(host(1, 2)), engine.put(host(1, 2, 3))];
    const made = [await program(a), await program(b)];
    expect(live("program")).toBe(2);
    const again = program(a);
    expect(again).not.toBeInstanceOf(Promise);
    expect(live("program")).toBe(2);
    for (const buffer of [a, b, ...made, again as Buffer]) engine.free(buffer);
    expect(live("buffer")).toBe(0);
  });

  it("gives the memory of donated arguments away, but not what a copy stands for", async () => {
    const program = double([0]);
    const first = engine.put(host(1, 2));
    const second = await program(first);
    expect(() => engine.read(first)).toThrow("after it was freed");
    const copy = engine.copy(second);
    const third = await program(second);
    // The plugin would say that a donated buffer was read.
    expect(engine.read(copy)).toHaveLength(2);
    for (const buffer of [copy, third]) engine.free(buffer);
  });

  it("keeps what a program borrows until it is compiled, whoever frees it or gives it away meanwhile", async () => {
    const [a, b] = [engine.put(host(1, 2)), engine.put(host(3, 4, 5))];
    const [looked, given] = [double(), double([0])];
    const freed = looked(a);
    engine.free(a);
    engine.free(await freed);
    const borrowed = looked(b);
    engine.free(await given(b));
    engine.free(await borrowed);
    fail("Client_Compile", 3, "the module is wrong");
    const failing = double()(engine.put(host(6)));
    await expect(failing).rejects.toThrow("the module is wrong");
    expect(live("buffer")).toBe(1);
  });

  it("frees what is left when it is closed", async () => {
    engine.put(host(1));
    await double()(engine.put(host(2)));
    expect(live("buffer")).toBe(3);
    await engine.close();
    expect(alive()).toEqual([]);
  });

  it("reports what the plugin says, and stays usable", async () => {
    fail("Client_Compile", 3, "the module is wrong");
    const argument = engine.put(host(1));
    await expect(double()(argument)).rejects.toThrow('Engine "xla": the module is wrong (PJRT_Client_Compile, code 3)');
    const program = double();
    engine.free(await program(argument));
    fail("LoadedExecutable_Execute", 8, "Out of memory while trying to allocate 99 bytes");
    expect(() => program(argument)).toThrow(PjrtError);
    fail("LoadedExecutable_Execute", 8, "Out of memory while trying to allocate 99 bytes");
    expect(() => program(argument)).toThrow(
      /too little memory. Use smaller batches .* XLA says: Out of memory while trying to allocate 99 bytes/,
    );
    fail("Event_Await", 8, "Out of memory");
    expect(() => engine.read(argument)).toThrow("Out of memory");
    fail("Client_BufferFromHostBuffer", 8, "Out of memory");
    expect(() => engine.put(host(1))).toThrow("code 8");
    const out = await program(argument);
    expect(engine.read(out)).toHaveLength(1);
    for (const buffer of [argument, out]) engine.free(buffer);
  });

  it("says which arrays filled the memory, at once or when the result is read", async () => {
    const sums = engine.jit(((a: { weight: Tensor }, b: Tensor) => a.weight.add(b)) as never) as unknown as (
      ...args: unknown[]
    ) => Promise<Buffer>;
    const [a, b] = [engine.put(host(1, 2, 3)), engine.put(host(1))];
    engine.free(await sums({ weight: a }, b));
    const needs =
      "The program needs 7.00 GiB: 3.00 MiB for arguments, 1.00 MiB for results and 7.00 GiB for what it computes in between";
    fail("LoadedExecutable_Execute", 8, "Out of memory");
    expect(() => sums({ weight: a }, b)).toThrow(needs);
    fail("LoadedExecutable_Execute", 8, "Out of memory");
    expect(() => sums({ weight: a }, b)).toThrow(
      "Its largest arguments: weight [3] 12 bytes; an array [1] 4 bytes. In use on Mock device: 16 bytes. XLA says: Out of memory (PJRT_LoadedExecutable_Execute, code 8)",
    );
    const made = await sums({ weight: a }, b);
    fail("Event_Await", 8, "x".repeat(5000));
    expect(() => engine.read(made)).toThrow(/The program needs 7.00 GiB.* XLA says: x{2000} … /);
    fail("Client_BufferFromHostBuffer", 8, "Out of memory");
    expect(() => engine.put(host(1, 2))).toThrow("Its largest arguments: the array [2] 8 bytes.");
    for (const buffer of [a, b, made]) engine.free(buffer);
  });

  it("leaves a trainer that ran out of memory usable: the next fit continues with the same step", async () => {
    const x = { data: new Float32Array(64), shape: [32, 2] };
    const trainer = new Trainer({
      model: linear(2, 1),
      loss: mse(),
      optimizer: sgd({ lr: 0.1 }),
      train: new DataLoader({ x, y: { data: new Float32Array(32), shape: [32, 1] } }, { batchSize: 8 }),
      epochs: 3,
      signals: false,
      engine,
    });
    trainer.on("stepBegin", ({ step }) => {
      if (step === 6) fail("LoadedExecutable_Execute", 8, "Out of memory");
    });
    await expect(trainer.fit()).rejects.toThrow(/too little memory.*Its largest arguments: x \[8, 2\] 64 bytes/);
    expect((await trainer.stateDict())["weight"]!.data).toHaveLength(2);
    const result = await trainer.fit();
    expect(result.status).toBe("completed");
    expect(result.steps).toBe(12);
    await trainer.close();
    expect(live("buffer")).toBe(0);
  });

  it("stops a program in half", async () => {
    const cut = engine.jitCut((x: Tensor) => ({ a: np.exp(x.ref.sum()), b: x.mul(2) }), ["a"]);
    const x = engine.put(host(1, 2));
    const { early, finish, drop } = await cut(x);
    expect(Object.keys(early)).toEqual(["a"]);
    const rest = await finish(x);
    expect((rest.b as Buffer).shape).toEqual([2]);
    drop();
    for (const buffer of [x, early.a as Buffer, rest.b as Buffer]) engine.free(buffer);
    expect(live("buffer")).toBe(0);
  });

  it("serializes a program and loads it", async () => {
    const client = new PjrtClient(new PjrtApi(koffi, path), { allocator: "default", preallocate: false });
    const text =
      "module { func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>) { return %arg0 : tensor<2xf32> } }";
    const first = await client.compile(text, { xla_gpu_deterministic_ops: true });
    const second = await client.load(first.serialize());
    expect(second.outputs).toBe(1);
    await expect(client.load(Uint8Array.of(1, 2, 3))).rejects.toThrow("not a serialized program");
    first.destroy();
    second.destroy();
    client.close();
  });

  it("says what is no plugin, and what cannot be compiled", async () => {
    process.env.HOOKLINE_PJRT_PLUGIN = "/no/such/plugin.so";
    expect(() => new XlaEngine()).toThrow("the plugin /no/such/plugin.so cannot be loaded");
    process.env.HOOKLINE_PJRT_PLUGIN = "libc.so.6";
    expect(() => new XlaEngine()).toThrow("libc.so.6 is no PJRT plugin");
    const matrix = engine.put({ data: Float32Array.of(1, 0, 0, 1), shape: [2, 2] });
    const decomposed = engine.jit(((x: Tensor) => np.linalg.cholesky(x)) as never) as unknown as Program;
    await expect(decomposed(matrix)).rejects.toThrow(
      'Engine "xla": the primitive `cholesky` cannot be compiled. Use engine: "native" or "wasm"',
    );
    engine.free(matrix);
  });
});
