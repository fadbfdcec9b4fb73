// A running average of the parameters that stays on the engine: what ema and swa share.
import { boundaryEvent, type Cadence } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.ts";
import type { ComputeFn, DeviceTensors, ParamsView } from "../../core/inspection.ts";
import type { Hook, HookState } from "../../core/hook.ts";
import type { HostTensors } from "../../core/model.ts";
import { sharedKey } from "../../core/shared.ts";

/**
 * Averaged parameters by the name of the hook that keeps them: `ctx.shared.get(averagedParams)?.get("ema")`.
 * They change with the next update: read or copy them within the event.
 */
export const averagedParams = sharedKey<ReadonlyMap<string, DeviceTensors>>("averagedParams");

type AverageContext = Pick<ContextOf<"init">, "params" | "shared">;

/**
 * One function for all, so that it is compiled once; the share goes in as a number. Running statistics are averaged too,
 * for when they cannot be recomputed; counts stay the newest, and so do buffers that an older checkpoint does not have.
 * A frozen base is no part of the average.
 */
const towards: ComputeFn = (params, average, { value: share }, buffers) =>
  Object.fromEntries(
    Object.entries({ ...params, ...buffers }).flatMap(([name, now]) => {
      const mean = average[name];
      if (!mean && !buffers?.[name]) return [];
      if ((mean?.dtype as string | undefined) !== "float32") return [[name, now]];
      return [[name, mean!.ref.add(now.sub(mean!).mul(share!.ref))]];
    }),
  );

/** A copy of parameters and buffers on the engine. */
const wholeModel = (params: ParamsView): DeviceTensors => params.snapshot([...params.names, ...params.buffers]);

export class ParamAverage {
  readonly #name: string;
  #tensors: DeviceTensors | undefined;
  /** Loaded from a checkpoint, until they are brought to the engine. */
  #loaded: HostTensors | undefined;
  /** How many sets of parameters have been averaged. */
  count = 0;
  /** The version of the parameters that were averaged last. */
  #version = 0;
  /** Do the buffers fit the averaged parameters? */
  #recomputed = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** The current average, which other hooks find too; undefined before the first update. */
  tensors({ params, shared }: AverageContext): DeviceTensors | undefined {
    // Freed with the engine: the trainer was closed or started over.
    if (this.#tensors?.freed) this.#take(undefined, shared);
    if (this.#loaded) this.#take(params.put(this.#loaded), shared);
    this.#loaded = undefined;
    return this.#tensors;
  }

  /** Moves the average this share of the way to the parameters; the first update copies them. */
  async add(ctx: AverageContext, share: number): Promise<void> {
    const { params } = ctx;
    const before = this.tensors(ctx);
    this.#take(before ? await this.#moved(params, before, share) : wholeModel(params), ctx.shared);
    before?.free();
    this.count++;
    this.#version = ctx.params.version;
    this.#recomputed = false;
  }

  async #moved(params: ParamsView, before: DeviceTensors, share: number): Promise<DeviceTensors> {
    const buffers = params.snapshot(params.buffers);
    try {
      return await params.compute(towards, before, share, buffers);
    } finally {
      buffers.free();
    }
  }

  /**
   * The average as a model to evaluate or to keep, with running statistics recomputed for its parameters. Undefined once
   * `setParams` or `loadStateDict` has put other parameters in place: they take precedence.
   */
  async model(ctx: AverageContext): Promise<DeviceTensors | undefined> {
    const tensors = this.tensors(ctx);
    if (!tensors || ctx.params.version !== this.#version) return undefined;
    if (this.#recomputed) return tensors;
    const model = await ctx.params.recomputeBuffers(tensors);
    this.#recomputed = true;
    if (!model) return tensors;
    this.#take(model, ctx.shared);
    tensors.free();
    return model;
  }

  /** The tensors stay on the engine until the checkpoint writes them, into a file of their own that other programs can load. */
  state() {
    const tensors = this.#loaded ?? (this.#tensors?.freed ? undefined : this.#tensors);
    if (!tensors) return { json: { count: 0, version: 0 } };
    const json = { count: this.count, version: this.#version };
    // A hook whose name is no valid file name shares the file of all hooks.
    return { json, tensors, ...(/^[\w.-]{1,60}$/.test(this.#name) && { file: `model-${this.#name}` }) };
  }

  load({ json, tensors }: HookState): void {
    this.#tensors?.free();
    this.#tensors = undefined;
    this.#recomputed = false;
    this.#loaded = tensors;
    ({ count: this.count, version: this.#version } = json as { count: number; version: number });
  }

  #take(tensors: DeviceTensors | undefined, shared: AverageContext["shared"]): void {
    this.#tensors = tensors;
    const all = new Map(shared.get(averagedParams));
    if (tensors) all.set(this.#name, tensors);
    else {
      all.delete(this.#name);
      this.count = 0;
    }
    shared.set(averagedParams, all);
  }
}

/** The methods that call `add` when the cadence is due: at epoch ends for whole epochs, otherwise after steps. */
export function averageAt(
  cadence: Cadence,
  add: (ctx: ContextOf<"stepEnd"> | ContextOf<"epochEnd">) => Promise<void>,
): Pick<Hook, "onStepEnd" | "onEpochEnd"> {
  if (boundaryEvent("every", cadence) === "epochEnd") {
    return { onEpochEnd: (ctx) => (!ctx.partial && ctx.due(cadence) ? add(ctx) : undefined) };
  }
  // A skipped step has not changed the parameters.
  return { onStepEnd: (ctx) => (!ctx.skipped && ctx.due(cadence) ? add(ctx) : undefined) };
}
