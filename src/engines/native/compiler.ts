// From a jax-js function to a program on the engine's memory: traced, lowered, planned and compiled, or left to jax-js.
import { defaultDevice } from "@jax-js/jax";
import { leaves, type Tree } from "../engine.ts";
import { cutGraph } from "../lower/cut.ts";
import type { Graph } from "../lower/graph.ts";
import { lower, UnsupportedPrimitive } from "../lower/lower.ts";
import { trace, type Aval, type Traced } from "../lower/trace.ts";
import { Fallback } from "./fallback.ts";
import { planGraph } from "./plan/plan.ts";
import { Program, type Machine } from "./program.ts";

export type Fn = (...args: never[]) => unknown;
type Args = readonly Tree<Aval>[];
type Results = Readonly<Record<string, unknown>>;

/** Computes what lies at some addresses of the engine's memory from what lies at others. */
interface Runnable {
  run(inputs: readonly number[], outputs: readonly number[]): void;
  close(): void;
}

/** A program for arguments of certain shapes. */
export interface Compiled {
  readonly program: Runnable;
  readonly outputs: readonly Aval[];
  readonly unflatten: (leaves: readonly unknown[]) => unknown;
}

/** The two halves of a program. */
export interface Cut {
  /** Its first results are the early ones; what comes behind them is kept for the second half. */
  readonly first: Compiled;
  readonly early: number;
  /** Takes the same arguments, and behind them what was kept. */
  readonly second: Compiled;
}

export class Compiler {
  /** Spent on it so far. */
  seconds = 0;
  readonly #machine: Machine;
  readonly #warn: (message: string) => void;
  readonly #programs = new Set<Runnable>();
  /** A program that nobody can run any more gives its memory back. */
  readonly #forgotten = new FinalizationRegistry<Runnable>((program) => {
    if (this.#programs.delete(program)) program.close();
  });
  readonly #warned = new Set<string>();
  #jax: Fallback | undefined;

  constructor(machine: Machine, warn: (message: string) => void) {
    this.#machine = machine;
    this.#warn = warn;
  }

  compile(fn: Fn, args: Args): Compiled {
    return this.#timed(() => {
      const traced = this.#trace(fn, args);
      const graph = this.#lower(traced);
      return graph ? this.#compiled(graph, traced.unflatten) : this.#onJax(fn, args, traced);
    });
  }

  /** The function returns a map; the results of these names are the first half's. */
  compileCut(fn: (...args: never[]) => Results, args: Args, early: readonly string[]): Cut {
    return this.#timed(() => {
      let count = 0;
      const halves = (...given: never[]): readonly [Results, Results] => {
        const results = Object.entries(fn(...given));
        const first = Object.fromEntries(results.filter(([name]) => early.includes(name)));
        const second = Object.fromEntries(results.filter(([name]) => !early.includes(name)));
        count = leaves(first as never).length;
        return [first, second];
      };
      const traced = this.#trace(halves, args);
      const { unflatten } = traced;
      const half = (made: readonly unknown[], at: 0 | 1): unknown => {
        const others = Array.from<null>({ length: traced.outs.length - made.length }).fill(null);
        return (unflatten(at === 0 ? [...made, ...others] : [...others, ...made]) as unknown[])[at];
      };
      const graph = this.#lower(traced);
      if (!graph) {
        // What cannot be compiled is not cut: the second half does the first one again.
        const [first, second] = ([0, 1] as const).map((at) => {
          const part = (...given: never[]): unknown => halves(...given)[at];
          return this.#onJax(part, args, this.#trace(part, args));
        });
        return { first: first!, early: count, second: second! };
      }
      const cut = cutGraph(graph, (output) => output < count);
      return {
        first: this.#compiled(cut.first, (made) => half(made, 0)),
        early: count,
        second: this.#compiled(cut.second, (made) => half(made, 1)),
      };
    });
  }

  async close(): Promise<void> {
    for (const program of this.#programs) program.close();
    this.#programs.clear();
    await this.#jax?.close();
  }

  #trace(fn: Fn, args: Args): Traced {
    // Constants that the function makes while it is traced are looked at right away.
    defaultDevice("wasm");
    return trace(fn, args);
  }

  /** Undefined where it cannot be done, of which it tells once for each primitive. */
  #lower(traced: Traced): Graph | undefined {
    try {
      return lower(traced);
    } catch (error) {
      if (!(error instanceof UnsupportedPrimitive)) throw error;
      if (!this.#warned.has(error.message)) {
        this.#warned.add(error.message);
        this.#warn(`Engine "native": ${error.message}. Programs that have it run on wasm, and more slowly.`);
      }
      return undefined;
    }
  }

  #compiled(graph: Graph, unflatten: Compiled["unflatten"]): Compiled {
    const program = new Program(planGraph(graph, this.#machine.team.threads), this.#machine);
    const outputs = graph.outputs.map(({ node, view }) => ({ shape: view.shape, dtype: node.dtype }));
    const compiled = { program, outputs, unflatten };
    this.#programs.add(program);
    this.#forgotten.register(compiled, program);
    return compiled;
  }

  #onJax(fn: Fn, args: Args, { outs, unflatten }: Traced): Compiled {
    this.#jax ??= new Fallback(this.#machine.memory);
    // What has no place here comes back as float32.
    const outputs = outs.map(({ aval: { shape, dtype } }): Aval => ({
      shape,
      dtype: isOurs(dtype) ? dtype : "float32",
    }));
    return { program: this.#jax.compile(fn, args, outputs), outputs, unflatten };
  }

  #timed<T>(work: () => T): T {
    const begun = performance.now();
    try {
      return work();
    } finally {
      this.seconds += (performance.now() - begun) / 1000;
    }
  }
}

const isOurs = (dtype: string): boolean => ["float32", "int32", "uint32", "bool"].includes(dtype);
