// Numbers on their way between host and device. A bool is a byte there, and an int32 that is 0 or 1 here.
import { sizeOf, type DType, type TypedArray } from "../../core/arrays.ts";
import type { PjrtClient } from "./pjrt/client.ts";

const ARRAYS = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, bool: Uint8Array } as const;

/** What each step brings beside its batch, such as a learning rate, is no larger; and it must not be waited for either. */
const FEW_BYTES = 2 ** 12;

export function putNumbers(
  client: PjrtClient,
  data: TypedArray,
  shape: readonly number[],
  dtype: DType,
  device: number,
): bigint {
  const Kind = ARRAYS[dtype];
  if (data.length * Kind.BYTES_PER_ELEMENT <= FEW_BYTES) return sendNumbers(client, data, shape, dtype, device);
  return putNow(client, data, shape, dtype, device);
}

/** Rows of a batch: they are on their way when this returns, and the array may be written to again. */
export function sendNumbers(
  client: PjrtClient,
  data: TypedArray,
  shape: readonly number[],
  dtype: DType,
  device: number,
): bigint {
  const Kind = ARRAYS[dtype];
  const place = client.pinned.place(data.length * Kind.BYTES_PER_ELEMENT);
  if (!place) return putNow(client, data, shape, dtype, device);
  const into = new Kind(place.buffer, place.byteOffset, data.length);
  if (dtype === "bool") for (let i = 0; i < data.length; i++) into[i] = data[i] === 0 ? 0 : 1;
  else into.set(data);
  return client.send(place, shape, dtype, device);
}

function putNow(client: PjrtClient, data: TypedArray, shape: readonly number[], dtype: DType, device: number): bigint {
  const Kind = ARRAYS[dtype];
  if (dtype === "bool") {
    const bytes = Uint8Array.from(data, (value) => Number(value !== 0));
    return client.put(bytes, shape, dtype, device);
  }
  // Shared memory has no address that may be passed on while others write to it.
  const isReady = data instanceof Kind && !(data.buffer instanceof SharedArrayBuffer);
  return client.put(isReady ? data : Kind.from(data), shape, dtype, device);
}

export function readNumbers(client: PjrtClient, buffer: bigint, shape: readonly number[], dtype: DType): TypedArray {
  const data = new ARRAYS[dtype](sizeOf(shape));
  client.read(buffer, new Uint8Array(data.buffer));
  return dtype === "bool" ? Int32Array.from(data) : data;
}
