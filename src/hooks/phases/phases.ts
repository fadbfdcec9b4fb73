// Settings that change at points of the run: what freeze, customStep, lossSchedule and accumulateSchedule share.
import { checkCadence, type Quantity } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.ts";
import type { Hook } from "../../core/hook.ts";
import { checkOptions, is, type Check } from "../../core/options.ts";

/** What a hook has applied to a run, so that it acts when that changes and not at every step. */
export class Applied<T> {
  readonly #none: T;
  #value: T | undefined;

  /** `none` is the setting without the hook. */
  constructor(none: T) {
    this.#none = none;
    this.#value = none;
  }

  /** For `trainBegin`: a new `fit` may have a new engine, without the setting. */
  renew(): void {
    if (this.#value !== this.#none) this.#value = undefined;
  }

  /** Records the value; true if it must be applied now. */
  take(value: T): boolean {
    if (this.#value === value) return false;
    this.#value = value;
    return true;
  }

  /** For a checkpoint; null if it must be applied again after a resume. */
  state(): T | null {
    return this.#value ?? null;
  }

  load(value: T | null): void {
    this.#value = value ?? undefined;
  }
}

export interface Phase {
  /** When the phase begins: `"5 epochs"`, `"1000 steps"`, `"50%"`. */
  readonly from: Quantity;
}

/** A hook that applies each phase's setting at the exact step at which it begins. */
export function phasesHook<P extends Phase>(
  owner: string,
  options: { readonly name?: string; readonly schedule: readonly P[] },
  setting: Readonly<Record<string, Check>>,
  apply: (ctx: ContextOf<"stepBegin"> | ContextOf<"trainBegin">, phase: P, why: string) => void,
): Hook {
  const { name = owner, schedule } = options;
  const checks = { from: is.or(is.nonNegative, is.name), ...setting };
  const phases = schedule.map((phase) => {
    checkOptions(`${owner}: schedule`, phase, checks, Object.keys(checks));
    checkCadence(owner, { from: phase.from });
    return { phase, when: { from: phase.from } };
  });
  const applied = new Applied(-1);
  /** The current phase. */
  let current = -1;
  let loaded = false;

  function put(ctx: ContextOf<"stepBegin"> | ContextOf<"trainBegin">, at: number): void {
    const phase = phases[at]?.phase;
    if (!phase || !applied.take(at)) return;
    current = at;
    apply(ctx, phase, `from ${phase.from}`);
  }

  return {
    name,
    onTrainBegin(ctx) {
      applied.renew();
      if (ctx.step === 0) current = -1;
      // An evaluation may precede the next step, and belongs to the phase of the last one.
      if (loaded) put(ctx, current);
      loaded = false;
    },
    onStepBegin: (ctx) =>
      put(
        ctx,
        phases.findLastIndex(({ when }) => ctx.due(when)),
      ),
    state: () => ({ json: { phase: current } }),
    load({ json }) {
      ({ phase: current } = json as { phase: number });
      loaded = true;
    },
  };
}
