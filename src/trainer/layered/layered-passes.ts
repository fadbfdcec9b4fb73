// A stack's passes in place of one program each: with the same arguments and results as `lossGrads`, `fusedStep`,
// `evalBatch` and `predictBatch`, so that accumulation, clipping, hooks and ranks work as they do without it.
import { type Buffer, type Engine, freeAll, freeRest, type Tree } from "../../engines/engine.ts";
import type { StackLayer } from "../../core/model.ts";
import type { Buffers } from "../device-state.ts";
import { applyRules, type UpdateRule } from "../programs/programs.ts";
import { type Compiled, type Cut, ProgramCache } from "../programs/run.ts";
import type { StepSpec } from "../specs.ts";
import { headEval, headForward, headPredict, joinReports, keyOffset, type StackSpec } from "./layer-programs.ts";
import { type Gradients, LayeredPass, type LayeredParts } from "./layered-pass.ts";
import { LayeredGrads } from "./layered-grads.ts";
import { layeredUpdate } from "./layered-update.ts";
import { evalRoute, PassPlan, type PassInputs } from "./pass-plan.ts";

type LayeredSpec = StepSpec & StackSpec;
type Update = (params: Buffers, opt: Buffers, grads: Buffers, control: Buffer) => Promise<Tree<Buffer>>;

type Shared = [state: Buffers, sums: Buffer, frozen: Buffers, batch: Buffers, control: Buffer, key: Buffer];
/** The arguments of `lossGrads`, and of `fusedStep`. */
type PassArguments = readonly [train: Buffers, ...Shared];
type FusedArguments = readonly [train: Buffers, opt: Buffers, ...Shared];

export class LayeredPasses {
  readonly grads: LayeredGrads;
  readonly #engine: Engine;
  readonly #layers: readonly StackLayer[];
  readonly #programs: ProgramCache;
  readonly #parts: LayeredParts;
  readonly #offsets: Buffer[] = [];
  readonly #plans = new WeakMap<StepSpec, PassPlan>();
  readonly #updates = new WeakMap<StepSpec, Map<string, Update>>();

  constructor(engine: Engine, layers: readonly StackLayer[]) {
    this.#engine = engine;
    this.#layers = layers;
    const programs = (this.#programs = new ProgramCache(engine));
    const offset = (layer: number): Buffer =>
      (this.#offsets[layer] ??= engine.put({ data: keyOffset(layer + 1), shape: [2] }));
    this.#parts = { engine, programs, offset };
    this.grads = new LayeredGrads(engine, programs, layers);
  }

  /** Loss and gradients; undefined, as from the other methods, for a spec that needs one program. */
  lossGrads(given: StepSpec): Compiled | undefined {
    const spec = layered(given);
    return spec && (async (...args) => this.#lossGrads(spec, args as unknown as PassArguments));
  }

  /** The same in two halves: the hidden states of the first are kept for the second. */
  cut(given: StepSpec): Cut | undefined {
    const spec = layered(given);
    if (!spec) return undefined;
    return async (...args) => {
      const { pass, plan } = this.#begin(spec, args as unknown as PassArguments);
      const [, , , , batch, , key] = args as unknown as PassArguments;
      try {
        const last = await pass.forward(plan);
        const program = this.#programs.of(spec, "head forward", () => headForward(spec));
        const early = (await program(pass.outside(plan), last, batch, key)) as Record<string, Tree<Buffer>>;
        const finish = async (...again: Tree<Buffer>[]) => {
          const [, , sums, , , control] = again as unknown as PassArguments;
          const { outputs, report, ...rest } = await pass.backward(plan, last, sums, control);
          freeAll(this.#engine, [outputs, report]);
          return { ...rest, state: {} } as unknown as Record<string, Tree<Buffer>>;
        };
        return { early, finish, drop: () => pass.drop() };
      } catch (error) {
        pass.drop();
        throw error;
      }
    };
  }

  /** The whole step. Unless it is guarded, a layer's old tensors are gone when its update is done. */
  fused(given: StepSpec, guarded: boolean): Compiled | undefined {
    const spec = layered(given);
    if (!spec) return undefined;
    return async (...args) => {
      const [train, opt, state, sums, frozen, batch, control, key] = args as unknown as FusedArguments;
      const made: Tree<Buffer>[] = [];
      try {
        const pass: PassArguments = [train, state, sums, frozen, batch, control, key];
        const { grads, report, ...shown } = await this.#lossGrads(spec, pass);
        made.push(grads, report, shown);
        const { grads: final, report: norm } = await this.#clipped(spec, grads, control);
        made.push(final, norm ?? {});
        const update = this.#update(spec, spec.rules, spec.train, Object.keys(opt), !guarded);
        const updated = (await update(train, opt, final, control)) as object;
        const whole = norm ? await this.#joined(report, norm) : report;
        if (guarded) freeAll(this.#engine, final);
        else this.#engine.free(sums);
        return { ...updated, ...shown, report: whole };
      } catch (error) {
        freeRest(this.#engine, made);
        throw error;
      } finally {
        freeRest(this.#engine, [batch, key]);
      }
    };
  }

  /** One optimizer's update. */
  update(spec: StepSpec, rule: UpdateRule, names: readonly string[], slots: readonly string[]): Compiled {
    return this.#update(spec, [rule], names, slots, false) as never;
  }

  /** One batch of an evaluation. */
  evaluate(given: StepSpec): Compiled | undefined {
    const spec = layered(given);
    if (!spec) return undefined;
    const program = this.#programs.of(spec, "head eval", () => headEval(spec));
    return async (...args) => {
      const [params, , sums, batch, weight, key] = args as never as [Buffers, Buffers, Buffer, Buffers, Buffer, Buffer];
      const head = (outside: Buffers, last: Buffer) => program(outside, last, sums, batch, weight, key);
      return this.#forward(spec, { train: {}, fixed: params, batch, key }, head, [sums, weight]);
    };
  }

  /** The outputs of a batch. */
  predict(given: StepSpec): Compiled | undefined {
    const spec = layered(given);
    if (!spec) return undefined;
    const program = this.#programs.of(spec, "head predict", () => headPredict(spec));
    return async (...args) => {
      const [params, , batch, key] = args as never as [Buffers, Buffers, Buffers, Buffer];
      const head = (outside: Buffers, last: Buffer) => program(outside, last, key);
      return this.#forward(spec, { train: {}, fixed: params, batch, key }, head, []);
    };
  }

  free(): void {
    freeRest(this.#engine, this.#offsets.filter(Boolean));
  }

  #begin(spec: LayeredSpec, [train, , , fixed, batch, , key]: PassArguments) {
    const inputs: PassInputs = { train, fixed, batch, key };
    let plan = this.#plans.get(spec);
    if (!plan) this.#plans.set(spec, (plan = new PassPlan(spec, inputs)));
    return { pass: new LayeredPass(this.#parts, spec, inputs), plan };
  }

  async #lossGrads(spec: LayeredSpec, args: PassArguments) {
    const { pass, plan } = this.#begin(spec, args);
    const [, , sums, , , control] = args;
    try {
      const gradients: Gradients = await pass.backward(plan, await pass.forward(plan), sums, control);
      return { ...gradients, state: {}, activations: {} };
    } finally {
      pass.drop();
    }
  }

  /** The pass of an evaluation; consumes the batch, its key and what else is `donated`. */
  async #forward(
    spec: LayeredSpec,
    inputs: PassInputs,
    head: (outside: Buffers, last: Buffer) => ReturnType<Compiled>,
    donated: readonly Buffer[],
  ): Promise<Tree<Buffer>> {
    const pass = new LayeredPass(this.#parts, spec, inputs);
    try {
      const route = evalRoute(spec, Object.keys(inputs.fixed));
      return await head(pass.outside(route), await pass.forward(route));
    } finally {
      pass.drop();
      freeRest(this.#engine, [inputs.batch, inputs.key, donated]);
    }
  }

  /** The gradients as the optimizer gets them, and their norm before that if the plan wants it. */
  async #clipped(spec: LayeredSpec, grads: Buffers, control: Buffer): Promise<{ grads: Buffers; report?: Buffer }> {
    if (spec.clipNorm || spec.clipValue) return this.grads.clip(spec, grads, control);
    return spec.wantNorm ? { grads, report: await this.grads.norm(grads) } : { grads };
  }

  async #joined(report: Buffer, norm: Buffer): Promise<Buffer> {
    const program = this.#programs.once("join reports", () => joinReports, { donate: [0, 1] });
    return (await program(report, norm)) as Buffer;
  }

  #update(
    spec: StepSpec,
    rules: readonly UpdateRule[],
    names: readonly string[],
    slots: readonly string[],
    inPlace: boolean,
  ): Update {
    const known = this.#updates.get(spec) ?? new Map<string, Update>();
    this.#updates.set(spec, known);
    const name = `update ${rules.map(({ prefix }) => prefix).join()}${inPlace ? " in place" : ""}`;
    let update = known.get(name);
    if (!update) known.set(name, (update = this.#makeUpdate(name, spec, rules, names, slots, inPlace)));
    return update;
  }

  #makeUpdate(
    name: string,
    spec: StepSpec,
    rules: readonly UpdateRule[],
    names: readonly string[],
    slots: readonly string[],
    inPlace: boolean,
  ): Update {
    if (!spec.update) return layeredUpdate(this.#programs, this.#layers, spec, rules, { names, slots, inPlace });
    // An update of a hook's own sees all parameters at once.
    const own = (params: never, opt: never, grads: never, control: never) =>
      applyRules(spec, rules, params, grads, opt, control);
    const program = this.#programs.of(spec, `own ${name}`, () => own, inPlace ? { donate: [0, 1, 2] } : {});
    return async (...args) => program(...args);
  }
}

const layered = (spec: StepSpec): LayeredSpec | undefined => (spec.stack ? (spec as LayeredSpec) : undefined);
