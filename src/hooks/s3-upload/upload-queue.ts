// Checkpoints that wait for their upload: one at a time, in order; one that a newer one replaces is left out.
import type { SavedCheckpoint } from "../../core/saving.ts";
import { Outbox, type Outcome } from "../../net/outbox.ts";

/** The checkpoint was removed: other hooks decide what is kept. */
export class GoneError extends Error {
  override name = "GoneError";
}

export interface UploadQueueOptions {
  /** Uploads one and resolves to the bytes that it sent; must give up when `signal` is aborted. */
  readonly upload: (saved: SavedCheckpoint, signal: AbortSignal) => Promise<number>;
  /** Called when a checkpoint is no longer needed here, whether it has arrived or not. */
  readonly done: (saved: SavedCheckpoint) => void;
  /** Called when one has not arrived, with the reason. */
  readonly warn: (message: string) => void;
}

/** Saved regularly, so the next one makes up for it; any other checkpoint was saved for a reason. */
export const isReplaceable = ({ reason }: SavedCheckpoint): boolean => reason === "interval" || reason === "last";
/** A service that is down for a day must not fill the memory. */
const LIMIT = 256;

export class UploadQueue {
  uploaded = 0;
  failed = 0;
  /** Not sent because a newer one came, or because it had been removed. */
  dropped = 0;
  bytes = 0;
  readonly #options: UploadQueueOptions;
  readonly #outbox: Outbox<SavedCheckpoint>;
  readonly #unsent: string[] = [];
  #lastWarning = "";
  #lastProblem = "";
  #hasWarnedOfDrops = false;

  constructor(options: UploadQueueOptions) {
    this.#options = options;
    this.#outbox = new Outbox({
      send: async (saved, signal) => {
        this.bytes += await options.upload(saved, signal);
      },
      limit: LIMIT,
      // An upload retries its requests itself.
      retries: 0,
      backoff: 0,
      onSettled: (saved, outcome) => this.#settled(saved, outcome),
    });
  }

  push(saved: SavedCheckpoint): void {
    // Saved again under the same name: the earlier one no longer exists.
    this.#outbox.remove(({ name }) => name === saved.name);
    for (const old of this.#outbox.remove(isReplaceable)) this.#settled(old, "dropped");
    this.#outbox.push(saved);
  }

  /** Waits until all are sent, at most so many milliseconds. */
  idle(ms: number): Promise<void> {
    return this.#outbox.idle(ms);
  }

  /** Aborts what is under way; nothing is left behind. */
  async close(): Promise<void> {
    this.#outbox.abort();
    await this.#outbox.close();
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

  #settled(saved: SavedCheckpoint, outcome: Outcome): void {
    this.#options.done(saved);
    if (outcome === "sent") this.uploaded++;
    else if (outcome === "dropped") this.#warnOfDrop(saved);
    else if (outcome === "unsent" || this.#outbox.isOver) this.#unsent.push(saved.name);
    else this.#warnOfFailure(saved, outcome);
  }

  #warnOfDrop({ name }: SavedCheckpoint): void {
    this.dropped++;
    if (this.#hasWarnedOfDrops) return;
    this.#hasWarnedOfDrops = true;
    const { sending } = this.#outbox;
    const busy = sending === undefined ? "" : ` while ${sending.name} is on its way`;
    this.#options.warn(`${name} is left out, since a newer one waits${busy}. Saves come faster than uploads`);
  }

  #warnOfFailure({ name }: SavedCheckpoint, error: Error): void {
    // It stands within sentences.
    const reason = error.message.replace(/\.$/, "");
    if (error instanceof GoneError) {
      this.dropped++;
      this.#options.warn(`${name} is not sent: ${reason}`);
      return;
    }
    this.failed++;
    this.#lastProblem = reason;
    // A repeated reason is reported once, and counted.
    if (reason !== this.#lastWarning) this.#options.warn(`${name} was not sent: ${reason}`);
    this.#lastWarning = reason;
  }
}
