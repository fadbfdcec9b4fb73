// Images as PNG files: one chunk of data, no filters.
import { crc32 } from "../platform/crc.ts";
import type { ImageMedia } from "../core/media.ts";
import { builtinOrNone } from "../platform/builtin.ts";
import { concat } from "../core/protobuf.ts";

type Deflate = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const COLOUR_TYPES = { 1: 0, 3: 2, 4: 6 } as const;
/** The most bytes in a block of uncompressed data. */
const STORED = 0xffff;

/** Compressed on a thread of Node's zlib; uncompressed where there is none. */
export async function encodePng(image: ImageMedia, deflate: Deflate = nodeDeflate() ?? store): Promise<Uint8Array> {
  return fileOf(image, await deflate(rowsOf(image)));
}

/** Synchronous, for callers that are on a thread of their own. */
export function encodePngNow(image: ImageMedia): Uint8Array {
  const rows = rowsOf(image);
  return fileOf(image, builtinOrNone("node:zlib")?.deflateSync(rows) ?? store(rows));
}

function rowsOf({ width, height, channels, pixels }: ImageMedia): Uint8Array {
  const row = width * channels;
  // Before each row, the number of its filter: 0 is none.
  const rows = new Uint8Array(height * (row + 1));
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * row, (y + 1) * row), y * (row + 1) + 1);
  return rows;
}

function fileOf({ width, height, channels }: ImageMedia, data: Uint8Array): Uint8Array {
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header[8] = 8;
  header[9] = COLOUR_TYPES[channels];
  return concat([SIGNATURE, chunk("IHDR", header), chunk("IDAT", data), chunk("IEND", new Uint8Array())]);
}

function chunk(type: string, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + content.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, content.length);
  for (let i = 0; i < 4; i++) bytes[4 + i] = type.charCodeAt(i);
  bytes.set(content, 8);
  view.setUint32(8 + content.length, crc32(bytes.subarray(4, 8 + content.length)));
  return bytes;
}

function nodeDeflate(): Deflate | undefined {
  const zlib = builtinOrNone("node:zlib");
  if (!zlib) return undefined;
  return (bytes) =>
    new Promise((resolve, reject) => {
      zlib.deflate(bytes, (error, compressed) => (error ? reject(error) : resolve(compressed)));
    });
}

/** A zlib stream of uncompressed blocks. */
export function store(bytes: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(bytes.length / STORED));
  const stream = new Uint8Array(2 + 5 * blocks + bytes.length + 4);
  const view = new DataView(stream.buffer);
  stream.set([0x78, 0x01]);
  let at = 2;
  for (let block = 0; block < blocks; block++) {
    const content = bytes.subarray(block * STORED, (block + 1) * STORED);
    stream[at] = block === blocks - 1 ? 1 : 0;
    view.setUint16(at + 1, content.length, true);
    view.setUint16(at + 3, ~content.length & 0xffff, true);
    stream.set(content, at + 5);
    at += 5 + content.length;
  }
  view.setUint32(at, adler32(bytes));
  return stream;
}

function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return ((b << 16) | a) >>> 0;
}
