// One pass of a batch through a stack, program by program. What it keeps between them are the hidden states before each
// layer that is computed again on the way back.
import { type Buffer, type Engine, freeAll, freeRest, type Tree } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import { pick } from "../open-step.ts";
import type { ProgramCache } from "../programs/run.ts";
import { type Division, ownOf, wholeOf } from "./divide.ts";
import {
  embedding,
  embeddingBackward,
  headLossGrads,
  layerBackward,
  layerForward,
  type StackSpec,
} from "./layer-programs.ts";
import type { PassInputs, PassPlan, Route } from "./pass-plan.ts";

export interface LayeredParts {
  readonly engine: Engine;
  readonly programs: ProgramCache;
  /** By layer: what is added to the key of a pass. */
  readonly offset: (layer: number) => Buffer;
}

/** What `lossGrads` returns for hooks and sums, and the gradients. */
export interface Gradients {
  readonly grads: Buffers;
  readonly sums: Buffer;
  readonly batchSums?: Buffer;
  readonly outputs: Tree<Buffer>;
  readonly report: Buffer;
}

type HeadResult = Gradients & { readonly hidden?: Buffer };

export class LayeredPass {
  readonly #parts: LayeredParts;
  readonly #spec: StackSpec;
  readonly #inputs: PassInputs;
  /** Hidden states, and gradients that nobody else has yet. */
  readonly #held = new Set<Buffer>();
  /** The hidden states before each layer that were kept, and before the head. */
  readonly #hidden: Buffer[] = [];

  constructor(parts: LayeredParts, spec: StackSpec, inputs: PassInputs) {
    this.#parts = parts;
    this.#spec = spec;
    this.#inputs = inputs;
  }

  /** The hidden states before the head. */
  async forward({ train, fixed, lowest, trains }: Route): Promise<Buffer> {
    const { programs } = this.#parts;
    const spec = this.#spec;
    const { batch, key } = this.#inputs;
    const mode = trains ? "train" : "eval";
    const first = programs.of(spec, `embedding ${mode}`, () => embedding(spec, trains));
    let hidden = this.#hold(await first(this.#rest(train, "train"), this.#rest(fixed, "fixed"), batch, key));
    for (const [i, layer] of spec.stack.layers.entries()) {
      const program = programs.of(spec, `layer ${layer.kind} ${mode}`, () => layerForward(spec, layer, trains));
      const next = await program(...this.#own(train, fixed, i), hidden, batch, key, this.#parts.offset(i));
      if (i < lowest) this.#release(hidden);
      else this.#hidden[i] = hidden;
      hidden = this.#hold(next);
    }
    return hidden;
  }

  /** Loss and gradients from the hidden states before the head, which it frees. */
  async backward(plan: PassPlan, last: Buffer, sums: Buffer, control: Buffer): Promise<Gradients> {
    const { programs } = this.#parts;
    const spec = this.#spec;
    const { batch, key, train } = this.#inputs;
    const { layers } = spec.stack;
    const below = plan.lowest < layers.length;
    const program = programs.of(spec, "head", () => headLossGrads(spec, below));
    const trained = plan.head(this.#inputs, last);
    const beside = this.#fixedBeside(plan, trained);
    const out = await program(pick(train, trained), beside, last, sums, batch, control, key);
    const { grads: ofHead, hidden: cotangent, ...shown } = out as unknown as HeadResult;
    this.#release(last);
    const all: Record<string, Buffer> = { ...ofHead };
    for (const buffer of Object.values(ofHead)) this.#hold(buffer);
    let flow = cotangent && this.#hold(cotangent);
    try {
      for (let i = layers.length - 1; i >= plan.lowest; i--) {
        const { grads, hidden } = await this.#layerBackward(plan, i, flow!);
        for (const [name, buffer] of wholeOf(plan.train.layers[i]!, grads)) all[name] = this.#hold(buffer);
        flow = hidden && this.#hold(hidden);
      }
      if (plan.embedding.length > 0) Object.assign(all, await this.#embeddingBackward(plan, flow!, all));
    } catch (error) {
      freeAll(this.#parts.engine, shown);
      throw error;
    }
    return { grads: this.#inOrder(all), ...shown };
  }

  async #layerBackward(plan: PassPlan, i: number, cotangent: Buffer) {
    const spec = this.#spec;
    const layer = spec.stack.layers[i]!;
    const { batch, key } = this.#inputs;
    const below = i > plan.lowest || plan.embedding.length > 0;
    const name = `layer ${layer.kind} backward${below ? "" : ", the lowest"}`;
    const program = this.#parts.programs.of(spec, name, () => layerBackward(spec, layer, below), { donate: [2, 3] });
    const hidden = this.#hidden[i]!;
    const args = [...this.#own(plan.train, plan.fixed, i), hidden, cotangent, batch, key, this.#parts.offset(i)];
    const out = await program(...args);
    this.#held.delete(hidden);
    this.#held.delete(cotangent);
    return out as unknown as { readonly grads: Buffers; readonly hidden?: Buffer };
  }

  async #embeddingBackward(plan: PassPlan, cotangent: Buffer, grads: Readonly<Record<string, Buffer>>) {
    const spec = this.#spec;
    const { batch, key, train } = this.#inputs;
    const names = plan.embedding;
    const program = this.#parts.programs.of(spec, "embedding backward", () => embeddingBackward(spec), {
      donate: [2, 3],
    });
    const shared = pick(
      grads,
      names.filter((name) => grads[name]),
    );
    const fixed = this.#fixedBeside(plan, names);
    const out = (await program(pick(train, names), fixed, cotangent, shared, batch, key)) as Buffers;
    for (const buffer of [cotangent, ...Object.values(shared)]) this.#held.delete(buffer);
    return out;
  }

  /** The parameters outside the layers. */
  outside({ train, fixed }: Route): Buffers {
    return { ...this.#rest(train, "train"), ...this.#rest(fixed, "fixed") };
  }

  /** After the pass, or a failure: frees what is left of it. */
  drop(): void {
    freeRest(this.#parts.engine, [...this.#held]);
    this.#held.clear();
  }

  /** All gradients in the order of the trained parameters; they are the caller's now. What nothing uses has zeros. */
  #inOrder(grads: Readonly<Record<string, Buffer>>): Buffers {
    const { engine } = this.#parts;
    for (const buffer of Object.values(grads)) this.#held.delete(buffer);
    const zeros = ({ shape }: Buffer): Buffer =>
      engine.put({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape });
    return Object.fromEntries(
      Object.entries(this.#inputs.train).map(([name, param]) => [name, grads[name] ?? zeros(param)]),
    );
  }

  #rest(division: Division, part: "train" | "fixed"): Buffers {
    return pick(this.#inputs[part], division.rest);
  }

  /** The parameters outside the layers that are not among these. */
  #fixedBeside(plan: PassPlan, names: readonly string[]): Buffers {
    const others = plan.train.rest.filter((name) => !names.includes(name));
    return { ...this.#rest(plan.fixed, "fixed"), ...pick(this.#inputs.train, others) };
  }

  /** A layer's parameters: trained, and the others. */
  #own(train: Division, fixed: Division, i: number): [Buffers, Buffers] {
    return [ownOf(train.layers[i]!, this.#inputs.train), ownOf(fixed.layers[i]!, this.#inputs.fixed)];
  }

  #hold(buffer: Tree<Buffer>): Buffer {
    this.#held.add(buffer as Buffer);
    return buffer as Buffer;
  }

  #release(buffer: Buffer): void {
    this.#held.delete(buffer);
    this.#parts.engine.free(buffer);
  }
}
