// From a jax-js function to a program on the device: traced, lowered, written as StableHLO and compiled by XLA.
import { defaultDevice } from "@jax-js/jax";
import { EngineError } from "../../core/errors.ts";
import type { Lowering } from "../../nn/marks.ts";
import type { Precision, Tree } from "../engine.ts";
import { cutGraph } from "../lower/cut.ts";
import type { Graph } from "../lower/graph.ts";
import { traceHalves } from "../lower/halves.ts";
import { lower, UnsupportedPrimitive } from "../lower/lower.ts";
import { WHOLE_CONVOLUTIONS } from "../lower/primitives.ts";
import { trace, type Aval, type Traced } from "../lower/trace.ts";
import type { ProgramCache } from "./cache/program-cache.ts";
import { writeModule, type Devices } from "./hlo/module.ts";
import type { PjrtClient } from "./pjrt/client.ts";
import type { XlaFlags } from "./pjrt/options.ts";
import type { PjrtProgram } from "./pjrt/program.ts";
import { place, remove, type Division, type Placed } from "./placement.ts";

export type Fn = (...args: never[]) => unknown;
type Args = readonly Tree<Aval>[];
type Divisions = ReadonlyMap<number, Division>;

interface Output extends Aval {
  readonly division: Division | undefined;
}

/** A program for arguments of certain shapes. */
export interface Compiled {
  readonly program: PjrtProgram;
  readonly outputs: readonly Output[];
  /** Tables of the program, which are arguments behind the others. */
  readonly tables: readonly Placed[];
  /** Inputs whose memory an output takes over. */
  readonly donated: readonly number[];
  readonly unflatten: (leaves: readonly unknown[]) => unknown;
  /** Of the inputs, as the caller calls them. */
  readonly names: readonly string[];
}

/** The two halves of a program. */
export interface Cut {
  /** Its first results are the early ones; what comes behind them is kept for the second half. */
  readonly first: Compiled;
  readonly early: number;
  /** Takes the same arguments, and behind them what was kept. */
  readonly second: Compiled;
}

export interface CompilerOptions {
  readonly precision: Precision;
  readonly flags: XlaFlags;
  readonly cudnnAttention: boolean;
  readonly warn: (message: string) => void;
  /** Undefined if each process compiles its own programs. */
  readonly cache: ProgramCache | undefined;
}

export class Compiler {
  /** Spent on it so far. */
  seconds = 0;
  readonly #client: PjrtClient;
  readonly #options: CompilerOptions;
  readonly #lowering: Lowering;
  readonly #programs = new Set<Compiled>();
  /** What is being compiled, and when each began. */
  readonly #pending = new Map<Promise<unknown>, number>();
  #isClosed = false;

  constructor(client: PjrtClient, options: CompilerOptions) {
    this.#client = client;
    this.#options = options;
    this.#lowering = { convolves: true, isLarge: (client.memory()?.bytesLimit ?? 0) >= LARGE };
  }

  /**
   * By numbers of inputs (leaves of the arguments, in order). `donated`: those that the program may write its results
   * into. `divisions`: those that are divided between the devices.
   */
  compile(fn: Fn, args: Args, donated: readonly number[], divisions: Divisions): Promise<Compiled> {
    return this.#timed(() => {
      const traced = onHost(() => trace(fn, args, this.#lowering));
      return this.#compiled(graphOf(traced), traced.unflatten, donated, divisions, namesOf(args));
    });
  }

  /** The function returns a map; the results of these names are the first half's. */
  compileCut(
    fn: (...args: never[]) => Readonly<Record<string, unknown>>,
    args: Args,
    names: readonly string[],
    divisions: Divisions,
  ) {
    return this.#timed(async (): Promise<Cut> => {
      const { traced, early, unflatten } = onHost(() => traceHalves(fn, args, names, this.#lowering));
      const { first, second } = cutGraph(graphOf(traced), (output) => output < early);
      const inputs = namesOf(args);
      return {
        first: await this.#compiled(first, (made) => unflatten(made, 0), [], divisions, inputs),
        early,
        second: await this.#compiled(second, (made) => unflatten(made, 1), [], divisions, inputs),
      };
    });
  }

  /** Waits for what is being compiled: XLA cannot be interrupted, and needs its client until then. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#pending.keys());
    for (const compiled of this.#programs) this.#release(compiled);
    this.#programs.clear();
  }

  async #compiled(
    graph: Graph,
    unflatten: Compiled["unflatten"],
    given: readonly number[],
    divisions: Divisions,
    names: readonly string[],
  ): Promise<Compiled> {
    const shares = sharesOf(names, divisions, graph.outputs.length, unflatten);
    const outputs = graph.outputs.map(({ node, view }, i): Output => ({
      shape: view.shape,
      dtype: node.dtype,
      division: shares.get(i),
    }));
    const donated = pairs(graph, outputs, given, divisions);
    const { module, program } = await this.#written(graph, donated, {
      count: this.#client.devices,
      divided: new Set(divisions.keys()),
      results: new Set(shares.keys()),
    });
    if (this.#isClosed) {
      program.destroy();
      throw new EngineError(`Engine "xla": it was closed while a program was compiled.`);
    }
    const tables = module.tables.map(({ data, shape, dtype }) => place(this.#client, data, shape, dtype));
    const compiled = { program, outputs, tables, donated: [...donated.keys()], unflatten, names };
    this.#programs.add(compiled);
    return compiled;
  }

  /** A cuDNN that cannot compute the attention of a program leaves it to XLA. */
  async #written(graph: Graph, donated: ReadonlyMap<number, number>, devices: Devices) {
    const { precision, cudnnAttention, flags, cache } = this.#options;
    const compiler = cache ?? this.#client;
    const options = { precision, donated, devices };
    const module = writeModule(graph, { ...options, cudnnAttention });
    try {
      return { module, program: await compiler.compile(module.text, flags) };
    } catch (error) {
      if (module.fusedAttentions === 0) throw error;
      const plain = writeModule(graph, options);
      const program = await compiler.compile(plain.text, flags);
      // Not before: what fails without cuDNN too was not its fault.
      this.#options.warn(
        `Engine "xla": cuDNN cannot compute the attention of a program, so XLA does. ${(error as Error).message}`,
      );
      return { module: plain, program };
    }
  }

  #release({ program, tables }: Compiled): void {
    for (const { handles } of tables) remove(this.#client, handles);
    program.destroy();
  }

  /** Seconds since the oldest of what is being compiled began; undefined when nothing is. */
  get compiling(): number | undefined {
    const [begun] = this.#pending.values();
    return begun === undefined ? undefined : (performance.now() - begun) / 1000;
  }

  async #timed<T>(work: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    const working = work();
    this.#pending.set(working, begun);
    try {
      return await working;
    } finally {
      this.#pending.delete(working);
      this.seconds += (performance.now() - begun) / 1000;
    }
  }
}

/** Bytes of a large GPU. */
const LARGE = 2 ** 35;

/** The path to each leaf within its argument, such as `exp_avg/0.weight`. */
function namesOf(args: Args): string[] {
  const names = (tree: Tree<Aval>, path: string): string[] => {
    if (Array.isArray((tree as Aval).shape)) return [path];
    return Object.entries(tree as Readonly<Record<string, Tree<Aval>>>).flatMap(([key, branch]) =>
      names(branch, path === "" ? key : `${path}.${key}`),
    );
  };
  return args.flatMap((arg) => names(arg, ""));
}

/** Constants that the function makes while it is traced are looked at right away. */
function onHost<T>(traces: () => T): T {
  defaultDevice("wasm");
  return traces();
}

function graphOf(traced: Traced): Graph {
  try {
    return lower(traced, WHOLE_CONVOLUTIONS);
  } catch (error) {
    if (!(error instanceof UnsupportedPrimitive)) throw error;
    throw new EngineError(`Engine "xla": ${error.message}. Use engine: "native" or "wasm" for this model.`, {
      cause: error,
    });
  }
}

/** Which outputs the devices share: those that the function returns in a map under the name of an input that they share. */
function sharesOf(
  names: readonly string[],
  divisions: Divisions,
  count: number,
  unflatten: Compiled["unflatten"],
): Map<number, Division> {
  const shared = new Set(names.filter((_, i) => divisions.get(i) === "shares"));
  const found = new Map<number, Division>();
  if (shared.size === 0) return found;
  const visit = (tree: unknown, path: readonly string[]): void => {
    if (typeof tree === "number") {
      if (shared.has(path.slice(1).join("."))) found.set(tree, "shares");
    } else for (const [key, branch] of Object.entries(tree as object)) visit(branch, [...path, key]);
  };
  visit(unflatten(Array.from({ length: count }, (_, i) => i)), []);
  return found;
}

/** Each output takes the memory of a given input of its shape, type and division, if one is left. */
function pairs(
  { inputs, outputs: shown }: Graph,
  outputs: readonly Output[],
  given: readonly number[],
  divisions: Divisions,
): Map<number, number> {
  const keyOf = ({ shape, dtype }: Aval, division: Division | undefined): string =>
    `${dtype}[${shape.join()}] ${division ?? ""}`;
  const free = new Map<string, number[]>();
  for (const index of given) {
    const key = keyOf(inputs[index]!, divisions.get(index));
    free.set(key, [...(free.get(key) ?? []), index]);
  }
  const found = new Map<number, number>();
  for (const [i, output] of outputs.entries()) {
    const candidates = free.get(keyOf(output, output.division));
    if (!candidates?.length) continue;
    // An output that is computed from an input of its shape, such as a parameter's new value, fits it best.
    const own = shown[i]!.node;
    const at = candidates.findIndex((index) => own.op === "input" && own.index === index);
    found.set(candidates.splice(Math.max(at, 0), 1)[0]!, i);
  }
  return found;
}
