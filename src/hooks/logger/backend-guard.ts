// Around a logging backend: its failures are warnings, and one that fails again and again is left alone.
import { LockLostError } from "../../core/errors.ts";
import type { LoggerBackend } from "../../loggers/backend.ts";
import type { LogRecord, RunEnd, RunEvent, RunFacts } from "../../runs/types.ts";

/** How many failures in a row a backend may have. */
const PATIENCE = 3;

export class BackendGuard {
  readonly #backend: LoggerBackend;
  readonly #warn: (message: string) => void;
  /** Another process writes to the run's directory: a failure of the whole run, not of a backend. */
  lost: LockLostError | undefined;
  #failures = 0;
  #lastMessage = "";

  constructor(backend: LoggerBackend, warn: (message: string) => void) {
    this.#backend = backend;
    this.#warn = warn;
  }

  async open(run: RunFacts): Promise<void> {
    await this.#backend.open(run, (message) => this.#warn(`backend ${this.#backend.name}: ${message}`));
  }

  log(record: LogRecord): void {
    if (this.#failures >= PATIENCE) return;
    try {
      this.#backend.log(record);
      this.#failures = 0;
    } catch (error) {
      this.#failed(error);
    }
  }

  event(event: RunEvent): void {
    if (this.#failures >= PATIENCE) return;
    try {
      this.#backend.event?.(event);
    } catch (error) {
      this.#failed(error);
    }
  }

  async flush(): Promise<void> {
    if (this.#failures >= PATIENCE) return;
    try {
      await this.#backend.flush?.();
    } catch (error) {
      this.#failed(error);
    }
  }

  async close(end: RunEnd): Promise<void> {
    try {
      await this.#backend.close(end);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (error instanceof LockLostError) this.lost = error;
    this.#failures++;
    const message = error instanceof Error ? error.message : String(error);
    // The same again and again is said once.
    if (message !== this.#lastMessage) this.#warn(`backend ${this.#backend.name}: ${message}`);
    this.#lastMessage = message;
    if (this.#failures === PATIENCE)
      this.#warn(`backend ${this.#backend.name} is left alone after ${PATIENCE} failures in a row; the others go on`);
  }
}
