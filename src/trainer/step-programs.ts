// The programs of a training step for a spec: one for each pass, or a stack's passes layer by layer.
import type { Buffer } from "../engines/engine.ts";
import type { Buffers } from "./device-state.ts";
import type { UpdateRule } from "./programs/programs.ts";
import { clipGrads, fusedStep, lossGrads, normOf, updateParams } from "./programs/programs.ts";
import type { Compiled, Cut, ProgramCache } from "./programs/run.ts";
import type { LayeredPasses } from "./layered/layered-passes.ts";
import type { StepSpec } from "./specs.ts";

/** Indices of the inputs of `fusedStep` that the program may reuse: all but the frozen parameters and the control vector. */
const FUSED = { donate: [0, 1, 2, 3, 5, 7] };
/** A guarded step keeps the state before it until its report says that it counts. */
const GUARDED = { donate: [5, 7] };
const SHOWN_AFTER_FORWARD = ["report", "outputs", "activations"];

export class StepPrograms {
  readonly #programs: ProgramCache;
  readonly #layered: LayeredPasses | undefined;

  constructor(programs: ProgramCache, layered: LayeredPasses | undefined) {
    this.#programs = programs;
    this.#layered = layered;
  }

  /** The whole step. */
  fused(spec: StepSpec, guarded: boolean): Compiled {
    const layered = this.#layered?.fused(spec, guarded);
    if (layered) return layered;
    return guarded
      ? this.#programs.of(spec, "guarded", () => fusedStep(spec), GUARDED)
      : this.#programs.of(spec, "fused", () => fusedStep(spec), FUSED);
  }

  /** The backward pass, cut where the loss is known; undefined where an engine cannot do it. */
  cut(spec: StepSpec): Cut | undefined {
    return this.#layered?.cut(spec) ?? this.#programs.cut(spec, () => lossGrads(spec), SHOWN_AFTER_FORWARD);
  }

  /** Loss and gradients of a micro-batch. `collects`: are activations wanted, too? */
  lossGrads(spec: StepSpec, collects: boolean): Compiled {
    const layered = this.#layered?.lossGrads(spec);
    if (layered) return layered;
    return collects
      ? this.#programs.of(spec, "lossGrads", () => lossGrads(spec))
      : this.#programs.of(spec, "lossGrads only", () => lossGrads({ ...spec, probes: [] }));
  }

  /** One optimizer's update of these parameters and slots. */
  update(
    spec: StepSpec,
    index: number,
    rule: UpdateRule,
    names: readonly string[],
    slots: readonly string[],
  ): Compiled {
    const layered = this.#layered?.update(spec, rule, names, slots);
    return layered ?? this.#programs.of(spec, `update ${index}`, () => updateParams(spec, rule));
  }

  /** The step's gradients clipped, and a report of their norms. */
  clip(spec: StepSpec): Compiled {
    const layered = this.#layered?.grads;
    if (layered) return async (grads, control) => layered.clip(spec, grads as Buffers, control as Buffer);
    return this.#programs.of(spec, "clip", () => clipGrads(spec), { donate: [0] });
  }

  /** The norm of all gradients. */
  norm(): Compiled {
    const layered = this.#layered?.grads;
    return layered ? (grads) => layered.norm(grads as Buffers) : this.#programs.once("norm", () => normOf);
  }
}
