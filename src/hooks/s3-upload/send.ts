// Uploads one checkpoint: only what is missing, verified on both sides, and the manifest last, as the sign of completeness.
import { type CheckpointSource, type SourceFile, openCheckpoint } from "./checkpoint-source.ts";
import { GoneError } from "./upload-queue.ts";
import { MANIFEST } from "../../checkpoint/manifest.ts";
import { joinedTag, PartReader, tagOf, type Part, type PartSource } from "./part-reader.ts";
import { SendError, withRetries } from "../../net/retry.ts";
import { Bucket, type PartTag, type Stored, loadS3mini } from "./bucket.ts";
import type { SavedCheckpoint, Checkpoints } from "../../core/saving.ts";
import type { S3Target } from "./target.ts";
import { HttpClient } from "../../net/http.ts";

interface SendOptions {
  readonly owner: string;
  readonly bucket: Bucket;
  readonly keyOf: (file: string) => string;
  readonly partSize: number;
  readonly concurrency: number;
  readonly retries: number;
  /** Milliseconds before the first retry. */
  readonly backoff: number;
  readonly signal: AbortSignal;
}

/** S3's limit of parts per file. */
const MOST_PARTS = 10_000;
const MEGABYTE = 1 << 20;
/** For aborting a multipart upload, whose parts would otherwise be stored and billed. */
const ABORT_MS = 1000;

const TYPES: Readonly<Record<string, string>> = { json: "application/json" };
const typeOf = (file: string): string => TYPES[file.split(".").at(-1)!] ?? "application/octet-stream";

class Sender {
  readonly #options: SendOptions;
  /** Buffers of parts, reused. */
  readonly #buffers: ArrayBuffer[] = [];
  #sent = 0;

  constructor(options: SendOptions) {
    this.#options = options;
  }

  /** Resolves to the number of bytes sent. */
  async send({ files, manifest }: CheckpointSource): Promise<number> {
    const text: PartSource = {
      bytes: manifest.byteLength,
      read: async (into, at) => into.set(manifest.subarray(at, at + into.byteLength)),
    };
    const before = await this.#head(MANIFEST);
    if ((await this.#isSame(before, text)) && (await this.#haveSizes(files))) return this.#sent;
    // Another checkpoint has this name: it must not look complete while its files are replaced.
    if (isThere(before)) await this.#removeManifest();
    // Keys that may not read may still be able to delete; if not, nothing can be done.
    else if (before === "unknown") await this.#removeManifest().catch(() => undefined);
    for (const file of files) await this.#named(file.name, () => this.#sendOnce(file));
    await this.#named(MANIFEST, () => this.#sendWhole(MANIFEST, text, undefined));
    return this.#sent;
  }

  get #bucket(): Bucket {
    return this.#options.bucket;
  }
  get #signal(): AbortSignal {
    return this.#options.signal;
  }
  #key(file: string): string {
    return this.#options.keyOf(file);
  }
  #retry<T>(work: () => Promise<T>, signal = this.#signal): Promise<T> {
    const { retries, backoff } = this.#options;
    return withRetries({ retries, backoff, signal }, work);
  }
  #head(file: string): ReturnType<Bucket["head"]> {
    return this.#named(file, () => this.#retry(() => this.#bucket.head(this.#key(file), this.#signal)));
  }
  #removeManifest(): Promise<void> {
    return this.#named(MANIFEST, () => this.#retry(() => this.#bucket.remove(this.#key(MANIFEST), this.#signal)));
  }

  /** Adds the file's name to errors. */
  async #named<T>(file: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof GoneError) throw error;
      throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
    }
  }

  async #haveSizes(files: readonly SourceFile[]): Promise<boolean> {
    for (const { name, open } of files) {
      const [stored, { bytes }] = [await this.#head(name), await open()];
      if (!isThere(stored) || stored.bytes !== bytes) return false;
    }
    return true;
  }

  /** Is the same content stored, as far as the service tells? */
  async #isSame(stored: Known, source: PartSource): Promise<boolean> {
    if (!isThere(stored) || stored.bytes !== source.bytes || stored.md5 === undefined) return false;
    const { owner } = this.#options;
    // A file sent in one piece was not longer than a part.
    const size = stored.md5.includes("-") ? this.#partSize(source.bytes) : Math.max(source.bytes, 1);
    if (size > this.#partSize(source.bytes)) return false;
    const room = (): ArrayBuffer => this.#buffer(size);
    const tag = await tagOf(owner, source, size, stored.md5, room);
    return tag === stored.md5;
  }

  async #sendOnce(file: SourceFile): Promise<void> {
    const source = await file.open();
    const stored = await this.#head(file.name);
    if (await this.#isSame(stored, source)) return;
    if (source.bytes <= this.#options.partSize) return this.#sendWhole(file.name, source, file.sha256);
    try {
      await this.#sendParts(file, source);
    } catch (error) {
      // The joined file differs from what was sent: start over once, if retries are enabled.
      if (!(error instanceof MismatchError) || this.#options.retries === 0) throw error;
      await this.#sendParts(file, source);
    }
  }

  #partSize(bytes: number): number {
    const { partSize } = this.#options;
    if (bytes <= partSize * MOST_PARTS) return partSize;
    return Math.ceil(bytes / MOST_PARTS / MEGABYTE) * MEGABYTE;
  }

  #buffer(size: number): ArrayBuffer {
    const found = this.#buffers.findIndex(({ byteLength }) => byteLength >= size);
    return found < 0 ? new ArrayBuffer(size) : this.#buffers.splice(found, 1)[0]!;
  }

  async #sendWhole(name: string, source: PartSource, sha256: string | undefined): Promise<void> {
    const reader = new PartReader(this.#options.owner, source, Math.max(source.bytes, 1));
    try {
      const part = (await reader.next(this.#buffer(source.bytes)))!;
      if (sha256 !== undefined) checkDigest(reader, sha256);
      await this.#retry(async () => {
        const md5 = await this.#bucket.put(this.#key(name), part.bytes, typeOf(name), this.#signal);
        if (md5 === undefined) await this.#confirm(name, source.bytes);
        else if (md5 !== part.md5) throw new SendError("what arrived is not what was sent", true);
      });
      this.#sent += source.bytes;
      this.#buffers.push(part.bytes.buffer);
    } finally {
      await reader.close();
    }
  }

  async #sendParts({ name, sha256 }: SourceFile, source: PartSource): Promise<void> {
    const reader = new PartReader(this.#options.owner, source, this.#partSize(source.bytes));
    try {
      const id = await this.#retry(() => this.#bucket.begin(this.#key(name), this.#signal));
      await this.#fillParts(name, id, reader, { bytes: source.bytes, sha256 });
    } finally {
      await reader.close();
    }
  }

  /** Sends the parts concurrently and joins them; aborts the upload on failure. */
  async #fillParts(
    name: string,
    id: string,
    reader: PartReader,
    { bytes, sha256 }: { readonly bytes: number; readonly sha256: string },
  ): Promise<void> {
    const { owner, concurrency } = this.#options;
    const key = this.#key(name);
    const failed = new AbortController();
    const signal = AbortSignal.any([this.#signal, failed.signal]);
    const digests: string[] = [];
    const tags: PartTag[] = [];

    /** One of the concurrent senders: sends part after part. */
    const lane = async (): Promise<void> => {
      let room = this.#buffer(reader.partSize);
      for (let part = await reader.next(room); part; part = await reader.next(room)) {
        signal.throwIfAborted();
        tags[part.number - 1] = await this.#retry(() => this.#sendPart(key, id, part, signal), signal);
        digests[part.number - 1] = part.md5;
        this.#sent += part.bytes.byteLength;
        room = part.bytes.buffer;
      }
      this.#buffers.push(room);
    };

    try {
      const lanes = Array.from({ length: Math.min(concurrency, reader.count) }, () =>
        lane().catch((error: unknown) => {
          // The first failure is the reason; the other senders stop.
          if (!failed.signal.aborted) failed.abort(error);
          throw error;
        }),
      );
      await Promise.allSettled(lanes);
      if (failed.signal.aborted) throw failed.signal.reason as Error;
      checkDigest(reader, sha256);
      await this.#join(name, id, tags, { bytes, md5: joinedTag(owner, digests) });
    } catch (error) {
      await this.#bucket.abort(key, id, AbortSignal.timeout(ABORT_MS)).catch(() => undefined);
      throw error;
    }
  }

  async #sendPart(key: string, id: string, { number, bytes, md5 }: Part, signal: AbortSignal): Promise<PartTag> {
    const { tag, md5: got } = await this.#bucket.part(key, id, number, bytes, signal);
    if (got !== undefined && got !== md5)
      throw new SendError(`part ${number}: what arrived is not what was sent`, true);
    return tag;
  }

  async #join(name: string, id: string, tags: readonly PartTag[], expected: Stored): Promise<void> {
    const md5 = await this.#retry(async () => {
      try {
        return await this.#bucket.complete(this.#key(name), id, tags, this.#signal);
      } catch (error) {
        // The parts may have been joined although the response was lost: check what is stored.
        const stored = await this.#bucket.head(this.#key(name), this.#signal).catch(() => "unknown" as const);
        if (!isThere(stored) || stored.bytes !== expected.bytes || stored.md5 !== expected.md5) throw error;
        return stored.md5;
      }
    });
    if (md5 === undefined) await this.#confirm(name, expected.bytes);
    else if (md5 !== expected.md5) throw new MismatchError("what is there is not what was sent");
  }

  /** Without a digest from the service, verifies the stored size. */
  async #confirm(name: string, bytes: number): Promise<void> {
    const stored = await this.#retry(() => this.#bucket.head(this.#key(name), this.#signal));
    // Keys that may not read: trust the service's answer.
    if (stored === "unknown") return;
    if (!isThere(stored)) throw new MismatchError("it was taken, and is not there");
    if (stored.bytes !== bytes) throw new MismatchError(`${stored.bytes} of ${bytes} bytes are there`);
  }
}

/** The service stored something else than it was sent. */
class MismatchError extends SendError {
  constructor(message: string) {
    super(message, true);
  }
}

type Known = Awaited<ReturnType<Bucket["head"]>>;
const isThere = (known: Known): known is Stored => typeof known === "object";

function checkDigest(reader: PartReader, sha256: string): void {
  if (reader.sha256() === sha256) return;
  throw new SendError("its bytes on the disk are not those that were saved", false);
}

const OWNER = "s3Upload";
/** Before the first retry. */
const BACKOFF_MS = 500;

export interface SendHow {
  readonly partSize: number;
  readonly concurrency: number;
  readonly retries: number;
  /** Milliseconds without progress after which a request fails. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/** Uploads what is missing; resolves to the number of bytes sent. */
export async function sendCheckpoint(
  saved: SavedCheckpoint,
  checkpoints: Checkpoints,
  target: S3Target,
  { timeout, ...how }: SendHow,
): Promise<number> {
  const source = await openCheckpoint(saved, checkpoints);
  let transport: HttpClient | undefined;
  try {
    const config = { endpoint: target.url.href, region: target.region, ...target.keys(OWNER) };
    const S3mini = await loadS3mini(OWNER);
    const { url, allowPrivate } = target;
    transport = new HttpClient(OWNER, { url, allowPrivate, timeout, sockets: how.concurrency });
    const bucket = new Bucket(S3mini, config, transport);
    const keyOf = (file: string): string => target.keyOf(saved.runId, saved.name, file);
    return await new Sender({ ...how, owner: OWNER, backoff: BACKOFF_MS, bucket, keyOf }).send(source);
  } finally {
    transport?.close();
    await source.close();
  }
}
