// Activations and outputs that a program returned: on the device until someone looks, and then as each hook asked for them.
import type { HostArray } from "../../core/arrays.ts";
import { ContextError } from "../../core/errors.ts";
import { chain } from "../../core/maybe.ts";
import type { HostTensors, MaybePromise } from "../../core/model.ts";
import { didYouMean, selectNames } from "../../core/names.ts";
import type { Activations, ActivationStats, ProbeRequest } from "../../core/inspection.ts";
import { freeAll, leaves, type Buffer, type Engine, type Tree } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import { groupOf, keyOfPoint, pointOfKey, readActivationStats, statsRequest } from "../programs/probes.ts";

export type BufferGroups = Readonly<Record<string, Buffers>>;

/** What one pass collected. Used after its event, it still has what was read, and throws for the rest. */
export class Collected {
  readonly #engine: Engine;
  readonly #groups: BufferGroups;
  readonly #host = new Map<Buffer, HostArray["data"]>();
  #freed = false;

  constructor(engine: Engine, groups: BufferGroups) {
    this.#engine = engine;
    this.#groups = groups;
  }

  /** Reads everything, for engines that cannot read on demand and for values that outlive their buffers. */
  async readAll(): Promise<void> {
    const buffers = Object.values(this.#groups).flatMap((group) => Object.values(group));
    await Promise.all(buffers.map(async (buffer) => void this.#host.set(buffer, await this.#engine.read(buffer))));
  }

  names(group: string): string[] {
    return Object.keys(this.#groups[group] ?? {}).map(pointOfKey);
  }

  get(group: string, name: string): HostArray {
    const buffer = this.#groups[group]![keyOfPoint(name)]!;
    let data = this.#host.get(buffer);
    if (data === undefined) {
      if (this.#freed)
        throw new ContextError(
          `These activations are gone: read what you need inside the event and copy what you keep.`,
        );
      data = this.#engine.read(buffer) as HostArray["data"];
      this.#host.set(buffer, data);
    }
    return { data, shape: [...buffer.shape] };
  }

  free(): void {
    if (!this.#freed) freeAll(this.#engine, this.#groups);
    this.#freed = true;
  }
}

/** The share of one request. */
export class ActivationsOf implements Activations {
  readonly names: readonly string[];
  readonly #collected: Collected | undefined;
  readonly #request: ProbeRequest;
  readonly #group: string;

  constructor(collected: Collected | undefined, request: ProbeRequest) {
    this.#collected = collected;
    this.#request = request;
    this.#group = groupOf(request);
    // A name that is a pattern's whole was collected with it, so that the pattern means the same here as in the program.
    this.names = selectNames(request.match, collected?.names(this.#group) ?? []);
  }

  stats(name: string): ActivationStats {
    return readActivationStats(this.#read("stats", name).data, statsRequest(this.#request));
  }

  get(name: string): HostArray {
    return this.#read("arrays", name);
  }

  #read(kind: "stats" | "arrays", name: string): HostArray {
    const { collect = "stats" } = this.#request;
    if (collect !== kind)
      throw new ContextError(`These are ${collect}, as asked for; for ${kind}, say collect: "${kind}" in the probes.`);
    if (this.names.includes(name)) return this.#collected!.get(this.#group, name);
    const known =
      this.names.length === 0
        ? "None were collected: the pass was skipped, or the cadence did not foresee this step."
        : `Points: ${this.names.join(", ")}.`;
    throw new ContextError(`No activations of \`${name}\` here.${didYouMean(name, this.names)} ${known}`);
  }
}

/** The activations of the last pass. */
export class ActivationsView {
  readonly #engine: Engine;
  #last: Collected | undefined;
  #settled = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Takes over what a program returned: nothing, if nobody asked. */
  set(groups: BufferGroups): void {
    this.free();
    for (const _ in groups) {
      this.#last = new Collected(this.#engine, groups);
      return;
    }
  }

  /** Reads them, on engines that cannot read on demand. */
  settle(): MaybePromise<void> {
    if (this.#engine.syncRead || !this.#last || this.#settled) return undefined;
    this.#settled = true;
    return this.#last.readAll();
  }

  of(request: ProbeRequest): Activations {
    return new ActivationsOf(this.#last, request);
  }

  free(): void {
    this.#last?.free();
    this.#last = undefined;
    this.#settled = false;
  }
}

// The outputs of a pass, for the hooks that need them.

export class OutputsView {
  readonly #engine: Engine;
  #buffers: Tree<Buffer> | undefined;
  #host: HostArray | HostTensors | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Takes over what a program returned, in place of what was there. */
  set(outputs: Tree<Buffer> | undefined): void {
    this.free();
    this.#buffers = outputs;
  }

  /** Reads them, on engines that cannot read on demand. */
  settle(): MaybePromise<void> {
    if (this.#engine.syncRead || !this.#buffers || this.#host) return undefined;
    return chain(readTree(this.#engine, this.#buffers), (host) => void (this.#host = host));
  }

  get host(): HostArray | HostTensors {
    if (this.#host) return this.#host;
    if (!this.#buffers) {
      throw new ContextError(
        `ctx.outputs did not come back from the device. Say needs: ["outputs"] on the hook that reads them.`,
      );
    }
    return (this.#host = readTree(this.#engine, this.#buffers) as HostArray | HostTensors);
  }

  free(): void {
    if (this.#buffers) freeAll(this.#engine, this.#buffers);
    this.#buffers = undefined;
    this.#host = undefined;
  }
}

/** Host copies of a model's outputs: one array, or several by name. */
export function readTree(engine: Engine, outputs: Tree<Buffer>): MaybePromise<HostArray | HostTensors> {
  const buffers = leaves(outputs);
  const single = buffers[0] === outputs;
  const names = single ? [] : Object.keys(outputs);
  const pack = (arrays: readonly HostArray[]): HostArray | HostTensors =>
    single ? arrays[0]! : Object.fromEntries(names.map((name, i) => [name, arrays[i]!]));
  const values = buffers.map((buffer) => engine.read(buffer));
  const wrap = (data: HostArray["data"], i: number): HostArray => ({ data, shape: [...buffers[i]!.shape] });
  if (engine.syncRead) return pack((values as HostArray["data"][]).map(wrap));
  return Promise.all(values.map(async (value) => value)).then((all) => pack(all.map(wrap)));
}
