// Host memory that a device reads by itself: batches go through it, and the few numbers that each step brings. They are copied
// there, the call returns, and the place is used again when the device has them. From other memory the call would wait until
// the device has them, which is when the step before has ended: the device would then wait for the next step's program.
//
// XLA's GPU client begins a transfer when the programs that were started before its array was made have ended. So the numbers
// are on the GPU no earlier than the step before has ended; arrays made ahead of that step would be needed for more.
import type { PjrtApi } from "./api.ts";

/** Part of an array buffer; its numbers must stay until `busy` has happened. */
export interface PinnedPlace {
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  readonly address: bigint;
  /** The event of the last transfer from here; 0 when there is none. */
  busy: bigint;
}

/** All places together: pinned memory is taken from everybody else. */
const MOST_BYTES = 2 ** 28;
/** Of one size and device: an array that is computed with, those on their way, and the next one. */
const PLACES = 4;
/** Small ones are several in a step, and few steps take less time than a save or a read. */
const SMALL_PLACES = 32;
const SMALL = 2 ** 16;
/** No two places share a page, which could not be pinned twice. */
const PAGE = 4096;

export class PinnedMemory {
  readonly #api: PjrtApi;
  readonly #client: bigint;
  readonly #devices: number;
  /** By size, a power of 2. The first is the one that was used longest ago. */
  readonly #places = new Map<number, PinnedPlace[]>();
  #bytes = 0;
  #canPin: boolean;

  constructor(api: PjrtApi, client: bigint, devices: number) {
    this.#api = api;
    this.#client = client;
    this.#devices = devices;
    this.#canPin = api.has("Client_DmaMap") && api.has("Client_DmaUnmap");
  }

  /** A place that may be written to. Undefined where there is no room, and where memory cannot be pinned. */
  place(bytes: number): PinnedPlace | undefined {
    if (bytes === 0 || !this.#canPin) return undefined;
    const size = Math.max(PAGE, 2 ** Math.ceil(Math.log2(bytes)));
    const most = (size <= SMALL ? SMALL_PLACES : PLACES) * this.#devices;
    let places = this.#places.get(size);
    if (!places) this.#places.set(size, (places = []));
    const place = (places.length < most && this.#pinned(size)) || places.shift();
    if (!place) return undefined;
    places.push(place);
    this.#wait(place);
    return place;
  }

  #pinned(size: number): PinnedPlace | undefined {
    if (!this.#canPin || this.#bytes + size > MOST_BYTES) return undefined;
    const { koffi } = this.#api;
    const buffer = new ArrayBuffer(size + PAGE);
    const begin = koffi.address(buffer);
    const byteOffset = Number(-begin & BigInt(PAGE - 1));
    const address = begin + BigInt(byteOffset);
    try {
      this.#api.call("Client_DmaMap", this.#api.struct(this.#client, address, size));
    } catch {
      // Not every device can, and the system may limit it: batches then go as other arrays do.
      this.#canPin = false;
      return undefined;
    }
    this.#bytes += size;
    return { buffer, byteOffset, address, busy: 0n };
  }

  /** A transfer that failed is reported by the program that takes the array. */
  #wait(place: PinnedPlace): void {
    const event = place.busy;
    place.busy = 0n;
    try {
      this.#api.await(event);
    } catch {
      return;
    }
  }

  close(): void {
    for (const place of [...this.#places.values()].flat()) {
      this.#wait(place);
      this.#api.call("Client_DmaUnmap", this.#api.struct(this.#client, place.address));
    }
    this.#places.clear();
  }
}
