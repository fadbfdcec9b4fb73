// A warm process for trials: started once, given one attempt after another, watched while it runs one.
import { HooklineError } from "../../core/errors.ts";
import { builtin, type Builtin } from "../../platform/builtin.ts";
import { toError } from "../study-errors.ts";
import type { FromTrial, ToTrial, TrialHost, TrialJob, TrialOutcome } from "./runner.ts";

export interface ChildLimits {
  /** Megabytes. */
  readonly memory: number | undefined;
  /** Seconds. */
  readonly timeout: number | undefined;
  readonly threads: number;
}

const OWNER = "local";
/** How long a trial may take to leave when the study ends: to write a checkpoint. */
const LEAVE_MS = 10_000;
const LOOK_EVERY_MS = 200;
const MB = 2 ** 20;
/** Of Linux on most machines; elsewhere only the heap is limited. */
const PAGE = 4096;

export class TrialChild {
  readonly #limits: ChildLimits;
  readonly #process: ReturnType<Builtin<"node:child_process">["fork"]>;
  readonly #fs = builtin(OWNER, "node:fs");
  /** Where its output goes: that of the attempt at hand, and until the next one begins. */
  #log: string | undefined;
  /** Why it is being killed. */
  #killedFor: string | undefined;
  #ended = false;
  /** Attempts it was given. */
  runs = 0;

  constructor(limits: ChildLimits) {
    this.#limits = limits;
    const { fork } = builtin(OWNER, "node:child_process");
    const isSource = import.meta.url.endsWith(".ts");
    const heap = limits.memory === undefined ? [] : [`--max-old-space-size=${Math.ceil(limits.memory)}`];
    this.#process = fork(new URL(isSource ? "./trial-process.ts" : "./trial-process.js", import.meta.url), [], {
      // From the sources: tsx, which our tests and examples use, reads the script too.
      execArgv: [...(isSource ? ["--import", "tsx"] : []), ...heap],
      // Numbers that JSON has no words for pass too.
      serialization: "advanced",
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // A Ctrl-C is for the study, which tells its trials.
      detached: true,
      env: { HOOKLINE_THREADS: String(limits.threads), ...process.env },
    });
    for (const stream of [this.#process.stdout!, this.#process.stderr!])
      stream.on("data", (bytes: Uint8Array) => this.#write(bytes));
    this.#process.on("exit", () => (this.#ended = true));
    this.#process.on("error", ({ message }) => {
      this.#killedFor ??= message;
      // One that could not be started has no exit.
      if (this.#process.pid === undefined) this.#ended = true;
    });
  }

  get alive(): boolean {
    return !this.#ended && this.#killedFor === undefined;
  }

  async run(trial: string, directory: string, job: TrialJob, host: TrialHost): Promise<TrialOutcome> {
    this.runs++;
    if (job.runDir !== undefined) this.#log = `${job.runDir}/log.txt`;
    const child = this.#process;
    const timers: ReturnType<typeof setTimeout>[] = [];
    const interrupt = (): void => {
      this.#send({ kind: "interrupt", reason: String(host.signal.reason) });
      timers.push(setTimeout(() => this.kill("it did not leave when the study ended"), LEAVE_MS));
    };
    const undo: (() => void)[] = [];
    try {
      return await new Promise<TrialOutcome>((resolve, reject) => {
        const onMessage = (message: FromTrial): void => {
          if (message.kind === "returned") resolve(message.outcome);
          else if (message.kind === "failed") reject(toError(message.error));
          else void this.#answer(message, host);
        };
        const onExit = (code: number | null, signal: string | null): void => reject(this.#lost(code, signal));
        const onError = (): void => onExit(null, null);
        child.on("message", onMessage).on("exit", onExit).on("error", onError);
        host.signal.addEventListener("abort", interrupt);
        undo.push(
          () => child.off("message", onMessage).off("exit", onExit).off("error", onError),
          () => host.signal.removeEventListener("abort", interrupt),
        );
        this.#watch(timers);
        if (this.#ended) return onExit(child.exitCode, child.signalCode);
        this.#send({ kind: "run", trial, directory, job });
        if (host.signal.aborted) interrupt();
      });
    } finally {
      for (const each of undo) each();
      for (const timer of timers) clearTimeout(timer);
      // What it printed last may come after what it said last.
      await new Promise((resolve) => void setImmediate(resolve));
    }
  }

  /** Ends it at once; an attempt at hand fails with this reason. */
  kill(reason: string): void {
    this.#killedFor ??= reason;
    this.#process.kill("SIGKILL");
  }

  /** Resolves when it is gone. */
  gone(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => void this.#process.once("exit", () => resolve()));
  }

  #watch(timers: ReturnType<typeof setTimeout>[]): void {
    const { timeout, memory } = this.#limits;
    if (timeout !== undefined) {
      const late = `it did not end within ${timeout} s (\`timeout\`)`;
      timers.push(setTimeout(() => this.kill(late), timeout * 1000));
    }
    if (memory === undefined) return;
    const look = (): void => {
      const used = this.#memory();
      if (used > memory) this.kill(`it used ${Math.round(used)} MB, more than its ${memory} MB (\`memory\`)`);
    };
    timers.push(setInterval(look, LOOK_EVERY_MS));
  }

  /** Megabytes; 0 where the system does not say. */
  #memory(): number {
    try {
      const [, pages] = this.#fs.readFileSync(`/proc/${this.#process.pid}/statm`, "utf8").split(" ");
      return (Number(pages) * PAGE) / MB;
    } catch {
      return 0;
    }
  }

  async #answer(message: Extract<FromTrial, { id: number }>, host: TrialHost): Promise<void> {
    const { id, stash } = message;
    if (message.kind === "report") {
      const verdict = await host.report(message.step, message.values, stash);
      this.#send({ kind: "answer", id, verdict });
    } else {
      await host.checkpoint(message.path, stash);
      this.#send({ kind: "answer", id, verdict: { kind: "continue" } });
    }
  }

  /** To one that has just died it goes nowhere: its exit says so. */
  #send(message: ToTrial): void {
    if (this.#process.connected) this.#process.send(message, undefined, undefined, () => undefined);
  }

  #write(bytes: Uint8Array): void {
    if (this.#log === undefined) process.stderr.write(bytes);
    else this.#fs.appendFileSync(this.#log, bytes);
  }

  #lost(code: number | null, signal: string | null): HooklineError {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const why = this.#killedFor ?? `it ended ${how}`;
    const log = this.#log === undefined ? "" : ` Its output is in ${this.#log}.`;
    return new HooklineError(`The process of the trial is gone: ${why}.${log}`);
  }
}

// Warm processes for trials: so many at most, each taken for one attempt, kept for the next, and replaced now and then.

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
    const cores = builtin("local", "node:os").availableParallelism();
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
