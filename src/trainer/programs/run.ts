// Running programs: compiled once, fed with checked batches and the control vector, with errors that name the batch.
import type { HostBatch, MaybePromise, Tensor, TensorBatch, Tensors } from "../../core/model.ts";
import type { Buffer, Engine, Halfway, JitOptions, Tree } from "../../engines/engine.ts";
import { DataError, HooklineError, ProgramError } from "../../core/errors.ts";
import { chain, messageOf } from "../../core/maybe.ts";
import { type HostArray, isHostArray, measure, samplesIn, toBatch } from "../../core/arrays.ts";
import type { FetchedBatch } from "../../core/loop/session.ts";
import type { LoaderSet } from "../../data/loader-set.ts";
import { cutShare, type Part } from "../../data/share.ts";
import { layerOf } from "../../nn/tap.ts";
import type { Buffers } from "../device-state.ts";
import type { Micro } from "../open-step.ts";
import { outOfRange, visitIndices, type PlacedRange } from "../../nn/indices.ts";

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

  /** `functions` counts the users' functions that programs are made of. */
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
    const [who, what, where] =
      hook === undefined
        ? ["This program", verb, ""]
        : [`Hook \`${hook}\``, `ctx.${verb}`, ", outside the hook's method"];
    this.#warn(
      `${who} has passed ${seen.count} different functions to ${what}. Each is compiled, even if its text is the same. Create the function once${where}, and pass that one every time.`,
    );
  }
}

// What goes into a step's programs from the host: batches, with their labels checked, and the control vector.

/** Each new shape costs a compilation; more than this many is probably a mistake. */
const MANY_SHAPES = 8;

const describeBatch = (batch: HostBatch): string =>
  `{ ${Object.entries(batch)
    .map(([name, array]) => `${name}: [${isHostArray(array) ? array.shape.join(", ") : typeof array}]`)
    .join(", ")} }`;

function sameShapes(shapes: readonly (readonly number[])[], arrays: readonly HostArray[]): boolean {
  if (shapes.length !== arrays.length) return false;
  for (let i = 0; i < arrays.length; i++) {
    const [known, { shape }] = [shapes[i]!, arrays[i]!];
    if (known.length !== shape.length) return false;
    for (let d = 0; d < shape.length; d++) if (known[d] !== shape[d]) return false;
  }
  return true;
}

export class BatchInput {
  readonly #engine: Engine;
  readonly #warn: (message: string) => void;
  /** By loader: all shapes so far, each as one word, and those of the last batch. */
  readonly #shapes = new Map<string, Set<string>>();
  readonly #last = new Map<string, readonly (readonly number[])[]>();

  constructor(engine: Engine, warn: (message: string) => void) {
    this.#engine = engine;
    this.#warn = warn;
  }

  put(batch: HostBatch, loader: string): Buffers {
    const names = Object.keys(batch);
    const arrays = Object.values(batch);
    // Nearly every batch has the shape of the one before: only another one is worth a look.
    const last = this.#last.get(loader);
    if (last === undefined || !sameShapes(last, arrays)) this.#watchShapes(batch, loader, arrays);
    const buffers: Record<string, Buffer> = {};
    const engine = this.#engine;
    for (let i = 0; i < names.length; i++) {
      buffers[names[i]!] = engine.putRows ? engine.putRows(arrays[i]!) : engine.put(arrays[i]!);
    }
    return buffers;
  }

  #watchShapes(batch: HostBatch, loader: string, arrays: readonly HostArray[]): void {
    this.#last.set(
      loader,
      arrays.map(({ shape }) => [...shape]),
    );
    let seen = this.#shapes.get(loader);
    if (!seen) this.#shapes.set(loader, (seen = new Set()));
    const shape = arrays.map((array) => array.shape.join("x")).join();
    if (seen.has(shape)) return;
    seen.add(shape);
    if (seen.size !== MANY_SHAPES + 1) return;
    this.#warn(
      `Loader \`${loader}\` has given batches of ${seen.size} different shapes, the last ${describeBatch(batch)}. Each is compiled separately; pad or bucket them to a few shapes.`,
    );
  }
}

/** The trainer's options that a step depends on. */
export interface StepOptions {
  readonly seed: number;
  readonly clipNorm: number | undefined;
  readonly clipValue: number | undefined;
  readonly lossWeights: Readonly<Record<string, number>>;
  readonly totals: () => { readonly totalSteps: number | undefined; readonly totalEpochs: number | undefined };
}

/**
 * Fetches and counts training batches. In a process group the loader makes only this rank's rows, unless tokens are
 * counted: they are those of the whole batch.
 */
export function fetcher(
  loaders: LoaderSet,
  tokens: ((batch: HostBatch) => number) | undefined,
  rank: Part | undefined,
  seen: { readonly batchSeen: boolean },
  step: { readonly plan: { readonly finite: boolean } },
): (from?: number) => MaybePromise<FetchedBatch> {
  if (rank && !tokens) {
    return (from) =>
      chain(loaders.nextShare(rank, from), (share) => ({
        batch: share!.batch,
        samples: share!.samples,
        tokens: 0,
        share,
      }));
  }
  const name = (): string => `Loader \`${loaders.names[loaders.source!]}\``;
  /** The batch before, if only the engine has read it, which has copied it: memory for a new one would cost more than its rows. */
  let last: HostBatch | undefined;
  return (from) => {
    // A guarded step is computed again from its batches if it fails.
    if (last && !seen.batchSeen && !step.plan.finite) loaders.reuse(last);
    last = undefined;
    return chain(loaders.next(from), (next) => {
      const batch = toBatch(next, name);
      if (batch === next && !tokens && !rank) last = batch;
      const share = rank && cutShare(batch, rank);
      return {
        batch: share?.batch ?? batch,
        samples: samplesIn(batch),
        tokens: tokens ? measure("tokens", batch, tokens) : 0,
        share,
      };
    });
  };
}

// The control vector's way to the device: sent again only when a number in it has changed.

export class ControlInput {
  readonly #engine: Engine;
  readonly #layout: ControlLayout;
  readonly #lossWeights: StepOptions["lossWeights"];
  #buffer: Buffer | undefined;

  constructor(engine: Engine, layout: ControlLayout, { clipNorm, clipValue, lossWeights }: StepOptions) {
    this.#engine = engine;
    this.#layout = layout;
    this.#lossWeights = lossWeights;
    layout.set("clipNorm", clipNorm ?? 0);
    layout.set("clipValue", clipValue ?? 0);
  }

  /** The vector for a pass over this micro-batch, or for what comes after the last. Programs borrow it. */
  put(scale: number, micro: Pick<Micro, "loader" | "weight" | "part"> | undefined): Buffer {
    const layout = this.#layout;
    const { [micro?.loader ?? ""]: lossWeight = 1 } = this.#lossWeights;
    layout.set("scale", scale * lossWeight * (micro?.part ?? 1));
    layout.set("weight", micro?.weight ?? 1);
    if (this.#buffer && !layout.changed) return this.#buffer;
    this.free();
    layout.changed = false;
    const { values } = layout;
    return (this.#buffer = this.#engine.put({ data: values, shape: [values.length] }));
  }

  free(): void {
    if (this.#buffer) this.#engine.free(this.#buffer);
    this.#buffer = undefined;
  }
}

// The control vector: every number that may change from step to step goes into a program through one small input.

/** Gives each named number a place in one Float32Array, and reads it back by name inside a program. */
export class ControlLayout {
  readonly #index = new Map<string, number>();
  /** Places by prefix (up to the dot) and the rest of the name: groups are written in every step. */
  readonly #groups = new Map<string, Map<string, number>>();
  readonly values: Float32Array<ArrayBuffer>;
  /** Set when a number changes; reset when the vector is sent to the device. */
  changed = true;

  constructor(names: Iterable<string>) {
    for (const name of new Set(names)) {
      const place = this.#index.size;
      this.#index.set(name, place);
      const prefix = name.slice(0, name.indexOf(".") + 1);
      if (!this.#groups.has(prefix)) this.#groups.set(prefix, new Map());
      this.#groups.get(prefix)!.set(name.slice(prefix.length), place);
    }
    this.values = new Float32Array(this.#index.size);
  }

  set(name: string, value: number): void {
    this.#write(this.#index.get(name)!, value);
  }

  /** Sets the scalars of these names under a prefix. */
  setGroup(prefix: string, values: Readonly<Record<string, number>>): void {
    const places = this.#groups.get(prefix)!;
    for (const name in values) this.#write(places.get(name)!, values[name]!);
  }

  #write(place: number, value: number): void {
    const before = this.values[place];
    this.values[place] = value;
    if (this.values[place] !== before) this.changed = true;
  }

  /** The scalar of that name inside a program. */
  get(control: Tensor, name: string): Tensor {
    return control.ref.slice(this.#index.get(name)!);
  }

  /** All scalars under a prefix, as `h` of an optimizer's rule. */
  group(control: Tensor, prefix: string): Tensors {
    const names = [...this.#groups.get(prefix)!.keys()];
    return Object.fromEntries(names.map((name) => [name, this.get(control, prefix + name)]));
  }
}

// What the programs of a spec expect of the batch's labels and ids: learned while they are traced, checked on the host
// before each batch goes to the device, which costs one pass over these fields.

interface Rule {
  readonly field: string;
  readonly range: PlacedRange;
  /** Part of the model and its loss, or of a metric? */
  readonly part: "loss" | "metric";
}

export class IndexRules {
  readonly #loader: string;
  readonly #rules = new Map<string, Rule>();
  /** The batch that the next program runs on. */
  #host: HostBatch = {};

  constructor(loader: string) {
    this.#loader = loader;
  }

  /** Checks a batch. The first one is checked while its program is traced: before that there are no rules. */
  check(host: HostBatch): void {
    this.#host = host;
    for (const rule of this.#rules.values()) this.#apply(rule);
  }

  /** Traces the part of a program that computes on `batch`. */
  watch<T>(part: Rule["part"], batch: TensorBatch, body: () => T): T {
    return visitIndices((x, range) => {
      // A field as it is. What the model computes from one has no values on the host; there NaN shows what is wrong.
      const field = Object.keys(batch).find((name) => batch[name] === x);
      if (field === undefined) return;
      const rule = { field, range, part };
      this.#rules.set(JSON.stringify(rule), rule);
      this.#apply(rule);
    }, body);
  }

  /** A field with labels that the loss leaves out, and their value; undefined when it has none. */
  masked(host: HostBatch): { readonly field: string; readonly ignoreIndex: number } | undefined {
    for (const { field, range, part } of this.#rules.values()) {
      const { ignoreIndex } = range;
      const data = host[field]?.data;
      if (part === "loss" && data && ignoreIndex !== undefined && data.includes(ignoreIndex))
        return { field, ignoreIndex };
    }
    return undefined;
  }

  #apply({ field, range }: Rule): void {
    const array = this.#host[field];
    const bad = array && outOfRange(range, array.data, array.shape);
    if (bad !== undefined) throw new DataError(`Loader \`${this.#loader}\`, batch field \`${field}\`: ${bad}.`);
  }
}
