// Zip files as PyTorch writes them: entries stored as they are, each one's data at a multiple of 64 bytes.
import { CheckpointError } from "../../core/errors.ts";
import { crc32 } from "../../platform/crc32.ts";

const ALIGNMENT = 64;
const UTF8 = 0x0800;
const encoder = new TextEncoder();

/** A zip file in parts to be written one after the other; the entries' own bytes are not copied. */
export function zipParts(entries: readonly (readonly [name: string, bytes: Uint8Array])[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const central: Uint8Array[] = [];
  let at = 0;
  const add = (part: Uint8Array): void => {
    parts.push(part);
    at += part.length;
  };
  for (const [text, bytes] of entries) {
    const name = encoder.encode(text);
    const crc = crc32(bytes);
    const offset = at;
    const padding = (ALIGNMENT - ((at + 30 + name.length + 4) % ALIGNMENT)) % ALIGNMENT;
    add(localHeader(name, bytes.length, crc, padding));
    add(bytes);
    central.push(centralHeader(name, bytes.length, crc, offset));
  }
  const start = at;
  for (const header of central) add(header);
  // Beyond this, sizes and counts need the 64-bit form of the format.
  if (at >= 0xffffffff || entries.length >= 0xffff) {
    throw new CheckpointError(
      "a .pt file to be written",
      `it would have ${entries.length} entries and ${at} bytes, more than the format holds here (65,534 and 4 GiB)`,
      "Write safetensors instead, which PyTorch reads with safetensors.torch.load_file.",
    );
  }
  parts.push(endRecord(entries.length, start, at - start));
  return parts;
}

/** What the local and the central header have in common, from the flags on. */
function writeCommon(view: DataView, at: number, name: Uint8Array, size: number, crc: number): void {
  view.setUint16(at, UTF8, true);
  // 1 January 1980, the first day that the format has: the same content gives the same bytes.
  view.setUint16(at + 6, 0x21, true);
  view.setUint32(at + 8, crc, true);
  view.setUint32(at + 12, size, true);
  view.setUint32(at + 16, size, true);
  view.setUint16(at + 20, name.length, true);
}

function localHeader(name: Uint8Array, size: number, crc: number, padding: number): Uint8Array {
  const header = new Uint8Array(30 + name.length + 4 + padding);
  const view = new DataView(header.buffer);
  view.setUint32(0, 0x04034b50, true);
  writeCommon(view, 6, name, size, crc);
  view.setUint16(28, 4 + padding, true);
  header.set(name, 30);
  // PyTorch's own field for padding, "FB".
  view.setUint16(30 + name.length, 0x4246, true);
  view.setUint16(32 + name.length, padding, true);
  return header;
}

function centralHeader(name: Uint8Array, size: number, crc: number, offset: number): Uint8Array {
  const header = new Uint8Array(46 + name.length);
  const view = new DataView(header.buffer);
  view.setUint32(0, 0x02014b50, true);
  writeCommon(view, 8, name, size, crc);
  view.setUint32(42, offset, true);
  header.set(name, 46);
  return header;
}

function endRecord(count: number, start: number, size: number): Uint8Array {
  const record = new Uint8Array(22);
  const view = new DataView(record.buffer);
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(8, count, true);
  view.setUint16(10, count, true);
  view.setUint32(12, size, true);
  view.setUint32(16, start, true);
  return record;
}
