// Settings that change at points of the run: what freeze, customStep, lossSchedule and accumulateSchedule share.
import { checkCadence, type Quantity } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.types.ts";
import type { Hook } from "../../core/hook.ts";
import { checkOptions, is, type Check } from "../../core/options.ts";

/** What a hook has applied to a run, so that it acts when that changes and not at every step. */
export class Applied<T> {
  readonly #none: T;
  #value: T | undefined;

  /** `none` is what holds without the hook. */
  constructor(none: T) {
    this.#none = none;
    this.#value = none;
  }

  /** For `trainBegin`: a new call of fit may have a new engine, which knows nothing of what was put in place. */
  renew(): void {
    if (this.#value !== this.#none) this.#value = undefined;
  }

  /** Takes the value; true when it must be put in place. */
  take(value: T): boolean {
    if (this.#value === value) return false;
    this.#value = value;
    return true;
  }

  /** For a checkpoint; null when it must be put in place anew. */
  state(): T | null {
    return this.#value ?? null;
  }

  load(value: T | null): void {
    this.#value = value ?? undefined;
  }
}

export interface Phase {
  /** From here on: `"5 epochs"`, `"1000 steps"`, `"50%"`. */
  readonly from: Quantity;
}

/** A hook that puts each phase's setting in place when its time comes, exact to the step. */
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
  /** The phase in force. */
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
      // An evaluation may come before the next step, and must see the phase of the one before.
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
