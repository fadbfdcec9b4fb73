// Arrays on several devices: a copy on each, or the rows of a batch divided between them.
import { sizeOf, type DType, type TypedArray } from "../../core/arrays.ts";
import type { PjrtClient } from "./pjrt/client.ts";
import { putNumbers, readNumbers, sendNumbers } from "./transfer.ts";

/** What is divided between devices along its first axis: rows of a batch, or what a program returns as it took it. */
export type Division = "rows" | "shares";

/** Where an array is. */
export interface Placed {
  /** A buffer on each device. */
  readonly handles: readonly bigint[];
  /** Each device has a share; undefined where all have the same numbers. */
  readonly division: Division | undefined;
}

/** To collect smaller arrays again would take longer than to have them everywhere. */
const FEWEST_SHARED = 2 ** 14;

/** Rows that cannot be divided evenly go to all devices: each then computes the whole batch, and the numbers are the same. */
function canDivide(client: PjrtClient, shape: readonly number[]): boolean {
  const [rows = 0] = shape;
  return client.devices > 1 && rows > 0 && rows % client.devices === 0;
}

/** Rows of a batch may still be on their way to the devices when this returns. */
export function placeRows(client: PjrtClient, data: TypedArray, shape: readonly number[], dtype: DType): Placed {
  return placeBy(sendNumbers, client, data, shape, dtype, canDivide(client, shape) ? "rows" : undefined);
}

export function place(client: PjrtClient, data: TypedArray, shape: readonly number[], dtype: DType): Placed {
  return placeBy(putNumbers, client, data, shape, dtype, undefined);
}

export function placeShares(client: PjrtClient, data: TypedArray, shape: readonly number[], dtype: DType): Placed {
  const isShared = sizeOf(shape) >= FEWEST_SHARED && canDivide(client, shape);
  return placeBy(putNumbers, client, data, shape, dtype, isShared ? "shares" : undefined);
}

function placeBy(
  put: typeof putNumbers,
  client: PjrtClient,
  data: TypedArray,
  shape: readonly number[],
  dtype: DType,
  division: Division | undefined,
): Placed {
  const { devices } = client;
  const share = division ? shareOf(shape, devices) : shape;
  const size = sizeOf(share);
  const handles: bigint[] = [];
  try {
    for (let d = 0; d < devices; d++) {
      const own = division ? data.subarray(d * size, (d + 1) * size) : data;
      handles.push(put(client, own, share, dtype, d));
    }
  } catch (error) {
    remove(client, handles);
    throw error;
  }
  return { handles, division };
}

export function readPlaced(
  client: PjrtClient,
  { handles, division }: Placed,
  shape: readonly number[],
  dtype: DType,
): TypedArray {
  if (!division) return readNumbers(client, handles[0]!, shape, dtype);
  const share = shareOf(shape, handles.length);
  const parts = handles.map((handle) => readNumbers(client, handle, share, dtype));
  const whole = new (parts[0]!.constructor as new (length: number) => TypedArray)(sizeOf(shape));
  for (const [i, part] of parts.entries()) whole.set(part, i * part.length);
  return whole;
}

export function remove(client: PjrtClient, handles: readonly bigint[]): void {
  for (const handle of handles) client.destroy(handle);
}

const shareOf = ([rows, ...rest]: readonly number[], devices: number): number[] => [rows! / devices, ...rest];
