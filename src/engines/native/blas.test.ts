// A BLAS of the system computes what onnxruntime computes. Debian's libopenblas0 is the one that is tried here.
import { afterAll, describe, expect, test } from "vitest";
import { linear, relu, sequential } from "hookline/nn";
import { tinyTrainer } from "hookline/testing";
import { Rng } from "../../data/random.ts";
import { Blas, blasWanted, speedOf } from "./blas.ts";
import { EngineMemory } from "./memory.ts";
import { NativeEngine } from "./native-engine.ts";
import type { Contraction } from "./plan/contract.ts";
import { Products } from "./products.ts";

function openblas(): Blas | undefined {
  try {
    return new Blas("openblas");
  } catch {
    console.info("Tests of a BLAS skip: they need OpenBLAS (`apt-get install libopenblas0`).");
    return undefined;
  }
}

const blas = openblas();
const memory = new EngineMemory();
const [onnxruntime, withBlas] = [new Products(memory), blas && new Products(memory, blas)];
afterAll(() => [onnxruntime, withBlas].forEach((each) => each?.close()));
const rng = new Rng(7);

/** Small whole numbers: their sums are exact in any order. */
function put(length: number): number {
  const at = memory.allocate(length * 4);
  new Float32Array(memory.memory.buffer, at, length).set(Float32Array.from({ length }, () => rng.int(9) - 4));
  return at;
}

function results(c: Contraction): number[][] {
  const [left, right] = [put(c.batch * (c.among?.rows ?? c.rows) * c.inner), put(c.batch * c.inner * c.columns)];
  const length = c.batch * c.rows * c.columns;
  return [onnxruntime, withBlas!].map((side) => {
    const out = memory.allocate(length * 4);
    side.compile(c).run(left, right, out);
    return Array.from(new Float32Array(memory.memory.buffer, out, length), (value) => value + 0);
  });
}

describe.skipIf(!blas)("OpenBLAS", () => {
  const sides = [false, true].flatMap((left) => [false, true].map((right) => [left, right] as const));
  test.each(sides)("left transposed: %s, right transposed: %s", (leftTransposed, rightTransposed) => {
    for (let i = 0; i < 40; i++) {
      const size = (): number => 1 + rng.int(i < 30 ? 9 : 130);
      const form = { batch: 1 + rng.int(3), rows: size(), inner: size(), columns: size() };
      const rows = form.rows + rng.int(5);
      const among = { rows, begin: rng.int(rows - form.rows + 1) };
      const c = { ...form, leftTransposed, rightTransposed, ...(leftTransposed && form.batch === 1 && { among }) };
      const [expected, got] = results(c);
      expect(got, JSON.stringify(c)).toEqual(expected);
    }
  });

  test.each([1, 2])("a training with %i threads comes to the same losses", async (threads) => {
    const losses = async (options: object): Promise<number> => {
      const engine = new NativeEngine({ threads, ...options });
      const model = sequential(linear(3, 256), relu(), linear(256, 256), relu(), linear(256, 1));
      const { metrics } = await tinyTrainer({ engine, steps: 20, model, samples: 512, batchSize: 256 }).fit();
      expect(engine.name).toBe("blas" in options ? "native with openblas" : "native");
      await engine.close();
      return metrics["train/loss"]!;
    };
    expect(await losses({ blas: "openblas" })).toBeCloseTo(await losses({}), 5);
  });

  test("its speed beside onnxruntime is a number", () => {
    expect(speedOf(blas!)).toBeGreaterThan(0);
  });
});

test("what cannot be loaded is said", () => {
  expect(() => new Blas("atlas")).toThrow(
    /the BLAS "atlas" cannot be loaded .* Give a path, or one of accelerate, mkl, openblas/,
  );
  expect(() => new NativeEngine({ blas: "/nowhere/libblas.so" })).toThrow(/cannot be loaded/);
});

test("a library without products is said", () => {
  expect(() => new Blas("libc.so.6")).toThrow("has no `cblas_sgemm`");
});

test("the option goes before the environment", () => {
  try {
    process.env.HOOKLINE_BLAS = "mkl";
    expect([blasWanted(undefined), blasWanted("openblas")]).toEqual(["mkl", "openblas"]);
    process.env.HOOKLINE_BLAS = "";
    expect(blasWanted(undefined)).toBeUndefined();
  } finally {
    delete process.env.HOOKLINE_BLAS;
  }
});
