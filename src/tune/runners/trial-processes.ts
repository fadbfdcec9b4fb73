// Warm processes for trials: each is started once, runs one attempt after another, and is watched while it does.
import { HooklineError } from "../../core/errors.ts";
import { builtin, type Builtin } from "../../platform/builtin.ts";
import { toError } from "../study-errors.ts";
import type { FromTrial, ToTrial, TrialHost, TrialJob, TrialOutcome } from "./runner.ts";

interface ProcessLimits {
  /** Megabytes. */
  readonly memory: number | undefined;
  /** Seconds. */
  readonly timeout: number | undefined;
  readonly threads: number;
}

export interface PoolOptions extends Omit<ProcessLimits, "threads"> {
  readonly size: number;
  /** A process is replaced after this many trials. */
  readonly recycle: number;
}

const OWNER = "local";
/** How long a trial may take to end with its study, including a checkpoint. */
const LEAVE_MS = 10_000;
const LOOK_EVERY_MS = 200;
const MB = 2 ** 20;
/** The page size of Linux on most machines. Elsewhere only the heap is limited. */
const PAGE = 4096;

/** At most `size` processes: each attempt takes one, and returns it for the next attempt. */
export class ProcessPool {
  readonly #options: PoolOptions;
  readonly #threads: number;
  #size: number;
  readonly #idle: TrialProcess[] = [];
  readonly #all = new Set<TrialProcess>();
  readonly #waiting: (() => void)[] = [];
  /** Why the pool is closed, once it is. */
  #closed: string | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#size = options.size;
    const cores = builtin(OWNER, "node:os").availableParallelism();
    this.#threads = Math.max(1, Math.floor(cores / options.size));
  }

  /** Runs one attempt. `begun` gets a function that kills its process. */
  async run(
    trial: string,
    directory: string,
    job: TrialJob,
    host: TrialHost,
    begun: (kill: (reason: string) => void) => void = () => undefined,
  ): Promise<TrialOutcome> {
    const child = await this.#take();
    try {
      begun((reason) => child.kill(reason));
      return await child.run(trial, directory, job, host);
    } finally {
      this.#giveBack(child);
    }
  }

  /** Processes that are too many end with their attempt. */
  resize(size: number): void {
    this.#size = size;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async close(reason: string): Promise<void> {
    this.#closed = reason;
    const exited = [...this.#all].map((child) => child.exited());
    for (const child of this.#all) child.kill(reason);
    this.#all.clear();
    this.#idle.length = 0;
    for (const wake of this.#waiting.splice(0)) wake();
    await Promise.all(exited);
  }

  /** An idle process, or a new one; waits while all are busy. */
  async #take(): Promise<TrialProcess> {
    const { memory, timeout } = this.#options;
    while (this.#closed === undefined && this.#idle.length === 0 && this.#all.size >= this.#size)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    // Nobody would end a process that is started after close().
    if (this.#closed !== undefined) throw new HooklineError(`The trial did not begin: ${this.#closed}.`);
    const idle = this.#idle.pop();
    if (idle?.alive) return idle;
    if (idle) this.#all.delete(idle);
    const child = new TrialProcess({ memory, timeout, threads: this.#threads });
    this.#all.add(child);
    return child;
  }

  #giveBack(child: TrialProcess): void {
    const isWanted = child.runs < this.#options.recycle && this.#all.size <= this.#size;
    if (child.alive && isWanted) this.#idle.push(child);
    else {
      child.kill("it is replaced by a new one");
      this.#all.delete(child);
    }
    this.#waiting.shift()?.();
  }
}

/** A limit of time that stands still while a person has paused the trial. */
class TimeLimit {
  readonly #spent: () => void;
  #left: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, spent: () => void) {
    this.#left = ms;
    this.#spent = spent;
    this.pause(false);
  }

  pause(isPaused: boolean): void {
    if (isPaused === (this.#timer === undefined)) return;
    if (isPaused) {
      this.#left -= performance.now() - this.#since;
      this.cancel();
    } else {
      this.#since = performance.now();
      this.#timer = setTimeout(this.#spent, Math.max(0, this.#left));
    }
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

class TrialProcess {
  readonly #limits: ProcessLimits;
  readonly #process: ReturnType<Builtin<"node:child_process">["fork"]>;
  readonly #fs = builtin(OWNER, "node:fs");
  /** The file for its output: that of the current attempt, until the next one begins. */
  #log: string | undefined;
  /** Why it is being killed. */
  #killedFor: string | undefined;
  #ended = false;
  /** Attempts that it was given. */
  runs = 0;

  constructor(limits: ProcessLimits) {
    this.#limits = limits;
    const { fork } = builtin(OWNER, "node:child_process");
    const isSource = import.meta.url.endsWith(".ts");
    const heap = limits.memory === undefined ? [] : [`--max-old-space-size=${Math.ceil(limits.memory)}`];
    this.#process = fork(new URL(isSource ? "./trial-process.ts" : "./trial-process.js", import.meta.url), [], {
      // Tests and examples run from the sources, which tsx compiles.
      execArgv: [...(isSource ? ["--import", "tsx"] : []), ...heap],
      // Passes NaN and the infinities, which JSON cannot.
      serialization: "advanced",
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // Ctrl-C must only reach the study, which then interrupts its trials.
      detached: true,
      env: { HOOKLINE_THREADS: String(limits.threads), ...process.env },
    });
    for (const stream of [this.#process.stdout!, this.#process.stderr!])
      stream.on("data", (bytes: Uint8Array) => this.#write(bytes));
    this.#process.on("exit", () => (this.#ended = true));
    this.#process.on("error", ({ message }) => {
      this.#killedFor ??= message;
      // A process that could not be started does not exit.
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
    const limit = this.#watch(timers);
    try {
      return await new Promise<TrialOutcome>((resolve, reject) => {
        const onMessage = (message: FromTrial): void => {
          if (message.kind === "returned") resolve(message.outcome);
          else if (message.kind === "failed") reject(toError(message.error));
          else if (message.kind === "paused") limit?.pause(message.isPaused);
          else void this.#answer(message, host);
        };
        const onExit = (code: number | null, signal: string | null): void => reject(this.#lost(code, signal));
        const onError = (): void => onExit(null, null);
        child.on("message", onMessage).on("exit", onExit).on("error", onError);
        host.signal.addEventListener("abort", interrupt);
        undo.push(
          () => child.off("message", onMessage).off("exit", onExit).off("error", onError),
          () => host.signal.removeEventListener("abort", interrupt),
          () => limit?.cancel(),
        );
        if (this.#ended) return onExit(child.exitCode, child.signalCode);
        this.#send({ kind: "run", trial, directory, job });
        if (host.signal.aborted) interrupt();
      });
    } finally {
      for (const each of undo) each();
      for (const timer of timers) clearTimeout(timer);
      // Its last output may arrive after its last message.
      await new Promise((resolve) => void setImmediate(resolve));
    }
  }

  /** Ends it at once; a running attempt fails with this reason. */
  kill(reason: string): void {
    this.#killedFor ??= reason;
    this.#process.kill("SIGKILL");
  }

  exited(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => void this.#process.once("exit", () => resolve()));
  }

  /** Returns the limit of its time, if there is one. */
  #watch(timers: ReturnType<typeof setTimeout>[]): TimeLimit | undefined {
    const { timeout, memory } = this.#limits;
    this.#watchMemory(memory, timers);
    if (timeout === undefined) return undefined;
    return new TimeLimit(timeout * 1000, () => this.kill(`it did not end within ${timeout} s (\`timeout\`)`));
  }

  #watchMemory(memory: number | undefined, timers: ReturnType<typeof setTimeout>[]): void {
    if (memory === undefined) return;
    const look = (): void => {
      const used = this.#memory();
      if (used > memory) this.kill(`it used ${Math.round(used)} MB, more than its ${memory} MB (\`memory\`)`);
    };
    timers.push(setInterval(look, LOOK_EVERY_MS));
  }

  /** Megabytes; 0 where /proc does not exist. */
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

  /** A message to a process that has just died is lost: its exit is handled. */
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
