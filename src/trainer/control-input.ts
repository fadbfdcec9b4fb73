// The control vector's way to the device: sent again only when a number in it has changed.
import type { Buffer, Engine } from "../engines/engine.ts";
import type { Micro } from "./open-step.ts";
import type { ControlLayout } from "./programs/control.ts";
import type { StepOptions } from "./step-parts.ts";

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
