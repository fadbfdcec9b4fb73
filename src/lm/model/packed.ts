// Frozen matrices in fewer bits: bfloat16, or whole numbers of 8 or 4 bits with a factor for each group of columns. No engine
// has such numbers, so they are packed into uint32 words, and programs unpack them with shifts and masks.
import { lax, numpy as np } from "@jax-js/jax";
import type { HostArray } from "../../core/arrays.ts";
import type { Tensor, Tensors } from "../../core/model.ts";
import { float32ToBfloat16 } from "../../checkpoint/formats/tensor-values.ts";

/** How the frozen matrices of a base are kept on the engine. */
export type BaseStorage = "float32" | "bf16" | "int8" | "int4";

/** Columns that share a factor. */
const GROUP = 32;

const BITS = { int8: 8, int4: 4 } as const;

/** Endings of the names of packed tensors. */
const ENDS = { bf16: ".bf16", int8: ".q8", int4: ".q4" } as const;
const SCALE = ".scale";

/** What replaces a tensor: names, and shapes of the words. */
export interface PackedPart {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: "uint32" | "float32";
}

/** The tensors into which one is packed; undefined for one whose shape cannot be, which stays as it is. */
export function packedParts(
  name: string,
  shape: readonly number[],
  storage: BaseStorage,
): readonly PackedPart[] | undefined {
  const [rows, columns] = shape as [number, number];
  if (storage === "float32" || shape.length !== 2) return undefined;
  if (storage === "bf16")
    return columns % 2 === 0 ? [{ name: name + ENDS.bf16, shape: [rows, columns / 2], dtype: "uint32" }] : undefined;
  if (columns % GROUP !== 0) return undefined;
  return [
    { name: name + ENDS[storage], shape: [rows, (columns * BITS[storage]) / 32], dtype: "uint32" },
    { name: name + SCALE, shape: [rows, columns / GROUP], dtype: "float32" },
  ];
}

/** The packed tensors of a matrix, in the order of `packedParts`. */
export function pack(matrix: HostArray<Float32Array>, storage: Exclude<BaseStorage, "float32">): HostArray[] {
  return storage === "bf16" ? [packBf16(matrix)] : packWhole(matrix, BITS[storage]);
}

const packBf16 = ({ data, shape }: HostArray<Float32Array>): HostArray => packBits(float32ToBfloat16(data), shape);

/**
 * The bits of numbers in bfloat16: column j with column j + half in one word. Unpacked, halves stand beside each other, and
 * nothing is interleaved.
 */
export function packBits(bits: Uint16Array, shape: readonly number[]): HostArray {
  const [rows, columns] = shape as [number, number];
  const half = columns / 2;
  const words = new Uint32Array(rows * half);
  for (let row = 0; row < rows; row++)
    for (let j = 0; j < half; j++)
      words[row * half + j] = bits[row * columns + j]! | (bits[row * columns + half + j]! << 16);
  return { data: words, shape: [rows, half] };
}

function packWhole({ data, shape }: HostArray<Float32Array>, bits: 8 | 4): HostArray[] {
  const [rows, columns] = shape as [number, number];
  const [words, groups] = [(columns * bits) / 32, columns / GROUP];
  const most = 2 ** (bits - 1) - 1;
  const packed = new Uint32Array(rows * words);
  const scales = new Float32Array(rows * groups);
  for (let group = 0; group < rows * groups; group++) {
    const part = data.subarray(group * GROUP, (group + 1) * GROUP);
    const largest = part.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    scales[group] = largest === 0 ? 1 : largest / most;
  }
  for (let row = 0; row < rows; row++) {
    for (let j = 0; j < columns; j++) {
      const scale = scales[row * groups + Math.floor(j / GROUP)]!;
      // From 1 to 2 · most + 1: unsigned bits are simpler to mask.
      const value = Math.round(data[row * columns + j]! / scale) + most + 1;
      packed[row * words + (j % words)]! |= value << (Math.floor(j / words) * bits);
    }
  }
  return [
    { data: packed, shape: [rows, words] },
    { data: scales, shape: [rows, groups] },
  ];
}

/** The matrix of this name among `params`, unpacked if it is packed; undefined if there is none. Keeps `params`. */
export function matrixIn(params: Tensors, name: string): Tensor | undefined {
  const plain = params[name];
  if (plain) return plain.ref;
  const bf16 = params[name + ENDS.bf16];
  if (bf16) return unpackBf16(bf16.ref);
  for (const storage of ["int8", "int4"] as const) {
    const words = params[name + ENDS[storage]];
    if (words) return unpackWhole(words.ref, params[name + SCALE]!.ref, BITS[storage]);
  }
  return undefined;
}

const word = (value: number): Tensor => np.array(Uint32Array.of(value >>> 0), { shape: [] });

function unpackBf16(words: Tensor): Tensor {
  const low = np.leftShift(words.ref, word(16));
  const high = np.bitwiseAnd(words, word(0xffff0000));
  return np.concatenate(
    [low, high].map((bits) => lax.bitcastConvertType(bits, np.float32)),
    -1,
  );
}

function unpackWhole(words: Tensor, scales: Tensor, bits: 8 | 4): Tensor {
  const [rows, groups] = scales.shape as [number, number];
  const zero = 2 ** (bits - 1);
  const parts = Array.from({ length: 32 / bits }, (_, k) =>
    np
      .bitwiseAnd(np.rightShift(words.ref, word(k * bits)), word(2 ** bits - 1))
      .astype(np.float32)
      .sub(zero),
  );
  words.dispose();
  const whole = np.concatenate(parts, -1).reshape([rows, groups, GROUP]);
  return whole.mul(scales.reshape([rows, groups, 1])).reshape([rows, groups * GROUP]);
}
