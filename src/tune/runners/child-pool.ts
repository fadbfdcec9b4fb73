// Warm processes for trials: so many at most, each taken for one attempt, kept for the next, and replaced now and then.
import { HooklineError } from "../../core/errors.ts";
import { builtin } from "../../platform/builtin.ts";
import { TrialChild, type ChildLimits } from "./child.ts";
import type { TrialHost, TrialJob, TrialOutcome } from "./runner.ts";

type Os = ReturnType<typeof process.getBuiltinModule<"node:os">>;

export interface PoolOptions extends Omit<ChildLimits, "threads"> {
  readonly size: number;
  /** A process is replaced by a new one after so many trials. */
  readonly recycle: number;
}

export class ChildPool {
  readonly #options: PoolOptions;
  readonly #threads: number;
  readonly #idle: TrialChild[] = [];
  readonly #all = new Set<TrialChild>();
  readonly #queue: (() => void)[] = [];
  /** Why there are no more processes, once it is closed. */
  #closed: string | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    const cores = builtin<Os>("local", "node:os").availableParallelism();
    this.#threads = Math.max(1, Math.floor(cores / options.size));
  }

  /** One attempt; `kill` is called with the way to end its process at once. */
  async run(
    trial: string,
    directory: string,
    job: TrialJob,
    host: TrialHost,
    kill: (kill: (reason: string) => void) => void = () => undefined,
  ): Promise<TrialOutcome> {
    const child = await this.#take();
    try {
      kill((reason) => child.kill(reason));
      return await child.run(trial, directory, job, host);
    } finally {
      this.#giveBack(child);
    }
  }

  async close(reason: string): Promise<void> {
    this.#closed = reason;
    const gone = [...this.#all].map((child) => child.gone());
    for (const child of this.#all) child.kill(reason);
    this.#all.clear();
    this.#idle.length = 0;
    for (const wake of this.#queue.splice(0)) wake();
    await Promise.all(gone);
  }

  /** One that is warm, or a new one; waits while all are busy. */
  async #take(): Promise<TrialChild> {
    const { size, memory, timeout } = this.#options;
    while (this.#closed === undefined && this.#idle.length === 0 && this.#all.size >= size)
      await new Promise<void>((resolve) => void this.#queue.push(resolve));
    // A process that is started now, nobody would end.
    if (this.#closed !== undefined) throw new HooklineError(`The trial did not begin: ${this.#closed}.`);
    const warm = this.#idle.pop();
    if (warm?.alive) return warm;
    if (warm) this.#all.delete(warm);
    const child = new TrialChild({ memory, timeout, threads: this.#threads });
    this.#all.add(child);
    return child;
  }

  #giveBack(child: TrialChild): void {
    if (child.alive && child.runs < this.#options.recycle) this.#idle.push(child);
    else {
      child.kill("it is replaced by a new one");
      this.#all.delete(child);
    }
    this.#queue.shift()?.();
  }
}
