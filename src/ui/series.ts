// HLS1, the format in which curves travel: `u32 magic | u32 header bytes | header (JSON, padded to 8) | Float64 …`, all
// little-endian. Numbers are Float64, so that NaN and the infinities arrive as they were logged, and need no parsing.
import type { SeriesHeader } from "./wire.ts";

export const SERIES_TYPE = "application/vnd.hookline.series";

/** `HLS1`. */
const MAGIC = 0x31534c48;
const PREFIX = 8;

/** One curve; `smooth` when it was requested. All arrays are of one length. */
export interface SeriesData extends Omit<SeriesHeader, "x" | "y" | "smooth" | "n"> {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly smooth?: Float64Array | undefined;
}

export function encodeSeries(all: readonly SeriesData[]): Uint8Array<ArrayBuffer> {
  const arrays: Float64Array[] = [];
  let bytes = 0;
  const place = (array: Float64Array): number => {
    const at = bytes;
    arrays.push(array);
    bytes += array.byteLength;
    return at;
  };
  const series = all.map(({ x, y, smooth, ...about }): SeriesHeader => ({
    ...about,
    n: x.length,
    x: place(x),
    y: place(y),
    ...(smooth && { smooth: place(smooth) }),
  }));
  const json = new TextEncoder().encode(JSON.stringify({ series }));
  const headerBytes = Math.ceil(json.length / 8) * 8;
  const encoded = new Uint8Array(PREFIX + headerBytes + bytes);
  const view = new DataView(encoded.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, headerBytes, true);
  encoded.fill(0x20, PREFIX, PREFIX + headerBytes);
  encoded.set(json, PREFIX);
  let at = PREFIX + headerBytes;
  for (const array of arrays) {
    writeNumbers(encoded, at, array);
    at += array.byteLength;
  }
  return encoded;
}

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

function writeNumbers(into: Uint8Array<ArrayBuffer>, at: number, array: Float64Array): void {
  if (isLittleEndian) return new Float64Array(into.buffer, at, array.length).set(array);
  const view = new DataView(into.buffer, at);
  return array.forEach((value, i) => view.setFloat64(8 * i, value, true));
}

/** Throws a plain error when the bytes are not in this format. The arrays share the memory of `bytes` where they can. */
export function decodeSeries(bytes: ArrayBuffer): SeriesData[] {
  const view = new DataView(bytes);
  if (bytes.byteLength < PREFIX || view.getUint32(0, true) !== MAGIC) throw new Error("These are no series (HLS1).");
  const start = PREFIX + view.getUint32(4, true);
  const text = new TextDecoder().decode(new Uint8Array(bytes, PREFIX, start - PREFIX));
  const { series } = JSON.parse(text) as { readonly series: readonly SeriesHeader[] };
  return series.map(({ n, x, y, smooth, ...about }) => {
    const numbers = (at: number): Float64Array => readNumbers(bytes, start + at, n);
    return {
      ...about,
      x: numbers(x),
      y: numbers(y),
      ...(smooth !== undefined && { smooth: numbers(smooth) }),
    };
  });
}

function readNumbers(bytes: ArrayBuffer, at: number, n: number): Float64Array {
  if (isLittleEndian) return new Float64Array(bytes, at, n);
  const view = new DataView(bytes, at);
  return Float64Array.from({ length: n }, (_, i) => view.getFloat64(8 * i, true));
}
