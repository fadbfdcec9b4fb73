// Zip files with uncompressed entries, as PyTorch writes them. Reading is so strict that no two readers could see
// different contents in one file. Compressed entries are refused (torch.save never compresses), so that no file unpacks
// to more than its own size.
import { crc32 } from "../../../platform/crc.ts";
import { quote, type BadFile } from "../tensor.ts";
import { CheckpointError } from "../../../core/errors.ts";

const [LOCAL, CENTRAL, END, END64, LOCATOR64, DESCRIPTOR] = [
  0x04034b50, 0x02014b50, 0x06054b50, 0x06064b50, 0x07064b50, 0x08074b50,
] as const;
const [HAS_DESCRIPTOR, UTF8] = [0x0008, 0x0800];
const MAX32 = 0xffffffff;

interface Entry {
  readonly name: string;
  readonly flags: number;
  readonly crc: number;
  readonly size: number;
  readonly offset: number;
}

/** The entries of a zip file. Their bytes are views, compared with their checksum in `get`. */
export class ZipFile {
  readonly #entries = new Map<string, { readonly bytes: Uint8Array; readonly crc: number }>();
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #bad: BadFile;

  constructor(bytes: Uint8Array, bad: BadFile) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#bad = bad;
    const { start, end, count } = this.#directory();
    const entries = this.#readDirectory(start, end, count).toSorted((a, b) => a.offset - b.offset);
    // Entries must fill the file from its first byte to the directory: no overlaps and nothing hidden between them.
    let at = 0;
    for (const [i, entry] of entries.entries()) {
      if (entry.offset !== at) throw bad(`its entry ${quote(entry.name)} is not where the one before ends`);
      at = this.#readEntry(entry, entries[i + 1]?.offset ?? start);
    }
    if (at !== start) throw bad("it has bytes between its entries and its directory");
  }

  get names(): string[] {
    return [...this.#entries.keys()];
  }

  /** The bytes of an entry, or undefined when there is none of this name. */
  get(name: string): Uint8Array | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    if (crc32(entry.bytes) === entry.crc) return entry.bytes;
    throw this.#bad(
      `the bytes of its entry ${quote(name)} do not match their checksum`,
      "It is damaged, or was saved after torch.serialization.set_crc32_options(False): use another copy, or save it again with checksums.",
    );
  }

  /** Where the directory is, from the record at the very end and, in large files and PyTorch's, the 64-bit one before it. */
  #directory(): { start: number; end: number; count: number } {
    const view = this.#view;
    const last = this.#bytes.length - 22;
    if (last < 0 || view.getUint32(last, true) !== END || view.getUint16(last + 20, true) !== 0)
      throw this.#bad("it does not end as a zip file does");
    const disks = view.getUint32(last + 4, true);
    const [count, start] = [view.getUint16(last + 10, true), view.getUint32(last + 16, true)];
    const small = { start, count, size: view.getUint32(last + 12, true), end: last };
    const has64 = last >= 76 && view.getUint32(last - 20, true) === LOCATOR64;
    const { size, ...found } = has64 ? this.#directory64(last - 20, small) : small;
    if (disks !== 0 || view.getUint16(last + 8, true) !== count || found.start + size !== found.end)
      throw this.#bad("the record at its end contradicts itself");
    return found;
  }

  #directory64(locator: number, small: { start: number; count: number; size: number }) {
    const view = this.#view;
    const record = locator - 56;
    if (
      this.#uint64(locator + 8) !== record ||
      view.getUint32(record, true) !== END64 ||
      this.#uint64(record + 4) !== 44
    )
      throw this.#bad("its 64-bit end record is not where it should be");
    const [count, size, start] = [this.#uint64(record + 32), this.#uint64(record + 40), this.#uint64(record + 48)];
    const agrees = (short: number, long: number, most: number): boolean => short === long || short === most;
    if (
      this.#uint64(record + 24) !== count ||
      !agrees(small.count, count, 0xffff) ||
      !agrees(small.size, size, MAX32) ||
      !agrees(small.start, start, MAX32)
    )
      throw this.#bad("its two end records contradict each other");
    return { start, count, size, end: record };
  }

  #readDirectory(start: number, end: number, count: number): Entry[] {
    const entries: Entry[] = [];
    let at = start;
    while (at < end) {
      const [entry, next] = this.#readCentral(at, end);
      entries.push(entry);
      at = next;
    }
    if (at !== end || entries.length !== count)
      throw this.#bad(`its directory has ${entries.length} entries, not ${count} as it says`);
    return entries;
  }

  #readCentral(at: number, end: number): [Entry, next: number] {
    const view = this.#view;
    if (at + 46 > end || view.getUint32(at, true) !== CENTRAL) throw this.#bad("its directory is broken");
    const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
    const [nameLength, extraLength] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true)];
    const next = at + 46 + nameLength + extraLength;
    if (next > end || view.getUint32(at + 32, true) !== 0) throw this.#bad("its directory is broken");
    const name = this.#name(at + 46, nameLength);
    if ((flags & ~(HAS_DESCRIPTOR | UTF8)) !== 0)
      throw this.#bad(`its entry ${quote(name)} is encrypted or otherwise special`);
    if (method !== 0) {
      throw this.#bad(
        `its entry ${quote(name)} is compressed`,
        "torch.save does not compress: unpack the file and save it again with torch.save.",
      );
    }
    const fields = [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)];
    const [size, stored, offset] = this.#widen(fields, at + 46 + nameLength, extraLength) as [number, number, number];
    if (size !== stored) throw this.#bad(`its entry ${quote(name)} has two sizes, ${stored} and ${size}`);
    return [{ name, flags, crc: view.getUint32(at + 16, true), size, offset }, next];
  }

  /** Fields that are all ones have their value in the extra field 1, in this order, eight bytes each. */
  #widen(fields: readonly number[], from: number, length: number): number[] {
    if (!fields.includes(MAX32)) return [...fields];
    for (let at = from; at + 4 <= from + length;) {
      const [id, size] = [this.#view.getUint16(at, true), this.#view.getUint16(at + 2, true)];
      let value = at + 4;
      at = value + size;
      if (id !== 1 || at > from + length) continue;
      const wide = fields.map((field) => (field === MAX32 && value + 8 <= at ? this.#uint64((value += 8) - 8) : field));
      if (value === at) return wide;
    }
    throw this.#bad("its directory lacks a 64-bit size");
  }

  /** Checks an entry's local header and what follows its data; returns where the next entry must begin. */
  #readEntry({ name, flags, crc, size, offset }: Entry, next: number): number {
    const view = this.#view;
    const wrong = () => this.#bad(`its entry ${quote(name)} differs from what the directory says of it`);
    if (offset + 30 > next || view.getUint32(offset, true) !== LOCAL) throw wrong();
    const nameLength = view.getUint16(offset + 26, true);
    const data = offset + 30 + nameLength + view.getUint16(offset + 28, true);
    const end = data + size;
    if (end > next || this.#name(offset + 30, nameLength) !== name) throw wrong();
    if (view.getUint16(offset + 6, true) !== flags || view.getUint16(offset + 8, true) !== 0) throw wrong();
    const later = (flags & HAS_DESCRIPTOR) !== 0;
    for (const [field, value] of [
      [14, crc],
      [18, size],
      [22, size],
    ] as const) {
      const local = view.getUint32(offset + field, true);
      // With a descriptor they come after the data and are zero here; 64-bit sizes are all ones here.
      const absent = (later && local === 0) || (field !== 14 && local === MAX32);
      if (local !== value && !absent) throw wrong();
    }
    if (later && !this.#isDescriptor(end, next - end, crc, size)) throw wrong();
    if (this.#entries.has(name)) throw this.#bad(`it has two entries named ${quote(name)}`);
    this.#entries.set(name, { bytes: this.#bytes.subarray(data, end), crc });
    return later ? next : end;
  }

  /** What follows the data: an optional signature, the checksum, and the size twice in four or eight bytes. */
  #isDescriptor(at: number, length: number, crc: number, size: number): boolean {
    const signed = length === 16 || length === 24;
    if (!signed && length !== 12 && length !== 20) return false;
    const view = this.#view;
    if (signed && view.getUint32(at, true) !== DESCRIPTOR) return false;
    const from = signed ? at + 4 : at;
    const wide = length >= 20;
    const read = (field: number): number => (wide ? this.#uint64(field) : view.getUint32(field, true));
    return view.getUint32(from, true) === crc && read(from + 4) === size && read(from + (wide ? 12 : 8)) === size;
  }

  /** Names are only looked up, never opened. Names that would be paths elsewhere are refused all the same. */
  #name(at: number, length: number): string {
    let name = "";
    try {
      name = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.#bytes.subarray(at, at + length));
    } catch {
      // Refused below.
    }
    const isOdd = (part: string): boolean => part === "" || part === "." || part === "..";
    if (name.length > 400 || /[\\:\p{Cc}]/u.test(name) || name.split("/").some(isOdd))
      throw this.#bad(`it has an entry with the name ${quote(name)}`);
    return name;
  }

  #uint64(at: number): number {
    const value = this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32;
    // Larger than any file; a safe integer keeps comparisons exact.
    return Number.isSafeInteger(value) ? value : Number.MAX_SAFE_INTEGER;
  }
}

/** Where each entry's data begins, as PyTorch has it. */
const ALIGNMENT = 64;
const encoder = new TextEncoder();

/** A zip file as chunks to be written in order. The entries' own bytes are not copied. */
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

/** The fields that local and central headers share, from the flags on. */
function writeCommon(view: DataView, at: number, name: Uint8Array, size: number, crc: number): void {
  view.setUint16(at, UTF8, true);
  // 1 January 1980, the first date of the format: the same content always gives the same bytes.
  view.setUint16(at + 6, 0x21, true);
  view.setUint32(at + 8, crc, true);
  view.setUint32(at + 12, size, true);
  view.setUint32(at + 16, size, true);
  view.setUint16(at + 20, name.length, true);
}

function localHeader(name: Uint8Array, size: number, crc: number, padding: number): Uint8Array {
  const header = new Uint8Array(30 + name.length + 4 + padding);
  const view = new DataView(header.buffer);
  view.setUint32(0, LOCAL, true);
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
  view.setUint32(0, CENTRAL, true);
  writeCommon(view, 8, name, size, crc);
  view.setUint32(42, offset, true);
  header.set(name, 46);
  return header;
}

function endRecord(count: number, start: number, size: number): Uint8Array {
  const record = new Uint8Array(22);
  const view = new DataView(record.buffer);
  view.setUint32(0, END, true);
  view.setUint16(8, count, true);
  view.setUint16(10, count, true);
  view.setUint32(12, size, true);
  view.setUint32(16, start, true);
  return record;
}
