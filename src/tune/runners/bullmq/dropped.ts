// Counts what came from Redis and was not used: one warning when it begins, and the whole count at the end.
import { KEY_VARIABLE } from "./seal.ts";

const REASONS = {
  malformed: "of no form that a study or a worker sends",
  unsigned: "not signed with this process's key",
  keyless: `signed, while this process has no key (${KEY_VARIABLE})`,
  changed: "in the queue's own keys, which were changed",
  refused: "of a study that this worker may not run",
} as const;

export type DropReason = keyof typeof REASONS;

/** Those that come together are counted together. */
const COLLECT_MS = 1000;

export class Dropped {
  readonly #owner: string;
  readonly #warn: (message: string) => void;
  readonly #counts = new Map<DropReason, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #warned = 0;

  constructor(owner: string, warn: (message: string) => void) {
    this.#owner = owner;
    this.#warn = warn;
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  add(reason: DropReason): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    if (this.#warned === 0) this.#timer ??= setTimeout(() => this.#say(), COLLECT_MS).unref();
  }

  /** Says how many there were in the end, where that is not known yet. */
  close(): void {
    clearTimeout(this.#timer);
    if (this.total > this.#warned) this.#say();
  }

  #say(): void {
    const each = [...this.#counts].map(([reason, count]) => `${count} ${REASONS[reason]}`).join(", ");
    const { total } = this;
    const what = total === 1 ? "1 message" : `${total} messages`;
    this.#warned = total;
    this.#warn(
      `${this.#owner}: dropped ${what} from Redis so far: ${each}. Someone else writes to this Redis, or a study and its workers differ in version or key.`,
    );
  }
}
