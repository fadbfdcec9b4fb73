// What one hook may see and do now: its turn, the permissions of the event, and the record of what it asks.
import { carryOut, type Ask } from "./ask.ts";
import type { Intervention } from "./audit.ts";
import type { Context } from "./context.ts";
import { epochIdx } from "./counters.ts";
import { ContextError } from "./errors.ts";
import { isPromise } from "./maybe.ts";
import { allowsVerb, eventsWith, showsField } from "./permissions.ts";
import type { RunView } from "./run-view.ts";
import { VERBS, type VerbName } from "./verbs.ts";

export class HookTurn {
  readonly hook: string;
  readonly #run: RunView;
  /** The hook's own, by which the run knows whose turn it is. */
  readonly #ctx: Context;
  /** Does it run on the main process only? */
  readonly #mainOnly: boolean;
  /** The event whose fields are shown instead of those of the event at hand. */
  #recalled: string | undefined;

  constructor(hook: string, run: RunView, ctx: Context, mainOnly: boolean) {
    this.hook = hook;
    this.#run = run;
    this.#ctx = ctx;
    this.#mainOnly = mainOnly;
  }

  /** The event at hand, if it is this hook's turn. */
  event(verb: string): string {
    const { turn } = this.#run;
    if (turn.ctx !== this.#ctx || turn.event === null) {
      throw new ContextError(
        `Hook \`${this.hook}\` called ctx.${verb} after its event had ended. Await your work inside the method, or keep a flag and act in the next event; to stop from outside, pass an AbortSignal to fit().`,
      );
    }
    return turn.event;
  }

  /** The event whose fields are shown. */
  shown(verb: string): string {
    const event = this.event(verb);
    return this.#recalled ?? event;
  }

  /** The run, if this field of it is shown now. */
  showing(field: string): RunView {
    const event = this.#recalled ?? this.#run.turn.event;
    if (event !== null && !showsField(event, field)) {
      throw new ContextError(`ctx.${field} is not available in \`${event}\`. It is in: ${eventsWith(field)}.`);
    }
    return this.#run;
  }

  /** Shows the fields of `event`, as its last occasion left them, while `call` runs. Verbs stay those of the event at hand. */
  recall(event: string, call: () => void | Promise<void>): void | Promise<void> {
    const forget = (): void => void (this.#recalled = undefined);
    this.#recalled = event;
    let pending: Promise<void> | undefined;
    try {
      pending = call() ?? undefined;
    } finally {
      if (!isPromise(pending)) forget();
    }
    return isPromise(pending) ? pending.finally(forget) : undefined;
  }

  /** Throws where the verb is not valid. */
  allow(verb: VerbName): void {
    const event = this.event(verb);
    if (!allowsVerb(event, verb))
      throw new ContextError(
        `ctx.${verb} is not valid in \`${event}\`. It works in: ${VERBS[verb].events.join(", ")}.`,
      );
    const training = this.#run.phase === "train" || this.#run.phase === "eval";
    if (!training && verb !== "swapParams" && verb !== "replaceBatch") {
      throw new ContextError(
        `ctx.${verb} changes a training run, and none is going on in evaluate() or predict(). Check ctx.phase first.`,
      );
    }
  }

  /** What cannot be sent to the other processes must be asked on each of them. */
  alike(what: string): void {
    if (!this.#run.team || !this.#mainOnly) return;
    throw new ContextError(
      `Hook \`${this.hook}\` runs on the main process only (\`ranks: "main"\`), but ctx.${what} must be called on all ${this.#run.team.size} alike, or their models would differ. Leave out \`ranks\`.`,
    );
  }

  /** Records a request and does it; among several processes, all do it when they next agree. */
  request(ask: Ask, what: string, why?: string): void {
    const { team, actions } = this.#run;
    // The main process alone saves: what it asks of itself need not wait.
    if (team && !(ask.verb === "requestSave" && team.rank === 0)) team.ask({ ask, entry: this.entry(what, why) });
    else carryOut(actions, { ask, entry: this.record(what, why) });
  }

  /** Records an intervention that is done at once. */
  record(what: string, why?: string): Intervention {
    const { team, audit } = this.#run;
    const entry = this.entry(what, why);
    return audit.add(team ? { ...entry, ranks: [team.rank] } : entry);
  }

  /** The same of a change that every process must make by itself: of gradients that have been joined. */
  recordAlike(what: string): void {
    this.alike(what);
    this.record(what);
  }

  entry(what: string, why?: string): Intervention {
    const event = this.event(what);
    const { now } = this.#run.clock;
    const entry = { who: this.hook, event, step: now.step, epoch: epochIdx(now), what };
    return why === undefined ? entry : { ...entry, why };
  }
}
