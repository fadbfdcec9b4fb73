// Activations that a program collected: on the device until someone looks, and then as each hook asked for them.
import type { HostArray } from "../../core/arrays.ts";
import { ContextError } from "../../core/errors.ts";
import type { MaybePromise } from "../../core/model.ts";
import { didYouMean, selectNames } from "../../core/names.ts";
import type { Activations, ActivationStats, ProbeRequest } from "../../core/inspection.ts";
import { freeAll, type Buffer, type Engine } from "../../engines/engine.ts";
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
