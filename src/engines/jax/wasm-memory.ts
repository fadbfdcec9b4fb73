// Copies arrays out of the memory of jax-js's wasm backend, which by itself hands out copies in fresh memory only: with
// memory that is used again, a snapshot of the parameters costs the training thread a fifth of the time.
import { numpy as np, type Array as JaxArray } from "@jax-js/jax";

interface Look {
  readonly bytes: Uint8Array;
  /** True: a view of the memory itself. False: jax-js had to make a copy. */
  readonly inPlace: boolean;
}

type Slice = (this: Uint8Array, start?: number, end?: number) => Uint8Array;

/** `slice` is the same function for all typed arrays, and lives here. Assigning to it changes no object's shape. */
const typedArrays = Object.getPrototypeOf(Uint8Array.prototype) as { slice: Slice };

const NOTHING = new Uint8Array(0);
const PAGE = 65_536;
/** Of the 4 GiB that there can be: the rest is for what steps and evaluations to come take beyond those so far. */
const ROOM = 3 * 2 ** 30;

/** Bytes of one number; truth values take as many as an int32. */
const WIDTHS: Readonly<Record<string, number>> = { float16: 2, float64: 8 };

/**
 * The bytes of an array, or undefined when they cannot be had without awaiting. In memory that is not shared they are
 * gone as soon as jax-js allocates: use them at once.
 *
 * Where the bytes lie is private to jax-js. But the last thing `dataSync` does is `slice` on a view of just them: for
 * this one call `slice` is ours, takes note of the view, and spares the copy.
 *
 * For arrays that the engine has made: where kernels run in workers, one made from what they still compute is not safe.
 */
export function look(array: JaxArray): Look | undefined {
  const length = array.size * (WIDTHS[array.dtype] ?? 4);
  if (length === 0) return { bytes: NOTHING, inPlace: false };
  let view: Uint8Array | undefined;
  const { slice } = typedArrays;
  const noteView: Slice = function (start, end) {
    const isRead = this instanceof Uint8Array && start === 0 && end === length && this.byteLength >= length;
    // An array that is not computed yet is compiled first; whatever that slices is left alone.
    if (!isRead || !isWasmMemory(this.buffer)) return slice.call(this, start, end);
    view = this.subarray(0, length);
    return NOTHING;
  };
  const references = array.refCount;
  typedArrays.slice = noteView;
  try {
    const { buffer, byteOffset, byteLength } = array.ref.dataSync();
    return view
      ? { bytes: view, inPlace: true }
      : { bytes: new Uint8Array(buffer, byteOffset, byteLength), inPlace: false };
  } catch {
    // Kernels may be running in workers. Any other error comes again from the `read` that follows.
    if (array.refCount > references) array.dispose();
    return undefined;
  } finally {
    typedArrays.slice = slice;
  }
}

const isWasmMemory = ({ byteLength }: ArrayBufferLike): boolean => byteLength > 0 && byteLength % PAGE === 0;

/** False when the array's bytes cannot be had at once. */
export function copyInto(array: JaxArray, into: Uint8Array): boolean {
  const seen = look(array);
  if (!seen) return false;
  if (into.byteLength !== seen.bytes.byteLength) {
    throw new RangeError(`${into.byteLength} bytes were asked for of an array of ${seen.bytes.byteLength}`);
  }
  into.set(seen.bytes);
  return true;
}

/**
 * Lets these be read where they lie as long as they are held. Steps then cannot use their room for what they make, and
 * running out of memory would cost the run: undefined when it might come to that, or when they cannot be looked at.
 */
export function lend(arrays: readonly JaxArray[]): ((array: JaxArray) => Uint8Array) | undefined {
  let bytes = 0;
  let memory = 0;
  /** Constants, which are in no memory. */
  const copies = new Map<JaxArray, Uint8Array>();
  for (const array of arrays) {
    // One that is not computed yet is now, so that looking again moves nothing.
    const seen = look(array);
    if (!seen) return undefined;
    if (!seen.inPlace) copies.set(array, seen.bytes);
    else memory = Math.max(memory, seen.bytes.buffer.byteLength);
    bytes += seen.bytes.byteLength;
  }
  return memory + bytes <= ROOM ? (array) => copies.get(array) ?? look(array)!.bytes : undefined;
}

/** Tries it out on a known array: `look` rests on how jax-js is written, and another version may be written otherwise. */
export function canLook(): boolean {
  const known = Float32Array.from({ length: 300 }, (_, i) => i / 7);
  const array = np.array(known, { device: "wasm" });
  try {
    const seen = look(array);
    if (!seen?.inPlace || seen.bytes.byteLength !== known.byteLength || array.refCount !== 1) return false;
    const numbers = new Float32Array(seen.bytes.buffer, seen.bytes.byteOffset, known.length);
    return numbers.every((value, i) => value === known[i]);
  } catch {
    // Where the language's own objects are frozen, `slice` cannot be ours.
    return false;
  } finally {
    array.dispose();
  }
}
