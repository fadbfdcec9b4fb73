// What is done to all gradients of a stack, layer by layer: the weighted sum of micro-batches, their norm, clipping. Only one
// layer's old and new gradients exist at a time, and layers with the same tensors share a program.
import { numpy as np } from "@jax-js/jax";
import type { StackLayer, Tensor, Tensors } from "../../core/model.ts";
import type { Buffer, Engine } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import { mapTensors, type ProgramSpec, report } from "../programs/programs.ts";
import type { Compiled, ProgramCache } from "../programs/run.ts";
import { type LayerName, ownOf, partsOf } from "./divide.ts";

export class LayeredGrads {
  readonly #engine: Engine;
  readonly #programs: ProgramCache;
  readonly #layers: readonly StackLayer[];

  constructor(engine: Engine, programs: ProgramCache, layers: readonly StackLayer[]) {
    this.#engine = engine;
    this.#programs = programs;
    this.#layers = layers;
  }

  /** A function of gradients, which it consumes, and a weight, such as `accumulate`. */
  async weighted(
    fn: (...args: never[]) => Tensors,
    weight: number,
    ...[grads, ...others]: readonly [Buffers, ...Buffers[]]
  ): Promise<Buffers> {
    const scalar = this.#engine.put({ data: Float32Array.of(weight), shape: [] });
    const program = this.#programs.once(fn.name, () => fn, { donate: [0, ...others.map((_, i) => i + 1)] });
    const rest = (part: readonly LayerName[]): Buffers[] => others.map((all) => ownOf(part, all));
    try {
      return await this.#each(grads, (part, own) => program(own, ...rest(part), scalar));
    } finally {
      this.#engine.free(scalar);
    }
  }

  /** As `clipGrads`: the gradients, which it consumes, and a report of the norms before and after. */
  async clip(spec: ProgramSpec, given: Buffers, control: Buffer): Promise<{ grads: Buffers; report: Buffer }> {
    const before = await this.#squares(given);
    let grads = given;
    if (spec.clipValue) {
      const program = this.#programs.of(spec, "clip values", () => clipValues(spec), { donate: [0] });
      grads = await this.#each(given, (_, own) => program(own, control));
    }
    const after = spec.clipValue ? await this.#squares(grads) : this.#engine.copy(before);
    const measure = this.#programs.of(spec, "clip factor", () => clipFactor(spec), { donate: [0, 1] });
    const { report, factor } = (await measure(before, after, control)) as { report: Buffer; factor?: Buffer };
    if (!factor) return { grads, report };
    const program = this.#programs.once("scale", () => scale, { donate: [0] });
    try {
      return { grads: await this.#each(grads, (_, own) => program(own, factor)), report };
    } finally {
      this.#engine.free(factor);
    }
  }

  /** As `normOf`: the global norm, in a vector of one. */
  async norm(grads: Buffers): Promise<Buffer> {
    const program = this.#programs.once("root", () => (squares: Tensor) => report(np.sqrt(squares)), { donate: [0] });
    return (await program(await this.#squares(grads))) as Buffer;
  }

  async #squares(grads: Buffers): Promise<Buffer> {
    const program = this.#programs.once("add squares", () => addSquares, { donate: [1] });
    let sum = this.#engine.put({ data: Float32Array.of(0), shape: [] });
    for (const part of this.#parts(grads)) sum = (await program(ownOf(part, grads), sum)) as Buffer;
    return sum;
  }

  /** What a program makes of each part, by the names of the model and in the order of `all`. */
  async #each(
    all: Buffers,
    program: (part: readonly LayerName[], own: Buffers) => ReturnType<Compiled>,
  ): Promise<Buffers> {
    const made: Record<string, Buffer> = { ...all };
    for (const part of this.#parts(all)) {
      const out = (await program(part, ownOf(part, all))) as Buffers;
      for (const { whole, own } of part) made[whole] = out[own]!;
    }
    return made;
  }

  #parts(all: Buffers): readonly (readonly LayerName[])[] {
    return partsOf(this.#layers, Object.keys(all));
  }
}

const addSquares = (grads: Tensors, sum: Tensor): Tensor =>
  Object.values(grads).reduce((total, grad) => total.add(np.square(grad).sum()), sum);

const scale = (grads: Tensors, factor: Tensor): Tensors => mapTensors(grads, (grad) => grad.mul(factor.ref));

const clipValues =
  (spec: ProgramSpec) =>
  (grads: Tensors, control: Tensor): Tensors => {
    const value = spec.control.get(control, "clipValue");
    return mapTensors(grads, (grad) => np.minimum(np.maximum(grad, value.ref.neg()), value.ref));
  };

/** PyTorch's coefficient, 1e-6 included, and the norms before and after. */
const clipFactor = (spec: ProgramSpec) => (before: Tensor, after: Tensor, control: Tensor) => {
  const norm = np.sqrt(before);
  const clipped = np.sqrt(after);
  if (!spec.clipNorm) return { report: report(norm, clipped) };
  const limit = spec.control.get(control, "clipNorm");
  const factor = np.minimum(limit.div(clipped.ref.add(1e-6)), 1);
  return { report: report(norm, clipped.mul(factor.ref)), factor };
};
