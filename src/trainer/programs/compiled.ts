// Compiled programs: cached, run with errors that name the batch, and a warning for functions that are compiled over and over.
import type { HostBatch, MaybePromise, Tensor } from "../../core/model.ts";
import type { Buffer, Engine, Halfway, JitOptions, Tree } from "../../engines/engine.ts";
import { HooklineError, ProgramError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { layerOf } from "../../nn/tap.ts";
import { describeBatch } from "../inputs.ts";

/** A program whose argument types the caller vouches for. */
export type Compiled = (...args: Tree<Buffer>[]) => MaybePromise<Tree<Buffer>>;
/** A program that stops halfway, at the results that are needed first. */
export type Cut = (...args: Tree<Buffer>[]) => MaybePromise<Halfway>;
type Traced = (...args: never[]) => object;

export class ProgramCache {
  readonly #engine: Engine;
  readonly #functions: FunctionWatch | undefined;
  readonly #named = new Map<string, Compiled>();
  readonly #owned = new WeakMap<object, Map<string, Compiled>>();
  readonly #cut = new WeakMap<object, Cut>();

  /** `functions` is told of every user's function that a program is made of. */
  constructor(engine: Engine, functions?: FunctionWatch) {
    this.#engine = engine;
    this.#functions = functions;
  }

  /** The program of this name, made and compiled the first time. */
  once(name: string, make: () => Traced, options?: JitOptions): Compiled {
    return this.#get(this.#named, name, make, options);
  }

  /** The program of this name made from `owner` (a user's function, a spec): forgotten when its owner is. */
  of(owner: object, name: string, make: () => Traced, options?: JitOptions): Compiled {
    let programs = this.#owned.get(owner);
    if (!programs) {
      if (typeof owner === "function") this.#functions?.note(name, owner);
      this.#owned.set(owner, (programs = new Map()));
    }
    return this.#get(programs, name, make, options);
  }

  /** The owner's program that is cut behind the results of these names; undefined on engines that cannot cut one. */
  cut(owner: object, make: () => Traced, names: readonly string[]): Cut | undefined {
    let program = this.#cut.get(owner);
    if (!program) {
      program = this.#engine.jitCut?.(make() as (...args: never[]) => Record<string, Tree<Tensor>>, names);
      if (program) this.#cut.set(owner, program);
    }
    return program;
  }

  #get(programs: Map<string, Compiled>, name: string, make: () => Traced, options: JitOptions | undefined): Compiled {
    let program = programs.get(name);
    if (!program) {
      program = this.#engine.jit(make() as unknown as (...args: Tree<Tensor>[]) => Tree<Tensor>, options);
      programs.set(name, program);
    }
    return program;
  }
}

// Running a compiled program, with errors that name the batch and the way out.

interface Source {
  readonly what: string;
  readonly loader: string;
  readonly host: HostBatch;
}

/** An error of a traced program, with the batch and the layer that it happened in. */
export function explain(error: unknown, { what, loader, host }: Source): Error {
  if (error instanceof HooklineError && !(error instanceof ProgramError)) return error;
  const where = `on a batch ${describeBatch(host)} of loader \`${loader}\``;
  const message = messageOf(error);
  const layer = layerOf(error);
  const advice = /freed|\.ref/.test(message)
    ? "an array was used twice. In jax-js the first use consumes it: keep it for the next with x.ref. jax-js says: "
    : "";
  return new ProgramError(
    `The ${what} failed ${where}${layer === undefined ? "" : `, in layer \`${layer}\``}: ${advice}${message}`,
    { cause: error },
  );
}

export function runProgram<T>(
  program: (...args: Tree<Buffer>[]) => MaybePromise<T>,
  source: Source,
  ...args: Tree<Buffer>[]
): MaybePromise<T> {
  try {
    const out = program(...args);
    if (!(out instanceof Promise)) return out;
    return out.catch((error: unknown) => {
      throw explain(error, source);
    });
  } catch (error) {
    throw explain(error, source);
  }
}

// Functions that hooks pass to be compiled. One that is written inside the hook's method is another function at every
// call, so it is compiled at every call: correct, and slow without a word.

/** Each new function costs a compilation; more than this many from one hook is probably a mistake. */
const MANY_FUNCTIONS = 8;

export class FunctionWatch {
  readonly #warn: (message: string) => void;
  readonly #hook: () => string | undefined;
  readonly #seen = new Map<string, { readonly functions: WeakSet<object>; count: number }>();

  /** `hook` names the hook whose turn it is. */
  constructor(warn: (message: string) => void, hook: () => string | undefined) {
    this.#warn = warn;
    this.#hook = hook;
  }

  /** A hook passes `fn` to `ctx.verb`. Warns once for each hook and verb. */
  note(verb: string, fn: object): void {
    const hook = this.#hook();
    const key = `${hook}|${verb}`;
    let seen = this.#seen.get(key);
    if (!seen) this.#seen.set(key, (seen = { functions: new WeakSet(), count: 0 }));
    if (seen.functions.has(fn)) return;
    seen.functions.add(fn);
    if (++seen.count !== MANY_FUNCTIONS + 1) return;
    const who = hook === undefined ? "This program" : `Hook \`${hook}\``;
    this.#warn(
      `${who} has passed ${seen.count} different functions to ctx.${verb}. Each is compiled anew, even if its text is the same. Create the function once, outside the hook's method, and pass that one every time.`,
    );
  }
}
