// Matrix products by a BLAS of the system in place of onnxruntime's, where someone asks for one: Accelerate on a Mac, MKL on
// an Intel processor. Which one is used changes rounding, so it is part of the engine's name, and never chosen by itself.
import { sizeOf } from "../../core/arrays.ts";
import { EngineError } from "../../core/errors.ts";
import { builtin } from "../../platform/builtin.ts";
import { koffiOrNone, type Koffi, type KoffiFunction, type KoffiLibrary } from "../../platform/koffi.ts";
import type { Numbers, Session } from "./onnxruntime.ts";
import type { Contraction } from "./plan/contract.ts";
import { Products } from "./products.ts";

const VARIABLE = "HOOKLINE_BLAS";

/** Where each is, on the systems that have it. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  accelerate: ["/System/Library/Frameworks/Accelerate.framework/Accelerate"],
  mkl: ["libmkl_rt.so.2", "mkl_rt.2.dll", "libmkl_rt.so", "libmkl_rt.dylib"],
  openblas: ["libopenblas.so.0", "libopenblas.so", "libopenblas.dylib", "libopenblas.dll"],
};
export const BLAS_NAMES = Object.keys(LIBRARIES);

/** Each thread of the engine does its own part: a library with threads of its own would have them wait for each other. */
const ONE_THREAD = ["openblas_set_num_threads", "MKL_Set_Num_Threads"];
const ACCELERATE_THREADS = "VECLIB_MAXIMUM_THREADS";

/** Words of the C interface. */
const ROW_MAJOR = 101;
const AS_IT_LIES = 111;
const TRANSPOSED = 112;
const INTEGER = "int32_t";
const PLACE = ["intptr_t", INTEGER];
const SGEMM = [...Array<string>(6).fill(INTEGER), "float", ...PLACE, ...PLACE, "float", ...PLACE];

/** As the engine's option says, else the environment: one of the names, or a path. */
export function blasWanted(option: string | undefined): string | undefined {
  const wanted = option ?? builtin(`Engine "native"`, "node:process").env[VARIABLE];
  return wanted === "" ? undefined : wanted;
}

export class Blas {
  readonly name: string;
  readonly #koffi: Koffi;
  /** koffi unloads what nobody holds on to. */
  readonly #library: KoffiLibrary;
  readonly #sgemm: KoffiFunction;

  /** Throws an EngineError that says what is missing, or wrong. */
  constructor(wanted: string) {
    const koffi = koffiOrNone();
    if (!koffi)
      throw new EngineError(`${called(wanted)} is called through koffi: get it with \`npm install koffi@3.3\`.`);
    this.name = wanted;
    this.#koffi = koffi;
    if (wanted === "accelerate") builtin(`Engine "native"`, "node:process").env[ACCELERATE_THREADS] ??= "1";
    this.#library = load(koffi, wanted);
    try {
      this.#sgemm = this.#library.func("cblas_sgemm", "void", SGEMM);
    } catch (cause) {
      throw new EngineError(`${called(wanted)} has no \`cblas_sgemm\`.`, { cause });
    }
    for (const name of ONE_THREAD) {
      try {
        this.#library.func(name, "void", [INTEGER])(1);
      } catch {
        // Another library's.
      }
    }
    // A build with integers of 64 bits has the same names.
    if (!isRight(this))
      throw new EngineError(`${called(wanted)} multiplies wrongly: is it a build with integers of 64 bits?`);
  }

  session(c: Contraction, memory: Numbers): Session {
    const sgemm = this.#sgemm;
    const stored = c.among?.rows ?? c.rows;
    const first = (c.among?.begin ?? 0) * 4;
    const strides = [stored * c.inner, c.inner * c.columns, c.rows * c.columns].map((numbers) => numbers * 4);
    const [transA, lda] = c.leftTransposed ? [TRANSPOSED, stored] : [AS_IT_LIES, c.inner];
    const [transB, ldb] = c.rightTransposed ? [TRANSPOSED, c.inner] : [AS_IT_LIES, c.columns];
    let plain: ArrayBuffer | undefined;
    let base = 0;
    return {
      run: (left, right, out) => {
        if (plain !== memory.plain) {
          ({ plain } = memory);
          base = Number(this.#koffi.address(new Uint8Array(plain)));
        }
        for (let i = 0; i < c.batch; i++) {
          const a = base + left + first + i * strides[0]!;
          const b = base + right + i * strides[1]!;
          const into = base + out + i * strides[2]!;
          sgemm(ROW_MAJOR, transA, transB, c.rows, c.columns, c.inner, 1, a, lda, b, ldb, 0, into, c.columns);
        }
      },
      dispose: () => undefined,
    };
  }
}

const called = (wanted: string): string => `Engine "native": the BLAS ${JSON.stringify(wanted)}`;

function load(koffi: Koffi, wanted: string): KoffiLibrary {
  const candidates = LIBRARIES[wanted] ?? [wanted];
  let reason: unknown;
  for (const path of candidates) {
    try {
      return koffi.load(path);
    } catch (error) {
      reason ??= error;
    }
  }
  const known = BLAS_NAMES.includes(wanted) ? "" : ` Give a path, or one of ${BLAS_NAMES.join(", ")}.`;
  throw new EngineError(`${called(wanted)} cannot be loaded (${(reason as Error).message}).${known}`, {
    cause: reason,
  });
}

/** Small whole numbers, whose products are exact. */
function isRight(blas: Blas): boolean {
  const [rows, inner, columns] = [3, 5, 2];
  const shape = { batch: 1, rows, inner, columns, leftTransposed: true, rightTransposed: true };
  const numbers = new Float32Array(64).map((_, i) => (i * 7) % 5);
  const [left, right, out] = [0, sizeOf([rows, inner]), 48];
  blas.session(shape, { plain: numbers.buffer }).run(left * 4, right * 4, out * 4);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += numbers[left + k * rows + r]! * numbers[right + c * inner + k]!;
      if (numbers[out + r * columns + c] !== sum) return false;
    }
  return true;
}

// How fast it is beside onnxruntime, for `hookline doctor`.

const MEASURED: Contraction = {
  batch: 1,
  rows: 256,
  inner: 512,
  columns: 256,
  leftTransposed: false,
  rightTransposed: true,
};
const ROUNDS = 15;

/** The time of onnxruntime ÷ that of the BLAS, by medians of turns. */
export function speedOf(blas: Blas): number {
  const { rows, inner, columns } = MEASURED;
  const memory = { plain: new Float32Array(rows * inner + inner * columns + rows * columns).fill(0.5).buffer };
  const [right, out] = [rows * inner * 4, (rows + columns) * inner * 4];
  const sides = [new Products(memory), new Products(memory, blas)];
  const products = sides.map((side) => side.compile(MEASURED));
  const times = sides.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, product] of products.entries()) {
      const begun = performance.now();
      product.run(0, right, out);
      times[i]!.push(performance.now() - begun);
    }
  for (const side of sides) side.close();
  const [theirs, own] = times.map((each) => each.sort((a, b) => a - b)[ROUNDS >> 1]!);
  return theirs! / own!;
}
