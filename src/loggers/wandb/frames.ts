// The frame of `.wandb` files: LevelDB's log in blocks of 32 KiB, with plain CRC-32 where LevelDB has its own.
import { builtin, type Builtin } from "../../platform/builtin.ts";

const BLOCK = 32_768;
/** Checksum (4), length (2), kind (1). */
const HEADER = 7;
const KIND = { full: 1, first: 2, middle: 3, last: 4 } as const;

/** `:W&B`, a magic number, and the version. It counts as the beginning of the first block. */
const FILE_HEADER = Uint8Array.of(0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0);

export class WandbFrames {
  readonly #crc32: Builtin<"node:zlib">["crc32"];
  /** The position within the current block. */
  #at = 0;
  #parts: Uint8Array[] = [];

  constructor() {
    this.#crc32 = builtin("wandb", "node:zlib").crc32;
    this.#push(FILE_HEADER);
  }

  add(record: Uint8Array): void {
    const left = BLOCK - this.#at;
    if (left < HEADER) this.#push(new Uint8Array(left));
    let rest = record;
    for (let first = true; ; first = false) {
      const room = BLOCK - this.#at - HEADER;
      const fits = rest.byteLength <= room;
      this.#frame(rest.subarray(0, room), KIND[first ? (fits ? "full" : "first") : fits ? "last" : "middle"]);
      if (fits) return;
      rest = rest.subarray(room);
    }
  }

  /** What has not been taken yet. */
  take(): Uint8Array[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  #frame(data: Uint8Array, kind: number): void {
    const header = new Uint8Array(HEADER);
    const view = new DataView(header.buffer);
    const start = this.#crc32(Uint8Array.of(kind));
    // Of no bytes at all, zlib forgets what came before.
    view.setUint32(0, data.byteLength === 0 ? start : this.#crc32(data, start), true);
    view.setUint16(4, data.byteLength, true);
    header[6] = kind;
    this.#push(header);
    this.#push(data);
  }

  #push(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#at = (this.#at + bytes.byteLength) % BLOCK;
  }
}
