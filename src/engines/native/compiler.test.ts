// A program that cannot be divided or compiled runs all the same, with one warning.
import { numpy as np } from "@jax-js/jax";
import { afterEach, expect, test } from "vitest";
import { nativeResources } from "../../../tests/support/native-resources.ts";
import type { Tensor } from "../../core/model.ts";
import { Compiler, type Compiled, type Fn } from "./compiler.ts";
import { Products } from "./products.ts";
import type { NativeResources } from "./program.ts";
import { ThreadPool } from "./threads/pool.ts";

const { pool, ...rest } = nativeResources(2);
const compilers: Compiler[] = [];
afterEach(async () => {
  for (const compiler of compilers.splice(0)) await compiler.close();
});

/** No thread can be started, as where the system allows no more of them. */
class NoThreads extends ThreadPool {
  override join(): never {
    throw new Error("no more threads");
  }
}

/** The matrix library takes none of the products. */
class NoProducts extends Products {
  override compile(): never {
    throw new Error("no such product");
  }
}

function compilerOn(changes: Partial<NativeResources>) {
  const warnings: string[] = [];
  const compiler = new Compiler({ ...rest, pool, ...changes }, (message) => warnings.push(message));
  compilers.push(compiler);
  return { compiler, warnings };
}

const SIZE = 128;
const args = [{ shape: [SIZE, SIZE], dtype: "float32" as const }];
const square: Fn = (x: Tensor) => np.matmul(x.ref, x);

/** What a program makes of a matrix of ones. */
function ones({ program }: Compiled): number[] {
  const { memory } = rest;
  const [input, output] = [memory.allocate(SIZE * SIZE * 4), memory.allocate(SIZE * SIZE * 4)];
  const numbers = (address: number): Float32Array => new Float32Array(memory.memory.buffer, address, SIZE * SIZE);
  numbers(input).fill(1);
  program.run([input], [output]);
  return [...new Set(numbers(output))];
}

test("what cannot be divided runs on one thread", () => {
  const { compiler, warnings } = compilerOn({ pool: new NoThreads(2, rest.memory, () => {}) });
  for (let i = 0; i < 2; i++) expect(ones(compiler.compile(square, args))).toEqual([SIZE]);
  expect(warnings).toEqual([
    'Engine "native": a program cannot be divided (no more threads; please report this). It runs on one thread.',
  ]);
});

test("what cannot be compiled at all runs on wasm", () => {
  const { compiler, warnings } = compilerOn({ products: new NoProducts(rest.memory) });
  for (let i = 0; i < 2; i++) expect(ones(compiler.compile(square, args))).toEqual([SIZE]);
  expect(warnings).toEqual([
    'Engine "native": a program cannot be divided (no such product; please report this). It runs on one thread.',
    'Engine "native": a program cannot be compiled (no such product; please report this). It runs on wasm, and more slowly.',
  ]);
});

test("a program in two halves runs on wasm when either half cannot be compiled", () => {
  const { compiler } = compilerOn({ products: new NoProducts(rest.memory) });
  const halves = (x: Tensor) => ({ early: x.ref.add(1), late: np.matmul(x.ref, x) });
  const { first, early, second } = compiler.compileCut(halves, args, ["early"]);
  expect(early).toBe(1);
  expect(ones(first)).toEqual([2]);
  expect(ones(second)).toEqual([SIZE]);
});

test("an error of the function that is traced is passed on", () => {
  const { compiler, warnings } = compilerOn({});
  const wrong: Fn = (x: Tensor) => np.matmul(x, np.ones([3, 3]));
  expect(() => compiler.compile(wrong, args)).toThrow("3");
  expect(warnings).toEqual([]);
});
