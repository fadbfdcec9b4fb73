// Checkpoints that wait for their upload: one at a time, in order, and what a newer one replaces need not wait.
import type { SavedCheckpoint } from "../../core/saving.ts";

/** The checkpoint is not there any longer: others decide what is kept. */
export class GoneError extends Error {
  override name = "GoneError";
}

export interface UploadQueueOptions {
  /** Sends one, and says how many bytes went out; must give up when `signal` is aborted. */
  readonly upload: (saved: SavedCheckpoint, signal: AbortSignal) => Promise<number>;
  /** One is no longer needed here, whether it has arrived or not. */
  readonly done: (saved: SavedCheckpoint) => void;
  /** One has not, and why; said as it happens. */
  readonly warn: (message: string) => void;
}

/** Written again and again, so that the next one makes up for it; anything else was saved for a reason. */
export const isReplaceable = ({ reason }: SavedCheckpoint): boolean => reason === "interval" || reason === "last";
/** A service that is dead for a day must not fill the memory. */
const LIMIT = 256;

export class UploadQueue {
  uploaded = 0;
  failed = 0;
  /** Not sent because a newer one came, or because others had removed it. */
  dropped = 0;
  bytes = 0;
  readonly #options: UploadQueueOptions;
  readonly #waiting: SavedCheckpoint[] = [];
  readonly #unsent: string[] = [];
  readonly #end = new AbortController();
  #running: SavedCheckpoint | undefined;
  #working: Promise<void> | undefined;
  #lastWarning = "";
  #lastProblem = "";
  #saidDropped = false;

  constructor(options: UploadQueueOptions) {
    this.#options = options;
  }

  push(saved: SavedCheckpoint): void {
    // Saved again under its name: the earlier one is no longer there.
    const same = this.#waiting.findIndex(({ name }) => name === saved.name);
    if (same >= 0) this.#waiting.splice(same, 1);
    const old = this.#waiting.findIndex(isReplaceable);
    if (old >= 0) this.#drop(this.#waiting.splice(old, 1)[0]!);
    if (this.#waiting.length >= LIMIT) this.#drop(this.#waiting.shift()!);
    this.#waiting.push(saved);
    this.#working ??= this.#work();
  }

  /** Waits until all are sent, at most so many milliseconds. */
  async idle(ms: number): Promise<void> {
    if (this.#working === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => void (timer = setTimeout(resolve, Math.max(0, ms))));
    await Promise.race([this.#working, late]);
    clearTimeout(timer);
  }

  /** Breaks off what is under way; nothing is left behind. */
  async close(): Promise<void> {
    this.#end.abort();
    await this.#working;
  }

  /** What went wrong, in words, or undefined. */
  get problem(): string | undefined {
    const parts = [
      this.failed > 0 && `${this.failed} failed${this.#lastProblem === "" ? "" : ` (the last: ${this.#lastProblem})`}`,
      this.#unsent.length > 0 && `${this.#unsent.join(", ")} not sent before the run was over`,
      this.dropped > 0 && `${this.dropped} left out, since a newer one came or they had been removed`,
    ].filter((part) => part !== false);
    const all = this.uploaded + this.failed + this.dropped + this.#unsent.length;
    return parts.length === 0 ? undefined : `of ${all} checkpoints ${this.uploaded} arrived; ${parts.join("; ")}`;
  }

  /** Is it more than what was left out on purpose? */
  get lost(): boolean {
    return this.failed + this.#unsent.length > 0;
  }

  #drop(saved: SavedCheckpoint): void {
    const { name } = saved;
    this.#options.done(saved);
    this.dropped++;
    if (this.#saidDropped) return;
    this.#saidDropped = true;
    const busy = this.#running === undefined ? "" : ` while ${this.#running.name} is on its way`;
    this.#options.warn(`${name} is left out, since a newer one waits${busy}. Saves come faster than uploads`);
  }

  async #work(): Promise<void> {
    for (let saved = this.#waiting.shift(); saved; saved = this.#waiting.shift()) {
      if (this.#end.signal.aborted) {
        this.#unsent.push(saved.name);
        this.#options.done(saved);
        continue;
      }
      this.#running = saved;
      await this.#upload(saved);
      this.#running = undefined;
      this.#options.done(saved);
    }
    this.#working = undefined;
  }

  async #upload(saved: SavedCheckpoint): Promise<void> {
    try {
      this.bytes += await this.#options.upload(saved, this.#end.signal);
      this.uploaded++;
    } catch (error) {
      // It stands within sentences.
      const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
      if (this.#end.signal.aborted) this.#unsent.push(saved.name);
      else if (error instanceof GoneError) {
        this.dropped++;
        this.#options.warn(`${saved.name} is not sent: ${reason}`);
      } else {
        this.failed++;
        this.#lastProblem = reason;
        // The same again and again is said once, and counted.
        if (reason !== this.#lastWarning) this.#options.warn(`${saved.name} was not sent: ${reason}`);
        this.#lastWarning = reason;
      }
    }
  }
}
