// The forward and the backward pass of a micro-batch, where they run apart from the update.
import type { MaybePromise } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import type { Buffer, Halfway, Tree } from "../engines/engine.ts";
import type { BufferGroups } from "./activations-view.ts";
import type { ControlInput } from "./inputs.ts";
import type { Buffers, DeviceState } from "./device-state.ts";
import { pick, type OpenStep } from "./open-step.ts";
import type { Cut, ProgramCache } from "./programs/compiled.ts";
import { forwardOnly, lossGrads } from "./programs/programs.ts";
import type { StepSpec } from "./specs.ts";
import type { StepReadings } from "./readings.ts";
import type { Totals } from "./averages.ts";

/** What comes out of a program that has passed over a batch. */
export interface Pass {
  readonly state: Buffers;
  readonly sums: Buffer;
  /** Of this batch alone, when the plan asks for them. */
  readonly batchSums?: Buffer;
  readonly report: Buffer;
  readonly outputs: Tree<Buffer>;
  readonly activations: BufferGroups;
}

type GradsResult = Pass & { readonly grads: Buffers };

/** What a forward pass shows. */
const SHOWN = ["report", "outputs", "activations"];

export interface PassParts {
  readonly programs: ProgramCache;
  readonly state: DeviceState;
  readonly totals: Totals;
  readonly open: OpenStep;
  readonly shown: StepReadings;
  readonly control: ControlInput;
}

export class StepPasses {
  readonly #parts: PassParts;

  constructor(parts: PassParts) {
    this.#parts = parts;
  }

  /** Up to the loss: the first half of the backward pass's program, where the engine can cut it, else one of its own. */
  forward(spec: StepSpec): MaybePromise<void> {
    const { programs, open, shown, state } = this.#parts;
    const cut = programs.cut(spec, () => lossGrads(spec), SHOWN);
    if (cut) return this.#firstHalf(spec, cut);
    const { batch, key } = open.micro!;
    const program = programs.of(spec, "forward", () => forwardOnly(spec));
    const done = open.run("forward pass", spec, program, state.params, open.state ?? state.state, batch, key);
    return chain(done, (out) => {
      shown.show(out as unknown as Pass);
    });
  }

  #firstHalf(spec: StepSpec, cut: Cut): MaybePromise<void> {
    const { open, shown } = this.#parts;
    return chain(open.run("forward pass", spec, cut, ...this.#inputs(spec, 1)), (halfway) => {
      open.micro!.halfway = halfway;
      shown.show(halfway.early as unknown as Pass);
    });
  }

  /** `collects` is false when a forward pass came first and has shown activations already. */
  backward(spec: StepSpec, scale: number, collects: boolean): MaybePromise<void> {
    const { programs, open, shown } = this.#parts;
    const { halfway } = open.micro!;
    if (halfway) return this.#secondHalf(spec, halfway, scale);
    const program = collects
      ? programs.of(spec, "lossGrads", () => lossGrads(spec))
      : programs.of(spec, "lossGrads only", () => lossGrads({ ...spec, probes: [] }));
    return chain(open.run("backward pass", spec, program, ...this.#inputs(spec, scale)), (out) => {
      const { report, outputs, activations, batchSums, ...result } = out as unknown as GradsResult;
      open.finish(result);
      shown.show({ report, outputs, ...(collects && { activations }) });
      shown.metrics.set(batchSums, open.micro!.weight);
    });
  }

  /** All that the first half has shown stays; nothing of it is computed again. */
  #secondHalf(spec: StepSpec, halfway: Halfway, scale: number): MaybePromise<void> {
    const { open, shown } = this.#parts;
    return chain(open.run("backward pass", spec, halfway.finish, ...this.#inputs(spec, scale)), (out) => {
      const { grads, state, sums, batchSums } = out as unknown as GradsResult;
      open.finish({ grads, state, sums });
      shown.metrics.set(batchSums, open.micro!.weight);
    });
  }

  #inputs(spec: StepSpec, scale: number): Tree<Buffer>[] {
    const { open, state, totals, control } = this.#parts;
    const { batch, key } = open.micro!;
    const train = pick(state.params, spec.train);
    const frozen = pick(state.params, spec.frozen);
    const vector = control.put(scale, open.micro);
    return [train, open.state ?? state.state, open.sums ?? totals.sums, frozen, batch, vector, key];
  }
}
