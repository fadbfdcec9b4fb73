// From a jax-js function to a program on the engine's memory: traced, lowered, planned and compiled. What fails on the
// way runs undivided, else on jax-js: a program that is slow is better than none.
import { defaultDevice } from "@jax-js/jax";
import { EngineError } from "../../core/errors.ts";
import type { Tree } from "../engine.ts";
import { cutGraph } from "../lower/cut.ts";
import type { Graph } from "../lower/graph.ts";
import { traceHalves } from "../lower/halves.ts";
import { lower, UnsupportedPrimitive } from "../lower/lower.ts";
import { trace, type Aval, type Traced } from "../lower/trace.ts";
import { CONVOLUTIONS } from "./conv/convolution.ts";
import { Fallback } from "./fallback.ts";
import { outputsInPlace } from "./plan/in-place.ts";
import { planGraph } from "./plan/plan.ts";
import type { Plan } from "./plan/steps.ts";
import { Program, type NativeResources } from "./program.ts";

const NATIVE = { convolves: true };

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
  /** By output: the input whose memory it takes, if that is given up and nobody else has it. */
  readonly inPlace: ReadonlyMap<number, number>;
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
  readonly #resources: NativeResources;
  readonly #warn: (message: string) => void;
  readonly #programs = new Set<Runnable>();
  /** A program that nobody can run any more gives its memory back. */
  readonly #forgotten = new FinalizationRegistry<Runnable>((program) => {
    if (this.#programs.delete(program)) program.close();
  });
  readonly #warned = new Set<string>();
  #jax: Fallback | undefined;

  constructor(resources: NativeResources, warn: (message: string) => void) {
    this.#resources = resources;
    this.#warn = warn;
  }

  /** `given` are the numbers of the leaves that each call gives up. */
  compile(fn: Fn, args: Args, given: readonly number[] = []): Compiled {
    return this.#timed(() => {
      const traced = this.#onWasm(() => trace(fn, args, NATIVE));
      const graph = this.#lower(traced);
      const compiled = graph && this.#compiled(graph, traced.unflatten, given);
      return compiled ?? this.#onJax(fn, args, traced);
    });
  }

  /** The function returns a map; the results of these names are the first half's. */
  compileCut(fn: (...args: never[]) => Results, args: Args, early: readonly string[]): Cut {
    return this.#timed(() => {
      const { traced, early: count, unflatten, only } = this.#onWasm(() => traceHalves(fn, args, early, NATIVE));
      const graph = this.#lower(traced);
      const cut = graph && cutGraph(graph, (output) => output < count);
      const first = cut && this.#compiled(cut.first, (made) => unflatten(made, 0));
      const second = first && this.#compiled(cut.second, (made) => unflatten(made, 1));
      if (first && second) return { first, early: count, second };
      // On jax-js there is no cut: the second half computes the first one again.
      const [one, two] = ([0, 1] as const).map((at) => {
        const part = only(at);
        return this.#onJax(
          part,
          args,
          this.#onWasm(() => trace(part, args)),
        );
      });
      return { first: one!, early: count, second: two! };
    });
  }

  async close(): Promise<void> {
    for (const program of this.#programs) program.close();
    this.#programs.clear();
    await this.#jax?.close();
  }

  /** Constants that the function makes while it is traced are looked at right away. */
  #onWasm<T>(traces: () => T): T {
    defaultDevice("wasm");
    return traces();
  }

  /** Undefined where it cannot be done. */
  #lower(traced: Traced): Graph | undefined {
    try {
      return lower(traced, CONVOLUTIONS);
    } catch (error) {
      if (error instanceof UnsupportedPrimitive) {
        this.#warnOnce(error.message, `${error.message}. Programs that have it run on wasm, and more slowly.`);
      } else this.#warnOfWasm(error);
      return undefined;
    }
  }

  #compiled(graph: Graph, unflatten: Compiled["unflatten"], given: readonly number[] = []): Compiled | undefined {
    const made = this.#program(graph);
    if (!made) return undefined;
    const { program, plan } = made;
    const inPlace = outputsInPlace(plan, new Set(given));
    const outputs = graph.outputs.map(({ node, view }) => ({ shape: view.shape, dtype: node.dtype }));
    const compiled = { program, outputs, inPlace, unflatten };
    this.#programs.add(program);
    this.#forgotten.register(compiled, program);
    return compiled;
  }

  /** Shared by all threads, else on one; undefined when neither can be done. */
  #program(graph: Graph): { readonly program: Program; readonly plan: Plan } | undefined {
    for (const threads of new Set([this.#resources.pool.threads, 1])) {
      try {
        const plan = planGraph(graph, threads);
        return { program: new Program(plan, this.#resources, threads), plan };
      } catch (error) {
        // Out of memory, or closed: another plan would not help.
        if (error instanceof EngineError) throw error;
        if (threads === 1) this.#warnOfWasm(error);
        else this.#warnOnce("divided", `a program cannot be divided (${reason(error)}). It runs on one thread.`);
      }
    }
    return undefined;
  }

  #warnOfWasm(error: unknown): void {
    this.#warnOnce("wasm", `a program cannot be compiled (${reason(error)}). It runs on wasm, and more slowly.`);
  }

  #warnOnce(key: string, message: string): void {
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    this.#warn(`Engine "native": ${message}`);
  }

  #onJax(fn: Fn, args: Args, { outs, unflatten }: Traced): Compiled {
    this.#jax ??= new Fallback(this.#resources.memory);
    // What has no place here comes back as float32.
    const outputs = outs.map(({ aval: { shape, dtype } }): Aval => ({
      shape,
      dtype: isOurs(dtype) ? dtype : "float32",
    }));
    return { program: this.#jax.compile(fn, args, outputs), outputs, inPlace: new Map(), unflatten };
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

/** An error that only a fault of the engine can cause. */
const reason = (error: unknown): string =>
  `${error instanceof Error ? error.message : String(error)}; please report this`;

const isOurs = (dtype: string): boolean => ["float32", "int32", "uint32", "bool"].includes(dtype);
