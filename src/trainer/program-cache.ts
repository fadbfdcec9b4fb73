// Compiled programs, each compiled once: by name, or by the user's function it was made of.
import type { MaybePromise } from "../core/loader.ts";
import type { Tensor } from "../core/model.ts";
import type { Buffer, Engine, Halfway, JitOptions, Tree } from "../engines/engine.ts";
import type { FunctionWatch } from "./function-watch.ts";

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
