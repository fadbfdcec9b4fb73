// Memory for snapshots, used again from save to save: fresh memory costs several times what copying into it does.
import { sharedBytes } from "../../checkpoint/store.ts";

/** Tensors begin at multiples of this, so that any number type can be read in place. */
const ALIGN = 8;

export class SnapshotMemory {
  #block: Uint8Array = new Uint8Array(0);
  #used = 0;

  /** Begins a snapshot of so many bytes; what earlier ones took is overwritten. */
  begin(bytes: number, tensors: number): void {
    const needed = bytes + tensors * ALIGN;
    if (this.#block.byteLength < needed) this.#block = sharedBytes(needed);
    this.#used = 0;
  }

  take(bytes: number): Uint8Array {
    const taken = this.#block.subarray(this.#used, this.#used + bytes);
    this.#used += Math.ceil(bytes / ALIGN) * ALIGN;
    return taken;
  }
}
