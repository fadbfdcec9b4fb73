// Reads a file in parts, with the digests that verify an upload; large files in a thread of their own.
import { type Builtin, builtin } from "../../platform/builtin.ts";
import { Thread } from "../../platform/thread.ts";

type Crypto = Builtin<"node:crypto">;
type Hash = ReturnType<Crypto["createHash"]>;

/** Where the bytes of a file come from. */
export interface PartSource {
  readonly bytes: number;
  /** The descriptor of a file on disk, for the reading thread. */
  readonly fd?: number;
  /** Fills `into` from `position`; rejects if the file ends before. */
  read(into: Uint8Array, position: number): Promise<void>;
}

export interface Part {
  /** From 1. */
  readonly number: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** In hexadecimal. */
  readonly md5: string;
}

/** To the thread that reads a file: fill the buffer from `position`, and digest it. */
interface PartRequest {
  readonly buffer: ArrayBuffer;
  readonly position: number;
  readonly length: number;
  readonly last: boolean;
}

interface PartAnswer {
  readonly buffer: ArrayBuffer;
  readonly md5: string;
  /** Of the whole file, with its last part. */
  readonly sha256: string | undefined;
}

/**
 * The script of that thread, as a text: a bundler would leave a file behind, and reading and digesting take 4 ms a
 * megabyte, which must not interrupt training. Buffers travel there and back, and are never copied.
 */
const SCRIPT = `
const names = ["node:worker_threads", "node:fs", "node:crypto"];
const [{ workerData }, { readSync }, { createHash }] = names.map((name) => process.getBuiltinModule(name));
const { port, data: { fd } } = workerData;
const whole = createHash("sha256");
function read({ buffer, position, length, last }) {
  const bytes = new Uint8Array(buffer, 0, length);
  for (let at = 0; at < length; ) {
    const got = readSync(fd, bytes, at, length - at, position + at);
    if (got === 0) throw new Error("the file is shorter than it was");
    at += got;
  }
  const md5 = createHash("md5").update(bytes).digest("hex");
  whole.update(bytes);
  return { buffer, md5, sha256: last ? whole.digest("hex") : undefined };
}
port.on("message", ({ id, request, close }) => {
  if (close) process.exit();
  try {
    port.postMessage({ id, answer: read(request) }, [request.buffer]);
  } catch ({ message }) {
    port.postMessage({ id, failure: { kind: "other", message } });
  }
});
`;

/** Read and digested without a pause on this thread: about a millisecond. */
const SLICE = 256 << 10;
/** From this size on, starting a thread pays off. */
const WORTH_A_THREAD = 4 << 20;

export class PartReader {
  readonly count: number;
  readonly partSize: number;
  readonly #source: PartSource;
  readonly #createHash: Crypto["createHash"];
  readonly #sha256: Hash;
  #thread: Thread<PartRequest, PartAnswer> | undefined;
  #threadSha256: string | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #next = 0;

  constructor(owner: string, source: PartSource, partSize: number) {
    this.#source = source;
    this.partSize = partSize;
    this.count = Math.max(1, Math.ceil(source.bytes / partSize));
    this.#createHash = builtin(owner, "node:crypto").createHash;
    this.#sha256 = this.#createHash("sha256");
    const { fd } = source;
    if (fd !== undefined && source.bytes >= WORTH_A_THREAD) this.#thread = startThread(fd);
  }

  /** The next part, in this buffer or its successor from the thread; undefined after the last. Calls may overlap. */
  next(buffer: ArrayBuffer): Promise<Part | undefined> {
    const part = this.#turn.then(() => this.#read(buffer));
    this.#turn = part.catch(() => undefined);
    return part;
  }

  /** Of the whole file, in hexadecimal, once all parts are read. */
  sha256(): string {
    return this.#threadSha256 ?? this.#sha256.digest("hex");
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }

  async #read(buffer: ArrayBuffer): Promise<Part | undefined> {
    if (this.#next >= this.count) return undefined;
    const number = ++this.#next;
    const position = (number - 1) * this.partSize;
    const length = Math.min(this.partSize, this.#source.bytes - position);
    if (this.#thread) {
      const request = { buffer, position, length, last: number === this.count };
      const { buffer: filled, md5, sha256 } = await this.#thread.request(request, [buffer]);
      this.#threadSha256 = sha256;
      return { number, bytes: new Uint8Array(filled, 0, length), md5 };
    }
    const md5 = this.#createHash("md5");
    const bytes = new Uint8Array(buffer, 0, length);
    for (let at = 0; at < length; at += SLICE) {
      const slice = bytes.subarray(at, Math.min(at + SLICE, length));
      await this.#source.read(slice, position + at);
      md5.update(slice);
      this.#sha256.update(slice);
    }
    return { number, bytes, md5: md5.digest("hex") };
  }
}

/** Undefined where threads are not available: then this thread does the work. */
function startThread(fd: number): Thread<PartRequest, PartAnswer> | undefined {
  try {
    return new Thread({ name: "the reading thread", script: { text: SCRIPT }, data: { fd } });
  } catch {
    return undefined;
  }
}

/**
 * The tag that a service gives this file: its digest, or that of its parts' digests. `like` is the tag to compare with;
 * undefined if that one was made from parts of another size.
 */
export async function tagOf(
  owner: string,
  source: PartSource,
  partSize: number,
  like: string,
  buffer: () => ArrayBuffer,
): Promise<string | undefined> {
  const joined = /-(\d+)$/.exec(like);
  const reader = new PartReader(owner, source, partSize);
  try {
    const parts = joined ? Number(joined[1]) : 1;
    if (parts !== reader.count) return undefined;
    const digests: string[] = [];
    let room = buffer();
    for (let part = await reader.next(room); part; part = await reader.next(room)) {
      digests.push(part.md5);
      room = part.bytes.buffer;
    }
    return joined ? joinedTag(owner, digests) : digests[0];
  } finally {
    await reader.close();
  }
}

/** The tag of an S3 object that was joined from parts with these digests. */
export function joinedTag(owner: string, digests: readonly string[]): string {
  const { createHash } = builtin(owner, "node:crypto");
  const hash = createHash("md5");
  for (const digest of digests) hash.update(digest, "hex");
  return `${hash.digest("hex")}-${digests.length}`;
}
