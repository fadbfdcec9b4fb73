// The frozen part of a model that an adapter is trained on: read from its files to the engine, one tensor at a time.
import { digestOf } from "../../checkpoint/manifest.ts";
import { rawValues, toHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import type { HostArray } from "../../core/arrays.ts";
import type { FrozenBase, FrozenTensor } from "../../core/model.ts";
import { type BaseStorage, pack, packBits, packedParts } from "../model/packed.ts";
import type { TensorEntry } from "./folder-tensors.ts";

/** A tensor of a file as float32. */
export async function readFloats(name: string, entry: TensorEntry): Promise<HostArray<Float32Array>> {
  return toHostArrays({ [name]: await entry.read() }, entry.file)[name] as HostArray<Float32Array>;
}

/** `matrices` are packed, if `storage` says so; the digest is of what the files hold and of how it is kept. */
export async function frozenBase(
  path: string,
  tensors: ReadonlyMap<string, TensorEntry>,
  matrices: ReadonlySet<string>,
  storage: BaseStorage,
): Promise<FrozenBase> {
  const frozen = new Map<string, FrozenTensor>();
  const contents: unknown[] = [storage];
  for (const [name, entry] of tensors) {
    const { dtype, shape } = entry;
    contents.push([name, dtype, shape, await digestOf((await entry.read()).bytes)]);
    const parts = matrices.has(name) ? packedFrom(name, entry, storage) : undefined;
    for (const [part, tensor] of parts ??
      ([[name, { shape, dtype: "float32", read: () => readFloats(name, entry) }]] as const))
      frozen.set(part, tensor);
  }
  return { path, digest: await digestOf(JSON.stringify(contents)), tensors: frozen };
}

function packedFrom(
  name: string,
  entry: TensorEntry,
  storage: BaseStorage,
): readonly (readonly [string, FrozenTensor])[] | undefined {
  const parts = packedParts(name, entry.shape, storage);
  if (!parts || storage === "float32") return undefined;
  // The factors are read after the words: they are kept from packing to their turn, which spares a second packing.
  let factors: HostArray | undefined;
  const read = async (index: number): Promise<HostArray> => {
    const kept = factors;
    factors = undefined;
    if (index === 1 && kept) return kept;
    // What the file has already needs no way over float32.
    const isPlain = storage === "bf16" && entry.dtype === "BF16";
    const all = isPlain
      ? [packBits(rawValues(await entry.read()) as Uint16Array, entry.shape)]
      : pack(await readFloats(name, entry), storage);
    if (index === 0) factors = all[1];
    return all[index]!;
  };
  return parts.map(({ name: part, shape, dtype }, i) => [part, { shape, dtype, read: () => read(i) }]);
}
