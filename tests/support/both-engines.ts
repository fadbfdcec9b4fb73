// The same function on jax-js's wasm and on another engine, and the numbers of both side by side. The other one is native,
// or what HOOKLINE_TEST_ENGINE names.
import { defaultDevice, grad, numpy as np, tree } from "@jax-js/jax";
import type { HostArray, TypedArray } from "../../src/core/arrays.ts";
import type { Tensor } from "../../src/core/model.ts";
import { freeAll, leaves, type Buffer, type Engine, type OnEngine, type Tree } from "../../src/engines/engine.ts";
import { JaxEngine } from "../../src/engines/jax/jax-engine.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { XlaEngine } from "../../src/engines/xla/xla-engine.ts";
import { testEngine } from "../../src/testing/tiny.ts";

export interface Result {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly data: TypedArray;
}

type Hosts = Tree<HostArray>;

/** Of the engine "xla". */
const PRECISION = process.env.HOOKLINE_TEST_PRECISION === "bf16" ? "bf16" : "float32";

/** Of the engine "xla": without, cuDNN computes attention. */
const DETERMINISTIC = process.env.HOOKLINE_TEST_DETERMINISTIC !== "false";

const isHost = (host: Hosts): host is HostArray => ArrayBuffer.isView((host as HostArray).data);

function putTree(engine: Engine, host: Hosts): Tree<Buffer> {
  if (isHost(host)) return engine.put(host);
  if (Array.isArray(host)) return host.map((branch) => putTree(engine, branch as Hosts));
  return Object.fromEntries(Object.entries(host).map(([key, branch]) => [key, putTree(engine, branch as Hosts)]));
}

export class BothEngines {
  readonly wasm: Engine;
  readonly other: Engine;

  private constructor(wasm: Engine, other: Engine) {
    this.wasm = wasm;
    this.other = other;
  }

  /** With so many threads, if the other one is native. */
  static async create(threads = 2): Promise<BothEngines> {
    return new BothEngines(await JaxEngine.create("wasm"), await otherEngine(threads));
  }

  /** Where the results of both are not the same: nowhere, it is hoped. They have the same structure. */
  async differences(
    fn: (...args: never[]) => Tree<Tensor>,
    args: readonly Hosts[],
    relative = PRECISION === "bf16" ? 2e-2 : 1e-5,
  ): Promise<string[]> {
    const program = fn as (...args: Tree<Tensor>[]) => Tree<Tensor>;
    return differences(await run(this.other, program, args), eagerly(program, args), relative);
  }

  async close(): Promise<void> {
    await Promise.all([this.wasm.close(), this.other.close()]);
  }
}

function otherEngine(threads: number): Engine | Promise<Engine> {
  if (testEngine() === "webgpu") return JaxEngine.create("webgpu");
  return testEngine() === "xla"
    ? new XlaEngine({ precision: PRECISION, deterministic: DETERMINISTIC })
    : new NativeEngine({ threads });
}

/** Σ w (y²/2 + y), so that what flows back differs from place to place. */
export function weighed(y: Tensor): Tensor {
  const weights = np.array(Float32Array.from(numbers(y.shape, 99, 0.5, 2).data), {
    shape: [...y.shape],
  });
  return np.square(y.ref).mul(0.5).add(y).mul(weights).sum();
}

/** What a function returns, and the gradients of it by every argument. */
export const withGradients =
  (fn: (...args: Tensor[]) => Tensor) =>
  (...xs: Tensor[]): Tensor[] => {
    const loss = (list: Tensor[]): Tensor => weighed(fn(...list));
    const backward = grad(loss as never) as unknown as (list: Tensor[]) => Tensor[];
    return [fn(...xs.map((x) => x.ref)), ...backward(xs)];
  };

/** By jax-js without its jit, which cannot do all that it can: no scatter of what is computed, no padded literal. */
function eagerly(fn: (...args: Tree<Tensor>[]) => Tree<Tensor>, args: readonly Hosts[]): Result[] {
  defaultDevice("wasm");
  const out = fn(...args.map(arraysOf));
  return tree.flatten(out as never)[0].map((array: Tensor) => {
    const { shape, dtype } = array;
    return { shape: [...shape], dtype, data: array.dataSync() as TypedArray };
  });
}

function arraysOf(host: Hosts): Tree<Tensor> {
  if (isHost(host)) {
    const array = np.array(host.data as Float32Array<ArrayBuffer>, { shape: [...host.shape], device: "wasm" });
    return host.dtype === "bool" ? array.astype(np.bool) : array;
  }
  if (Array.isArray(host)) return host.map((branch) => arraysOf(branch as Hosts));
  return Object.fromEntries(Object.entries(host).map(([key, branch]) => [key, arraysOf(branch as Hosts)]));
}

export async function run(
  engine: Engine,
  fn: (...args: Tree<Tensor>[]) => Tree<Tensor>,
  args: readonly Hosts[],
): Promise<Result[]> {
  const given = args.map((arg) => putTree(engine, arg));
  const out = (await engine.jit(fn)(...(given as OnEngine<Tree<Tensor>>[]))) as Tree<Buffer>;
  const results: Result[] = [];
  for (const buffer of leaves(out)) {
    const { shape, dtype } = buffer;
    results.push({ shape: [...shape], dtype, data: await engine.read(buffer) });
  }
  for (const each of [...given, out]) freeAll(engine, each);
  return results;
}

/**
 * To 1e-5 of each number, and of the largest of its array: sums whose terms cancel lose that much in any order of
 * adding. An array that is nothing but such rests has 1e-6 to itself. Whole numbers are the same or not.
 */
function differences(got: readonly Result[], expected: readonly Result[], relative: number): string[] {
  const types = (results: readonly Result[]): string =>
    results.map(({ shape, dtype }) => `${dtype}[${shape.join()}]`).join(" ");
  if (types(got) !== types(expected)) return [`got ${types(got)}, wasm has ${types(expected)}`];
  return expected.flatMap(({ data, shape, dtype }, i) => {
    const numbersOf = Array.from(data);
    const largest = numbersOf.reduce((most, n) => (Number.isFinite(n) ? Math.max(most, Math.abs(n)) : most), 0);
    const at = numbersOf.findIndex((b, n) => {
      const a = got[i]!.data[n]!;
      if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return false;
      return dtype !== "float32" || !(Math.abs(a - b) <= relative * (Math.abs(b) + largest) + 1e-6);
    });
    if (at < 0) return [];
    return [
      `result ${i} of shape [${shape.join()}] at ${at}: ${got[i]!.data[at]}, wasm ${data[at]} (largest ${largest})`,
    ];
  });
}

/** Reproducible numbers about 0, none of them on the edge of a step function. */
export function numbers(shape: readonly number[], salt = 0, from = -2, to = 2): HostArray<Float32Array> {
  const length = shape.reduce((a, b) => a * b, 1);
  const wave = (i: number): number => Math.sin(i * 12.9898 + salt * 78.233 + 0.5) * 43_758.5453;
  const data = Float32Array.from({ length }, (_, i) => from + (wave(i) - Math.floor(wave(i))) * (to - from));
  return { data, shape };
}

export function wholes(shape: readonly number[], below: number, salt = 0, from = 0): HostArray<Int32Array> {
  const { data } = numbers(shape, salt, from, below);
  return { data: Int32Array.from(data, Math.floor), shape };
}
