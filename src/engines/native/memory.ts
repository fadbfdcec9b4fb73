// The memory that kernels and matrix products share: one wasm memory, handed out in blocks.
import { EngineError, OptionError } from "../../core/errors.ts";
import { show } from "../../core/options.ts";
import { builtin } from "../../platform/builtin.ts";
import type { Aval } from "../lower/trace.ts";
import { sizeOf } from "../../core/arrays.ts";
import { koffiOrNone } from "../../platform/koffi.ts";
import { type Address, MOST_PAGES, type MemoryKind } from "./wasm/module.ts";

const PAGE = 65_536;
const GIBIBYTE = 2 ** 30;
/** Blocks begin on a cache line, which the matrix library likes. */
const ALIGN = 64;

interface Block {
  readonly at: number;
  readonly bytes: number;
}

const aligned = (bytes: number): number => Math.max(Math.ceil(bytes / ALIGN), 1) * ALIGN;

/** The most GiB that it can have: more than 4 on Node 24 and later. */
export type MostMemory = 4 | 16;

function reserve({ address, isShared: shared }: MemoryKind): WebAssembly.Memory {
  const pages = { initial: 256, maximum: MOST_PAGES[address] };
  try {
    if (address === "i32") return new WebAssembly.Memory({ ...pages, shared });
    const wide = { address, initial: BigInt(pages.initial), maximum: BigInt(pages.maximum), shared };
    return new WebAssembly.Memory(wide as unknown as WebAssembly.MemoryDescriptor);
  } catch (cause) {
    if (cause instanceof TypeError) {
      const way = `Use Node 24 or later, or leave out \`memory: 16\` (HOOKLINE_MEMORY=16).`;
      throw new EngineError(`Engine "native": this version of Node has no memory of more than 4 GiB. ${way}`, {
        cause,
      });
    }
    throw new EngineError(
      `Engine "native": no memory can be reserved. It needs more than 8 GiB of address space, not of memory: see \`ulimit -v\`.`,
      { cause },
    );
  }
}

const VARIABLE = "HOOKLINE_MEMORY";

/** As the engine's option says, else the environment. */
export function memoryWanted(option: number | undefined): MostMemory {
  if (option !== undefined) return checked("NativeEngine: `memory`", option, option);
  const given = builtin(`Engine "native"`, "node:process").env[VARIABLE];
  return given === undefined || given === "" ? 4 : checked(VARIABLE, given, Number(given));
}

function checked(what: string, given: unknown, gibibytes: number): MostMemory {
  if (gibibytes === 4 || gibibytes === 16) return gibibytes;
  throw new OptionError(`${what}: Expected 4 or 16 (GiB), got ${show(given)}`);
}

/** Also where another thread has grown it: then this shows how much there is. */
export function growMemory(memory: WebAssembly.Memory, address: Address, pages: number): void {
  memory.grow((address === "i64" ? BigInt(pages) : pages) as number);
}

export class EngineMemory implements MemoryKind {
  readonly memory: WebAssembly.Memory;
  readonly isShared: boolean;
  readonly address: Address;
  readonly #plain: () => ArrayBuffer;
  /** By address, never side by side: neighbours are one block. */
  #free: Block[] = [];
  readonly #used = new Map<number, number>();
  /** 0 is no address, so that a forgotten one is noticed. */
  #end = ALIGN;

  /** With `alias`, which shows shared memory as a plain buffer, threads can share it. */
  constructor(alias?: PlainAlias, most: MostMemory = memoryWanted(undefined)) {
    this.isShared = alias !== undefined;
    this.address = most === 4 ? "i32" : "i64";
    this.memory = reserve(this);
    this.#plain = plainBuffer(this.memory, alias);
  }

  /** The memory as a buffer that is not shared, which is all that some native code takes. */
  get plain(): ArrayBuffer {
    return this.#plain();
  }

  get bytesInUse(): number {
    return [...this.#used.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** How many bytes it can have. */
  get most(): number {
    return MOST_PAGES[this.address] * PAGE;
  }

  /** How large it is now, in pages of wasm. */
  get pages(): number {
    return this.memory.buffer.byteLength / PAGE;
  }

  /** The address of a new block. */
  allocate(bytes: number): number {
    const size = aligned(bytes);
    const fit = this.#bestFit(size);
    const at = fit ? this.#take(fit, size) : this.#append(size);
    this.#used.set(at, size);
    return at;
  }

  free(at: number): void {
    const bytes = this.#used.get(at);
    if (bytes === undefined) throw new EngineError(`Engine "native": ${at} is not an address in use.`);
    this.#used.delete(at);
    const next = this.#free.findIndex((block) => block.at > at);
    const place = next < 0 ? this.#free.length : next;
    const before = this.#free[place - 1];
    const after = this.#free[place];
    const joinsBefore = before !== undefined && before.at + before.bytes === at;
    const joinsAfter = after !== undefined && at + bytes === after.at;
    const from = joinsBefore ? before.at : at;
    const to = joinsAfter ? after.at + after.bytes : at + bytes;
    this.#free.splice(place - Number(joinsBefore), Number(joinsBefore) + Number(joinsAfter), {
      at: from,
      bytes: to - from,
    });
  }

  /** A view that is good until memory grows: create it for each use. */
  bytes(at: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.memory.buffer, at, length);
  }

  /** The smallest block that is large enough: the large ones stay for large arrays. */
  #bestFit(size: number): Block | undefined {
    let best: Block | undefined;
    for (const block of this.#free) {
      if (block.bytes === size) return block;
      if (block.bytes > size && (best === undefined || block.bytes < best.bytes)) best = block;
    }
    return best;
  }

  #take(block: Block, size: number): number {
    const place = this.#free.indexOf(block);
    const rest = { at: block.at + size, bytes: block.bytes - size };
    this.#free.splice(place, 1, ...(rest.bytes > 0 ? [rest] : []));
    return block.at;
  }

  #append(size: number): number {
    // A free block at the end is the beginning of the new one.
    const last = this.#free.at(-1);
    const at = last && last.at + last.bytes === this.#end ? last.at : this.#end;
    const pages = Math.ceil((at + size - this.memory.buffer.byteLength) / PAGE);
    if (pages > 0) this.#grow(pages);
    if (at !== this.#end) this.#free.pop();
    this.#end = at + size;
    return at;
  }

  #grow(pages: number): void {
    const now = this.pages;
    // By half at a time, so that growing is rare; by what is needed near the end of what there is.
    const wanted = Math.min(Math.max(pages, Math.ceil(now / 2)), MOST_PAGES[this.address] - now);
    try {
      growMemory(this.memory, this.address, Math.max(wanted, pages));
    } catch (cause) {
      const has = `It can have ${this.most / GIBIBYTE} GiB, of which ${Math.round(this.bytesInUse / 2 ** 20)} MiB are in use.`;
      const more = this.address === "i32" ? ", or 16 GiB on Node 24 and later (HOOKLINE_MEMORY=16)" : "";
      throw new EngineError(`Engine "native": out of memory. ${has} Use a smaller batch or model${more}.`, { cause });
    }
  }
}

// Numbers in the engine's memory, as typed arrays.

/** Truth values are whole numbers that are 0 or 1. */
export const ARRAYS = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, bool: Int32Array } as const;

/** Good until memory grows: create it for each use. */
export function viewOf(
  { memory }: EngineMemory,
  at: number,
  { shape, dtype }: Aval,
): Float32Array | Int32Array | Uint32Array {
  return new ARRAYS[dtype](memory.buffer, at, sizeOf(shape));
}

// Shared memory as a plain buffer. The matrix library's binding takes no other; koffi can show any memory as one.

/** A buffer that is not shared, over the same bytes. */
type PlainAlias = (bytes: Uint8Array) => ArrayBuffer;

/** Undefined where koffi is not installed, or cannot do it. */
export function loadAlias(): PlainAlias | undefined {
  const koffi = koffiOrNone();
  if (!koffi) return undefined;
  const alias: PlainAlias = (bytes) => koffi.view(bytes, bytes.byteLength);
  try {
    return isAlias(alias) ? alias : undefined;
  } catch {
    return undefined;
  }
}

/** Does what is written to the one show in the other? */
function isAlias(alias: PlainAlias): boolean {
  const shared = new Uint8Array(new SharedArrayBuffer(64));
  const plain = new Uint8Array(alias(shared));
  shared[5] = 17;
  return plain.length === shared.length && plain[5] === 17;
}

/** The memory as a plain buffer, whatever it is. Shared memory never moves, but it grows: then it is another buffer. */
function plainBuffer(memory: WebAssembly.Memory, alias: PlainAlias | undefined): () => ArrayBuffer {
  if (!alias) return () => memory.buffer;
  let shared = memory.buffer;
  let plain = alias(new Uint8Array(shared));
  return () => {
    if (memory.buffer !== shared) {
      shared = memory.buffer;
      plain = alias(new Uint8Array(shared));
    }
    return plain;
  };
}
