// Finds what was not finite in a guarded step: its micro-batches are computed once more.
import type { Diagnosis, NonFinite } from "../../core/inspection.ts";
import type { Buffer, Engine } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import type { Micro } from "../open-step.ts";
import type { ProbeRunner } from "./probe-runner.ts";
import type { ProgramCache } from "../programs/run.ts";
import { nonFiniteCounts } from "../programs/stats.ts";
import type { StepSpec } from "../specs.ts";
import type { HostBatch } from "../../core/model.ts";

/** A micro-batch that is part of the step, with what is needed to compute it again. */
interface Suspect extends Pick<Micro, "host" | "loader" | "index"> {
  readonly spec: StepSpec;
  readonly scale: number;
}

/** Computes a micro-batch again; its gradients live as long as `look` takes. */
type Again = (suspect: Suspect, look: (loss: number, grads: Buffers) => Promise<Diagnosis>) => Promise<Diagnosis>;

export class Suspects {
  readonly #engine: Engine;
  readonly #programs: ProgramCache;
  readonly #probes: ProbeRunner;
  readonly #kept: Suspect[] = [];

  constructor(engine: Engine, programs: ProgramCache, probes: ProbeRunner) {
    this.#engine = engine;
    this.#programs = programs;
    this.#probes = probes;
  }

  clear(): void {
    this.#kept.length = 0;
  }

  add({ host, loader, index }: Micro, spec: StepSpec, scale: number): void {
    this.#kept.push({ host, loader, index, spec, scale });
  }

  /** The first that is bad, or the last. `tensors` are the parameters that the step began with, and still has. */
  async diagnose(step: number, loaderName: string, tensors: Buffers, again: Again): Promise<Diagnosis> {
    const params = await this.#count(tensors);
    // Of several processes, one that had no rows of this step has nothing bad to show.
    let found: Diagnosis = {
      micro: 0,
      loaderName,
      batch: {},
      params,
      loss: 0,
      grads: {},
      index: undefined,
      activation: undefined,
    };
    for (const suspect of this.#kept) {
      const { host, loader, index: micro } = suspect;
      found = await again(suspect, async (loss, tensorGrads) => {
        const grads = await this.#count(tensorGrads);
        const draw = { loader, step, micro };
        const isFinite = Number.isFinite(loss);
        const index = isFinite ? undefined : await this.#probes.firstBadIndex(host, draw);
        const activation = isFinite ? undefined : await this.#probes.firstBadPoint(host, draw);
        return { micro, loaderName: loader, batch: nonFiniteIn(host), params, loss, index, activation, grads };
      });
      if (isBad(found)) break;
    }
    return found;
  }

  async #count(tensors: Buffers): Promise<NonFinite> {
    const names = Object.keys(tensors);
    if (names.length === 0) return {};
    const vector = (await this.#programs.once("nonFinite", () => nonFiniteCounts)(tensors)) as Buffer;
    const counts = await this.#engine.read(vector);
    this.#engine.free(vector);
    return byName(names.map((name, i) => [name, counts[i]!]));
  }
}

// Values that are NaN or infinite, counted by name on the host.

/** The names that have any. */
const byName = (counts: readonly (readonly [string, number])[]): NonFinite =>
  Object.fromEntries(counts.filter(([, count]) => count > 0));

/** Only typed arrays of floats can hold one; a loop over the others finds nothing. */
const nonFiniteIn = (batch: HostBatch): NonFinite =>
  byName(
    Object.entries(batch).map(([name, { data }]) => {
      let count = 0;
      for (const value of data) if (!Number.isFinite(value)) count++;
      return [name, count];
    }),
  );

const isBad = ({ batch, params, loss, grads }: Diagnosis): boolean =>
  !Number.isFinite(loss) || [batch, params, grads].some((counts) => Object.keys(counts).length > 0);
