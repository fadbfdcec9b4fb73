// An event file, written in the background and in order. A failed write is repeated at the same position.
import { HooklineError, LockLostError } from "../../core/errors.ts";
import { type Builtin, builtin } from "../../platform/builtin.ts";
import type { Fence } from "../../runs/fence.ts";

type FsPromises = Builtin<"node:fs/promises">;
type FileHandle = Awaited<ReturnType<FsPromises["open"]>>;

/** Bytes that may wait for a failing disk. What comes later is lost, and the error says so. */
const MOST_WAITING = 64 * 1024 * 1024;

/** How many files this process has created: the last part of a name. */
let begun = 0;

/** A name that sorts after the others: TensorBoard reads a folder's files in the order of their names. */
export function eventFileName(existing: readonly string[], seconds: number, rest: string): string {
  const times = existing.map((name) => Number(/tfevents\.(\d+)\./.exec(name)?.[1] ?? 0));
  const time = Math.max(Math.floor(seconds), 1 + Math.max(0, ...times));
  return `events.out.tfevents.${String(time).padStart(10, "0")}.${rest}`;
}

export class EventFile {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #fence: Fence | undefined;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #lostBytes = 0;
  /** How many bytes of the first waiting piece are on disk, and where in the file the rest goes. */
  #done = 0;
  #position = 0;
  #writing: Promise<void> | undefined;
  #error: unknown;

  private constructor(path: string, file: FileHandle, fence: Fence | undefined) {
    this.path = path;
    this.#file = file;
    this.#fence = fence;
  }

  /** Continues a file that this process has closed. */
  static async reopen(owner: string, path: string, fence?: Fence): Promise<EventFile> {
    const handle = await builtin(owner, "node:fs/promises").open(path, "r+");
    const file = new EventFile(path, handle, fence);
    file.#position = (await handle.stat()).size;
    return file;
  }

  /** `run` is the part of the name by which a resumed run recognizes its files. */
  static async create(owner: string, folder: string, seconds: number, run: string, fence?: Fence): Promise<EventFile> {
    const fs = builtin(owner, "node:fs/promises");
    const { hostname } = builtin(owner, "node:os");
    const { join } = builtin(owner, "node:path");
    await fs.mkdir(folder, { recursive: true });
    const rest = `${hostname()}.${process.pid}.${begun++}${run}`;
    const path = join(folder, eventFileName(await fs.readdir(folder), seconds, rest));
    return new EventFile(path, await fs.open(path, "wx"), fence);
  }

  /** Whole records, to be written soon. */
  write(records: Uint8Array): void {
    if (records.length === 0) return;
    if (this.#waitingBytes + records.length > MOST_WAITING) {
      this.#lostBytes += records.length;
      return;
    }
    this.#waiting.push(records);
    this.#waitingBytes += records.length;
    // After a failure only `settle` retries; otherwise a full disk would be tried at every step.
    if (this.#error === undefined) this.#start();
  }

  /** Resolves when everything is written; rejects when the disk has failed or fails again. What waits is kept. */
  async settle(): Promise<void> {
    await this.#writing;
    this.#error = undefined;
    this.#start();
    await this.#writing;
    if (this.#error === undefined && this.#lostBytes === 0) return;
    const lost = this.#lostBytes;
    this.#lostBytes = 0;
    const cause = this.#error;
    if (cause instanceof LockLostError) throw cause;
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    const rest =
      cause === undefined ? "" : ` ${this.#waitingBytes} bytes are kept, and the next flush tries to write them again.`;
    const gone = lost > 0 ? ` ${lost} bytes were too many to be kept, and are lost.` : "";
    throw new HooklineError(
      `Could not write ${this.path}${why}.${rest}${gone} Is the disk full, or was it taken away?`,
      {
        cause,
      },
    );
  }

  async close(): Promise<void> {
    try {
      await this.settle();
    } finally {
      await this.#file.close();
    }
  }

  #start(): void {
    if (this.#waiting.length > 0) this.#writing ??= this.#write();
  }

  /** Resolves when nothing waits or the disk fails; never rejects. */
  async #write(): Promise<void> {
    try {
      for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
        this.#fence?.check();
        // Positioned, so that half a record on a full disk is overwritten by the retry.
        const { bytesWritten } = await this.#file.write(first, this.#done, first.length - this.#done, this.#position);
        this.#done += bytesWritten;
        this.#position += bytesWritten;
        if (this.#done < first.length) continue;
        this.#waiting.shift();
        this.#waitingBytes -= first.length;
        this.#done = 0;
      }
    } catch (error) {
      this.#error = error;
    } finally {
      this.#writing = undefined;
    }
  }
}
