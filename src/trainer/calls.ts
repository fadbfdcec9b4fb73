// What surrounds public calls: one at a time, `init` first, `close` last, and failures reported to every hook.
import { attach, ContextError, HookError } from "../core/errors.ts";
import type { HookRegistry } from "../core/registry/registry.ts";
import type { Run } from "../core/loop/run.ts";

/** Opened before a call and closed after it. */
interface Surroundings {
  enter(): Promise<void>;
  close(): Promise<void>;
}

export class Calls {
  readonly #hooks: HookRegistry;
  readonly #run: Run;
  readonly #deadline: number;
  readonly #around: Surroundings;
  /** The call under way; two at once would train on each other's state. */
  #busy: string | undefined;

  /** `around` is closed after the event `close`. */
  constructor(hooks: HookRegistry, run: Run, deadline: number, around: Surroundings) {
    this.#around = around;
    this.#hooks = hooks;
    this.#run = run;
    this.#deadline = deadline;
  }

  /** Runs a public call; `close` reaches every hook whatever happened. */
  async bracket<T>(name: string, body: () => Promise<T>): Promise<T> {
    if (this.#busy !== undefined) {
      const inHook = name === "evaluate" && this.#busy === "fit";
      const hint = inHook ? " Inside a hook, ask for an evaluation with ctx.requestEval()." : "";
      throw new ContextError(`${name}() was called while ${this.#busy}() is running on the same trainer.${hint}`);
    }
    this.#busy = name;
    this.#hooks.beginRun();
    let failure: { error: unknown } | undefined;
    try {
      await this.#around.enter();
      return await body();
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      try {
        await this.#end(failure);
      } finally {
        this.#busy = undefined;
        this.#run.isLive = false;
      }
    }
  }

  /** After a failure, what goes wrong here is attached to it. */
  async #end(failure: { error: unknown } | undefined): Promise<void> {
    const errors = await this.#hooks.fireIsolated("close", this.#deadline);
    if (failure) attach(failure.error, errors);
    else for (const error of errors) this.#hooks.note(error);
    try {
      await this.#around.close();
    } catch (error) {
      if (!failure) throw error;
      attach(failure.error, [error as Error]);
    }
  }

  /** For what must not happen in the middle of a call. */
  mustBeIdle(name: string): void {
    if (this.#busy === undefined) return;
    throw new ContextError(
      `${name}() was called while ${this.#busy}() is running on the same trainer. Await that call first.`,
    );
  }

  /** A training run: `trainEnd` fires however it ends. A failure is reported to the hooks, then `rescue` saves what it can. */
  async training(body: () => Promise<void>, rescue: (failure: unknown) => Promise<void>): Promise<void> {
    try {
      await body();
    } catch (error) {
      await this.#report(error, "exception");
      await rescue(error);
      await this.#logging(() => this.#report(error, "trainEnd"));
      throw error;
    }
    try {
      await this.#logging(() => this.#hooks.fireToAll("trainEnd"));
    } catch (error) {
      await this.#report(error, "exception");
      throw error;
    }
  }

  /** `trainEnd` logs: what no boundary has logged, and what hooks log now, is shown to the loggers, which come last. */
  async #logging(trainEnd: () => Promise<void>): Promise<void> {
    this.#run.log.begin({});
    try {
      await trainEnd();
    } finally {
      this.#run.log.end();
    }
  }

  /** evaluate() and predict(): `init`, then the work in a phase of its own; the training run's context is put back. */
  async standalone<T>(phase: "standalone" | "predict", body: () => Promise<T>): Promise<T> {
    const run = this.#run;
    const { status, phase: before, batch, batchIdx, loaderIdx, loaderName } = run;
    run.phase = phase;
    try {
      await this.#hooks.fire.init!();
      return await body();
    } finally {
      Object.assign(run, { status, phase: before, batch, batchIdx, loaderIdx, loaderName });
    }
  }

  /** Reports a failure to every hook; their own errors are attached to it. */
  async #report(error: unknown, event: "exception" | "trainEnd"): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    const requestedBy = error instanceof HookError ? error.hook : "";
    Object.assign(this.#run, { status: "error", error, reason, requestedBy });
    attach(error, await this.#hooks.fireIsolated(event, this.#deadline));
  }
}
