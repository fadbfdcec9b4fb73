// The threads that share the steps of an engine's programs, seen from the first of them.
import { EngineError, OptionError } from "../../../core/errors.ts";
import { type Builtin, builtin } from "../../../platform/builtin.ts";
import { startWorkerThread, type WorkerThread } from "../../../platform/thread.ts";
import type { EngineMemory } from "../memory.ts";
import type { Address } from "../wasm/module.ts";
import { Control } from "./control.ts";
import type { Part, Run } from "./parts.ts";
import { show } from "../../../core/options.ts";
import { coresOfRank } from "../../../distributed/environment.ts";

/** Milliseconds of waiting after which a thread that does not finish its part is given up: large products take minutes. */
const LONGEST_PART = 600_000;
/** Milliseconds that the end of the process waits for native code. */
const LONGEST_EXIT = 60_000;

type Port = InstanceType<Builtin<"node:worker_threads">["MessagePort"]>;

/** What a thread is started with. */
export interface ThreadStart {
  readonly thread: number;
  readonly cells: Int32Array;
  readonly memory: WebAssembly.Memory;
  readonly address: Address;
  readonly blas: string | undefined;
  readonly port: Port;
}

/** Messages to a thread: a program to help with, or to forget. */
export type ToThread =
  | {
      readonly program: number;
      readonly module: WebAssembly.Module;
      readonly addresses: Float64Array;
      /** Its own part of each step. */
      readonly parts: readonly (Part | undefined)[];
    }
  | { readonly forget: number };

/** What it says before a part counts as failed. */
export interface FromThread {
  readonly failure: string;
}

interface SharedProgram {
  readonly module: WebAssembly.Module;
  readonly addresses: Float64Array;
  /** By step, then by thread; undefined for a step that is not divided. */
  readonly parts: readonly (readonly Part[] | undefined)[];
}

interface Member {
  readonly worker: WorkerThread;
  readonly port: Port;
  readonly ended: Promise<void>;
}

/** Of all engines of the process that have threads. */
const withThreads = new Set<Control>();
let listensForExit = false;

/** When the process ends, for whatever reason, Node terminates its threads. None may be in native code then. */
function awaitNoNativeAtExit(control: Control): void {
  withThreads.add(control);
  if (listensForExit) return;
  listensForExit = true;
  builtin(`Engine "native"`, "node:process").on("exit", () => {
    for (const each of withThreads) each.awaitNoNative(LONGEST_EXIT);
  });
}

export class ThreadPool {
  readonly threads: number;
  readonly #memory: EngineMemory;
  readonly #warn: (message: string) => void;
  readonly #blas: string | undefined;
  readonly #control: Control;
  #members: Member[] | undefined;
  #lastProgram = 0;
  #asked: number;
  /** Why the threads are of no more use. */
  #failure: EngineError | undefined;
  /** With one thread it starts none: then everything is done by the first. */
  constructor(threads: number, memory: EngineMemory, warn: (message: string) => void, blas?: string) {
    this.#blas = blas;
    this.threads = threads;
    this.#asked = threads;
    this.#memory = memory;
    this.#warn = warn;
    this.#control = Control.create(threads);
  }

  /** Tells the threads of a program. They start with the first one. */
  join({ parts, module, addresses }: SharedProgram): number {
    const program = ++this.#lastProgram;
    this.#members ??= this.#start();
    for (const [i, { port }] of this.#members.entries()) {
      port.postMessage({ program, module, addresses, parts: parts.map((each) => each?.[i + 1]) });
    }
    this.#control.announce();
    return program;
  }

  forget(program: number): void {
    for (const { port } of this.#members ?? []) port.postMessage({ forget: program });
    this.#control.announce();
  }

  /** From now on all threads are to help, or one fewer. Who does a part does not change what it computes. */
  ask(all: boolean): void {
    this.#asked = all ? this.threads : this.threads - 1;
    this.#control.ask(this.#asked);
  }

  /** A step of a program that all threads do together; this one can do every part. */
  divided(program: number, step: number, parts: readonly Run[]): Run {
    const control = this.#control;
    return (addresses) => {
      if (this.#failure) throw this.#failure;
      if (this.#asked === 1) {
        for (const part of parts) part(addresses);
        return;
      }
      control.setPages(this.#memory.pages);
      const number = control.publish(program, step);
      const taken: number[] = [];
      let error: unknown;
      for (let thread = 0; thread < parts.length; thread++) {
        // What another thread has not begun by now, this one does.
        if (thread > 0 && !control.claim(thread, number)) taken.push(thread);
        else if (error === undefined) {
          try {
            parts[thread]!(addresses);
          } catch (thrown) {
            // The others must not be left at work on memory that is about to be freed.
            error = thrown ?? new Error("no reason given");
          }
        }
      }
      for (const thread of taken) this.#await(thread, number);
      if (error !== undefined) throw error;
    };
  }

  async close(): Promise<void> {
    const members = this.#members ?? [];
    this.#members = undefined;
    this.#failure = new EngineError(`Engine "native": it is closed.`);
    if (members.length === 0) return;
    this.#control.close();
    await Promise.all(
      members.map(async ({ worker, port, ended }) => {
        worker.ref();
        await ended;
        port.close();
      }),
    );
    withThreads.delete(this.#control);
  }

  #await(thread: number, number: number): void {
    if (!this.#control.awaitDone(thread, number, LONGEST_PART)) {
      this.#failure = new EngineError(
        `Engine "native": thread ${thread} has not finished its part of a step in ${LONGEST_PART / 1000} s.`,
      );
    } else if (this.#control.hasFailed(thread)) {
      const { receiveMessageOnPort } = builtin(`Engine "native"`, "node:worker_threads");
      const received = receiveMessageOnPort(this.#members![thread - 1]!.port)?.message as FromThread | undefined;
      const said = received?.failure;
      this.#failure = new EngineError(`Engine "native": thread ${thread} has failed: ${said ?? "it did not say why"}`);
    }
    if (this.#failure) throw this.#failure;
  }

  #start(): Member[] {
    const { MessageChannel } = builtin(`Engine "native"`, "node:worker_threads");
    awaitNoNativeAtExit(this.#control);
    return Array.from({ length: this.threads - 1 }, (_, i) => {
      const { port1, port2 } = new MessageChannel();
      const start: ThreadStart = {
        thread: i + 1,
        cells: this.#control.cells,
        memory: this.#memory.memory,
        address: this.#memory.address,
        blas: this.#blas,
        port: port2,
      };
      const worker = startWorkerThread(import.meta.url, "pool-worker", start, [port2]);
      port1.unref();
      // The first thread does its parts, as always when it is late.
      worker.on("error", (error) =>
        this.#warn(`Engine "native": thread ${i + 1} has ended (${error.message}). Training continues without it.`),
      );
      const ended = new Promise<void>((resolve) => worker.on("exit", resolve));
      worker.unref();
      return { worker, port: port1, ended };
    });
  }
}

// How many threads an engine is to have: as its option says, else the environment, else as the machine has cores.

/** More than this many wait for each other more than they help. */
const MOST_BY_DEFAULT = 8;
const VARIABLE = "HOOKLINE_THREADS";

interface Wanted {
  readonly threads: number;
  /** Someone asked for this number. */
  readonly asked: boolean;
}

export function threadsWanted(option: number | undefined): Wanted {
  if (option !== undefined) return { threads: checked("NativeEngine: `threads`", option, option), asked: true };
  const { env } = builtin(`Engine "native"`, "node:process");
  const given = env[VARIABLE];
  if (given !== undefined && given !== "") return { threads: checked(VARIABLE, given, Number(given)), asked: true };
  const os = builtin(`Engine "native"`, "node:os");
  const cores = coresOfRank(env, os.availableParallelism(), os.cpus().length);
  return { threads: Math.min(cores, MOST_BY_DEFAULT), asked: false };
}

function checked(what: string, given: unknown, threads: number): number {
  if (Number.isInteger(threads) && threads >= 1 && threads <= 256) return threads;
  throw new OptionError(`${what}: Expected a whole number from 1 to 256, got ${show(given)}`);
}
