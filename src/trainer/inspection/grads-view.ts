// `ctx.grads`: gradients on the engine, seen and changed through programs.
import type { HostArray } from "../../core/arrays.ts";
import { ContextError, OptionError } from "../../core/errors.ts";
import type { Grads, GradStats, GradStatsOptions } from "../../core/inspection.ts";
import type { Tensor, Tensors } from "../../core/model.ts";
import { didYouMean, selectNames } from "../../core/names.ts";
import { checkOptions, is, show } from "../../core/options.ts";
import { readBuffer, type Buffer, type Engine } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import type { ProgramCache } from "../programs/run.ts";
import { mapTensors, normOf } from "../programs/programs.ts";
import { readStats, tensorNorms, tensorStats } from "../programs/stats.ts";

/** Where a view reads and writes its gradients. */
export interface GradWindow {
  readonly open: boolean;
  get(): Buffers;
  /** Replaces gradients; the window frees what they replace. */
  set(grads: Buffers): void;
}

const STATS_CHECKS = {
  percentiles: is.arrayOf(is.between(0, 100)),
  histogram: is.wholeFrom(1),
  filter: is.or(is.name, is.function, is.arrayOf(is.name)),
};

export class GradsView implements Grads {
  readonly #engine: Engine;
  readonly #programs: ProgramCache;
  readonly #window: GradWindow;
  readonly #record: (what: string) => void;

  constructor(engine: Engine, programs: ProgramCache, window: GradWindow, record: (what: string) => void) {
    this.#engine = engine;
    this.#programs = programs;
    this.#window = window;
    this.#record = record;
  }

  get #grads(): Buffers {
    if (!this.#window.open)
      throw new ContextError(
        `These gradients are gone: ctx.grads lives only during its event. Await what you need inside the method.`,
      );
    return this.#window.get();
  }

  get names(): readonly string[] {
    return Object.keys(this.#grads);
  }

  async norm(): Promise<number> {
    return this.#scalar(await this.#programs.once("grads.norm", () => normOf)(this.#grads));
  }

  async norms(): Promise<Record<string, number>> {
    const { names } = this;
    const vector = (await this.#programs.once("grads.norms", () => tensorNorms)(this.#grads)) as Buffer;
    const values = await this.#engine.read(vector);
    this.#engine.free(vector);
    return Object.fromEntries(names.map((name, i) => [name, values[i]!]));
  }

  async get(name: string): Promise<HostArray> {
    const buffer = this.#grads[name];
    if (!buffer)
      throw new ContextError(
        `No gradient named \`${name}\` here.${didYouMean(name, this.names)} Gradients: ${this.names.join(", ")}.`,
      );
    return readBuffer(this.#engine, buffer);
  }

  async stats(options: GradStatsOptions = {}): Promise<Record<string, GradStats>> {
    checkOptions("ctx.grads.stats", options, STATS_CHECKS);
    const request = { percentiles: options.percentiles ?? [], bins: options.histogram ?? 0 };
    const names = options.filter === undefined ? this.names : selectNames(options.filter, this.names);
    if (names.length === 0)
      throw new OptionError(`ctx.grads.stats: \`filter\` matches no gradient. Gradients: ${this.names.join(", ")}.`);
    const grads = this.#grads;
    const program = this.#programs.once(`grads.stats ${JSON.stringify(request)}`, () => tensorStats(request));
    const rows = (await program(Object.fromEntries(names.map((name) => [name, grads[name]!])))) as Buffer;
    const values = await this.#engine.read(rows);
    this.#engine.free(rows);
    const length = values.length / names.length;
    const row = (i: number): GradStats => readStats(values.subarray(i * length, (i + 1) * length), request);
    return Object.fromEntries(names.map((name, i) => [name, row(i)]));
  }

  async scale(k: number): Promise<void> {
    if (typeof k !== "number" || !Number.isFinite(k))
      throw new ContextError(`ctx.grads.scale takes a finite number, got ${show(k)}.`);
    this.#record(`grads.scale(${k})`);
    const factor = this.#engine.put({ data: Float32Array.of(k), shape: [] });
    const scaled = this.#programs.once(
      "grads.scale",
      () => (grads: Tensors, by: Tensor) => mapTensors(grads, (g) => g.mul(by.ref)),
    );
    try {
      this.#window.set((await scaled(this.#grads, factor)) as Buffers);
    } finally {
      this.#engine.free(factor);
    }
  }

  async clip(norm: number): Promise<number> {
    if (typeof norm !== "number" || !(norm > 0))
      throw new ContextError(`ctx.grads.clip takes a number > 0, got ${show(norm)}.`);
    const before = await this.norm();
    if (before > norm) await this.scale(norm / (before + 1e-6));
    return before;
  }

  async map(fn: (grad: Tensor, name: string) => Tensor): Promise<void> {
    this.#record(`grads.map(${fn.name || "anonymous"})`);
    const mapped = this.#programs.of(
      fn,
      "grads.map",
      () => (grads: Tensors) => mapTensors(grads, (g, name) => fn(g.ref, name)),
    );
    this.#window.set((await mapped(this.#grads)) as Buffers);
  }

  async #scalar(buffer: unknown): Promise<number> {
    const [value] = await this.#engine.read(buffer as Buffer);
    this.#engine.free(buffer as Buffer);
    return value!;
  }
}
