// The gate of a hook with a cadence: which of its events pass now, and what it missed at the very end.
import { CadenceRule, type Cadence, type Moment } from "./cadence.ts";
import type { Context } from "./context.ts";
import { alwaysPasses } from "./events.ts";

type Call = (ctx: Context) => unknown;

export class Gate {
  readonly #cadences: readonly Cadence[];
  readonly #hook: string;
  readonly #moment: () => Moment;
  readonly #rules = new Map<string, readonly CadenceRule[]>();
  /** Events whose last occasion was let pass, to be made good at the end when the cadence says `atEnd`. */
  readonly #passed = new Map<string, Call>();

  /** Several cadences must all be due. */
  constructor(cadences: readonly Cadence[], hook: string, moment: () => Moment) {
    this.#cadences = cadences;
    this.#hook = hook;
    this.#moment = moment;
    // A mistake in the cadence is an error now, not at the first event.
    this.#rulesOf("stepEnd");
  }

  /** The call behind the gate. */
  guard(event: string, call: Call): Call {
    if (alwaysPasses(event)) return call;
    const rules = this.#rulesOf(event);
    const atEnd = rules.some((rule) => rule.atEnd);
    return (ctx) => {
      const due = rules.every((rule) => rule.due(this.#moment()));
      if (!due && !atEnd) return undefined;
      if (due) this.#passed.delete(event);
      else this.#passed.set(event, call);
      return due ? call(ctx) : undefined;
    };
  }

  /** Whether `event` may pass in the step that begins; true when only the step itself will tell. */
  mayPass(event: string): boolean {
    const moment = this.#moment();
    if (alwaysPasses(event) || this.#rulesOf(event).every((rule) => rule.mayBeDue(moment))) return true;
    // The last step is what `atEnd` will look at.
    return this.servesTheEnd && moment.clock.now.step === moment.totalSteps;
  }

  /** Serves the occasions that were let pass last, with the fields of their events. A failed run has none: its step was cut off. */
  async finish(ctx: Context): Promise<void> {
    const missed = [...this.#passed];
    this.#passed.clear();
    if (ctx.status === "error") return;
    for (const [event, call] of missed) await ctx.recall(event, () => call(ctx) as void | Promise<void>);
  }

  get servesTheEnd(): boolean {
    return this.#rulesOf("stepEnd").some((rule) => rule.atEnd);
  }

  #rulesOf(event: string): readonly CadenceRule[] {
    let rules = this.#rules.get(event);
    if (!rules) {
      rules = this.#cadences.map(
        (cadence) => new CadenceRule(`Hook \`${this.#hook}\`: every`, cadence, event, this.#hook),
      );
      this.#rules.set(event, rules);
    }
    return rules;
  }
}
