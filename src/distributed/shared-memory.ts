// Memory that all ranks of one host map, so that they add up vectors where they lie: each rank writes its own, adds up its
// part of all of them, and reads the whole sum. Through Open MPI the same takes several times as long: it copies the
// numbers to and fro, and works on them only while it is asked.
import type { Koffi } from "../platform/koffi.ts";
import { builtin, type Builtin } from "../platform/builtin.ts";
import type { Scaling, Strategy } from "./strategy.ts";

const READ_AND_WRITE = 3;
const MAP_SHARED = 1;
const CLOSE_ON_EXEC = 1;
/** Bytes of a cache line. Ranks write to cache lines of their own. */
const LINE = 64;
/** Numbers that are added up at once: few enough to stay in the second cache between the terms. */
const BLOCK = 2 ** 15;
/** Bytes in which the main rank says where the memory is. */
const MESSAGE = 512;
/** Node 20 has no array buffer of more bytes: a view of them would end the process. */
const MOST_BYTES = 2 ** 32;

/** Where the main rank has made the memory, and by what the others recognize it. */
interface Offer {
  readonly machine: string;
  readonly path: string;
  readonly mark: number;
}

const node = <Name extends "node:crypto" | "node:fs" | "node:os" | "node:process">(name: Name): Builtin<Name> =>
  builtin(`Strategy "mpi"`, name);

/**
 * Makes memory for vectors of so many numbers. Undefined, on all ranks alike, where they are on several hosts, or the
 * system has no such memory: only Linux has. Nor for more than an array buffer holds.
 */
export async function shareMemory(
  strategy: Strategy,
  koffi: Koffi,
  capacity: number,
): Promise<SharedMemory | undefined> {
  const { rank, size } = strategy;
  const part = Math.ceil((capacity * 4) / LINE) * LINE;
  const bytes = (size + 1) * (LINE + part);
  const reserved = rank === 0 && bytes <= MOST_BYTES ? reserve(koffi, bytes) : undefined;
  const message = new Uint8Array(MESSAGE);
  if (reserved) new TextEncoder().encodeInto(JSON.stringify(reserved.offer), message);
  await strategy.broadcast(message);
  const offer = new TextDecoder().decode(message).replaceAll("\0", "");
  const memory = offer && mapped(koffi, JSON.parse(offer) as Offer, bytes);
  const isMapped = Float64Array.of(memory ? 1 : 0);
  await strategy.allReduce(isMapped, "min");
  // What is mapped stays until the last of these processes ends, however it ends.
  if (reserved) node("node:fs").closeSync(reserved.file);
  return memory && isMapped[0] === 1 ? new SharedMemory(rank, size, memory, part / 4) : undefined;
}

/** A file without a name that is memory, unlike those of /dev/shm without a limit of its own. */
function reserve(koffi: Koffi, bytes: number): { readonly file: number; readonly offer: Offer } | undefined {
  let file = -1;
  try {
    const { create, fallocate } = nativeCalls(koffi);
    file = create("hookline", CLOSE_ON_EXEC) as number;
    // Without this, the first write to a page that cannot be had ends the process (SIGBUS).
    if (file >= 0 && fallocate(file, 0, bytes) === 0) return { file, offer: offerOf(file) };
  } catch {
    // Another system's C library, or no /proc. The other ranks wait for an answer, so nothing is thrown.
  }
  if (file >= 0) node("node:fs").closeSync(file);
  return undefined;
}

function offerOf(file: number): Offer {
  const mark = node("node:crypto").randomInt(2 ** 47);
  node("node:fs").writeSync(file, new Uint8Array(Float64Array.of(mark).buffer), 0, 8, 0);
  return { machine: thisMachine(), path: `/proc/${node("node:process").pid}/fd/${file}`, mark };
}

/** Where a process id means the same process. Hosts, and containers on one, may have the same name. */
function thisMachine(): string {
  const fs = node("node:fs");
  const boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return [node("node:os").hostname(), boot, fs.readlinkSync("/proc/self/ns/pid")].join(" ");
}

/** Undefined where it cannot be mapped, or is something else: then this is another machine. */
function mapped(koffi: Koffi, { machine, path, mark }: Offer, bytes: number): ArrayBuffer | undefined {
  const fs = node("node:fs");
  let file: number | undefined;
  try {
    if (machine !== thisMachine()) return undefined;
    file = fs.openSync(path, "r+");
    const found = new Float64Array(1);
    fs.readSync(file, new Uint8Array(found.buffer), 0, 8, 0);
    const { mmap, munmap } = nativeCalls(koffi);
    const isIt = found[0] === mark && fs.fstatSync(file).size === bytes;
    const at = isIt ? mmap(0, bytes, READ_AND_WRITE, MAP_SHARED, file, 0) : undefined;
    if (at === undefined || BigInt.asIntN(64, koffi.address(at)) === -1n) return undefined;
    const buffer = koffi.view(at, bytes);
    unmapping.register(buffer, () => void munmap(at, bytes));
    return buffer;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

/** Memory that a larger one has replaced goes when nothing looks at it any more. */
const unmapping = new FinalizationRegistry((unmap: () => void) => unmap());

function nativeCalls(koffi: Koffi) {
  const own = koffi.load(null);
  return {
    create: own.func("memfd_create", "int", ["str", "unsigned int"]),
    fallocate: own.func("posix_fallocate", "int", ["int", "int64_t", "int64_t"]),
    mmap: own.func("mmap", "void *", ["intptr_t", "size_t", "int", "int", "int", "int64_t"]),
    munmap: own.func("munmap", "int", ["void *", "size_t"]),
  };
}

/** Where each thing is in what a rank shows of itself. */
const [MEETINGS, OPERATION, KIND] = [0, 1, 2];

export class SharedMemory {
  readonly capacity: number;
  readonly #rank: number;
  /** What each rank shows of itself. */
  readonly #shown: readonly Int32Array[];
  readonly #vectors: readonly Float32Array[];
  readonly #total: Float32Array;
  readonly #factors = new Float32Array(BLOCK);
  #meetings = 0;

  constructor(rank: number, size: number, memory: ArrayBuffer, capacity: number) {
    this.capacity = capacity;
    this.#rank = rank;
    // The first line has the mark.
    const line = (i: number): Int32Array => new Int32Array(memory, (i + 1) * LINE, LINE / 4);
    const vector = (i: number): Float32Array =>
      new Float32Array(memory, (size + 1) * LINE + i * capacity * 4, capacity);
    this.#shown = Array.from({ length: size }, (_, i) => line(i));
    this.#vectors = this.#shown.map((_, i) => vector(i));
    this.#total = vector(size);
  }

  get own(): Float32Array {
    return this.#vectors[this.#rank]!;
  }

  get total(): Float32Array {
    return this.#total;
  }

  /** This rank begins an operation of all ranks, here or through MPI. */
  show(operation: number, kind: number): void {
    const mine = this.#shown[this.#rank]!;
    Atomics.store(mine, KIND, kind);
    Atomics.store(mine, OPERATION, operation);
  }

  /** This rank has come to the next meeting. */
  come(): void {
    Atomics.store(this.#shown[this.#rank]!, MEETINGS, ++this.#meetings);
  }

  /** Have all ranks come to it? Throws the error when one does something else instead, and so never will. */
  haveAllCome(lost: (rank: number) => Error): boolean {
    const mine = this.#shown[this.#rank]!;
    const [operation, kind] = [mine[OPERATION]!, mine[KIND]!];
    for (const [rank, other] of this.#shown.entries()) {
      if (Atomics.load(other, MEETINGS) >= this.#meetings) continue;
      const at = Atomics.load(other, OPERATION);
      const isElsewhere = at > operation || (at === operation && Atomics.load(other, KIND) !== kind);
      // It may have come, and have gone to its next operation, since the first look.
      if (isElsewhere && Atomics.load(other, MEETINGS) < this.#meetings) throw lost(rank);
      return false;
    }
    return true;
  }

  /** Adds up this rank's part of the first `length` numbers, in the order of the ranks. */
  addPart(length: number, { at, from, factor }: Scaling, combine: Combine): void {
    const [first, ...others] = this.#vectors;
    const part = Math.ceil(length / this.#vectors.length / (LINE / 4)) * (LINE / 4);
    const end = Math.min(length, (this.#rank + 1) * part);
    // As it will be in the total: each rank needs it at once.
    const times = factor(this.#vectors.reduce((sum, vector) => Math.fround(sum + vector[at]!), 0));
    for (let start = this.#rank * part; start < end; start += BLOCK) {
      const stop = Math.min(end, start + BLOCK);
      const total = this.#total.subarray(start, stop);
      total.set(first!.subarray(start, stop));
      for (const other of others) combine("sum", other.subarray(start, stop), total);
      if (from < stop) this.scale(total.subarray(Math.max(0, from - start)), times, combine);
    }
  }

  /** Multiplies the numbers by `factor`. */
  scale(numbers: Float32Array, factor: number, combine: Combine): void {
    if (factor === 1) return;
    const factors = this.#factors.fill(factor, 0, Math.min(numbers.length, BLOCK));
    for (let start = 0; start < numbers.length; start += BLOCK) {
      const block = numbers.subarray(start, start + BLOCK);
      combine("product", factors.subarray(0, block.length), block);
    }
  }
}

/** Adds `from` to `into`, or multiplies, number by number. */
export type Combine = (op: "sum" | "product", from: Float32Array, into: Float32Array) => void;
