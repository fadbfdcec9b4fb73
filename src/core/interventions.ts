// Interventions: what hooks change in a run. A verb is checked against the event, recorded in the audit, and applied:
// at once, or in a process group by every rank when they next exchange their requests.
import type { Context } from "./context.ts";
import { epochIdx } from "./loop/counters.ts";
import { ContextError } from "./errors.ts";
import type { ProbeRequest } from "./inspection.ts";
import type { Run } from "./loop/run.ts";
import { REQUESTS, VERBS, verbProblem, type AnyVerb, type ArgsOf, type RequestName, type VerbName } from "./verbs.ts";

/** A verb that a hook called: who, when, what and why. */
export interface Intervention {
  /** The hook that asked. */
  readonly who: string;
  readonly event: string;
  readonly step: number;
  readonly epoch: number;
  /** The verb, with its argument in short: `setLr(0.001)`. */
  readonly what: string;
  readonly why?: string;
  /** The ranks whose hook asked, in a process group. */
  readonly ranks?: readonly number[];
  /** The person for whom the hook asked, the command that they sent, and the one that it repeats. */
  readonly by?: string;
  readonly command?: string;
  readonly replayOf?: string;
  /** Set when the request was not carried out, and why. */
  refused?: string;
}

/** For whom a hook asks: `ctx.onBehalf`. */
export type Behalf = Pick<Intervention, "by" | "command" | "replayOf">;

/** Called with each intervention when it is recorded, and again when it is refused later. */
export type InterventionWatcher = (entry: Intervention) => void;

/** A request as ranks send it to each other: plain data. */
export interface HookRequest {
  readonly name: RequestName;
  readonly data: unknown;
  readonly entry: Intervention;
}

export function applyRequest(run: Run, { name, data, entry }: HookRequest): void {
  const row: AnyVerb = REQUESTS[name];
  row.apply(run, data as never, entry);
}

/** Interventions are rare, but a hook may scale every batch of a long run: past this the oldest are dropped and counted. */
const KEEP = 10_000;

/** The interventions of a run, in order. They are part of its result. */
export class Audit {
  /** Oldest first. */
  readonly entries: Intervention[] = [];
  dropped = 0;
  readonly #watchers = new Set<InterventionWatcher>();

  add(entry: Intervention): Intervention {
    if (this.entries.length === KEEP) {
      this.entries.shift();
      this.dropped++;
    }
    this.entries.push(entry);
    this.#tell(entry);
    return entry;
  }

  /** The request is not carried out. */
  refuse(entry: Intervention, why: string): void {
    entry.refused = why;
    this.#tell(entry);
  }

  /** Returns the undo. */
  watch(watcher: InterventionWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #tell(entry: Intervention): void {
    for (const watcher of this.#watchers) watcher(entry);
  }

  clear(): void {
    this.entries.length = 0;
    this.dropped = 0;
  }
}

/** One hook as the author of interventions. They are valid only while one of its methods runs. */
export class HookTurn {
  readonly hook: string;
  readonly probes: ProbeRequest | undefined;
  /** The hook's own, set when it is made. The run keeps the context of the hook that runs now. */
  ctx: Context | undefined;
  readonly #run: Run;
  readonly #isMainOnly: boolean;
  #behalf: Behalf = {};

  constructor(run: Run, hook: string, probes: ProbeRequest | undefined, isMainOnly: boolean) {
    this.#run = run;
    this.hook = hook;
    this.probes = probes;
    this.#isMainOnly = isMainOnly;
  }

  /** The event that runs now, if it is this hook's turn. */
  event(member: string): string {
    const { turn } = this.#run;
    if (turn.ctx !== this.ctx || turn.event === null) {
      throw new ContextError(
        `Hook \`${this.hook}\` called ctx.${member} after its event had ended. Await your work inside the method, or keep a flag and act in the next event; to stop from outside, pass an AbortSignal to fit().`,
      );
    }
    return turn.event;
  }

  /** Calls a verb of the context. */
  call(name: VerbName, args: readonly unknown[]): void {
    const row: AnyVerb = VERBS[name];
    row.check?.(...(args as never[]));
    const problem = verbProblem(name, this.event(name), args);
    if (problem !== undefined) throw new ContextError(problem);
    const isTraining = this.#run.phase === "train" || this.#run.phase === "eval";
    if (!isTraining && !row.withoutTraining) {
      throw new ContextError(
        `ctx.${name} changes a training run, but evaluate() and predict() do not train. Check ctx.phase first.`,
      );
    }
    this.request(name, ...(args as never));
  }

  /** Records a request and applies it, here or on all ranks. */
  request<R extends RequestName>(name: R, ...args: ArgsOf<R>): void {
    const run = this.#run;
    const row: AnyVerb = REQUESTS[name];
    const { what, why, data } = row.request(run, ...(args as unknown as never[]));
    const { appliedBy = "all" } = row;
    const by = typeof appliedBy === "function" ? appliedBy(data as never, this.event(what), run) : appliedBy;
    if (by === "alike") this.#mustBeOnAllRanks(name);
    if (run.group && by.startsWith("all")) {
      const entry = this.#entry(what, why);
      run.group.ask({ name, data, entry });
      if (by === "all, here now") row.apply(run, data as never, entry);
      return;
    }
    const entry = this.#ownEntry(what, why);
    row.apply(run, data as never, entry);
    run.audit.add(entry);
  }

  /** While `call` runs, interventions are recorded as somebody's whom this hook acts for. */
  onBehalf(behalf: Behalf, call: () => void): void {
    const before = this.#behalf;
    this.#behalf = behalf;
    try {
      call();
    } finally {
      this.#behalf = before;
    }
  }

  /** Records a change that is already done. */
  record(what: string): void {
    this.#run.audit.add(this.#ownEntry(what));
  }

  /** The same of a change that would make the ranks differ, unless every rank makes it. */
  recordOnAllRanks(what: string): void {
    this.#mustBeOnAllRanks(what);
    this.record(what);
  }

  #mustBeOnAllRanks(what: string): void {
    if (!this.#run.group || !this.#isMainOnly) return;
    throw new ContextError(
      `Hook \`${this.hook}\` runs on the main process only (\`ranks: "main"\`), but ctx.${what} must be called on all ${this.#run.group.size} alike, or their models would differ. Leave out \`ranks\`.`,
    );
  }

  #ownEntry(what: string, why?: string): Intervention {
    const { group } = this.#run;
    const entry = this.#entry(what, why);
    return group ? { ...entry, ranks: [group.rank] } : entry;
  }

  #entry(what: string, why?: string): Intervention {
    const event = this.event(what);
    const { now } = this.#run.clock;
    const entry = { who: this.hook, event, step: now.step, epoch: epochIdx(now), what, ...this.#behalf };
    return why === undefined ? entry : { ...entry, why };
  }
}

/**
 * A request of the program that trains, between the events or from inside one: recorded as the trainer's, or as the
 * hook's whose turn it is.
 */
export function requestFromOutside<V extends VerbName>(run: Run, name: V, ...args: ArgsOf<V>): void {
  const { ctx, event } = run.turn;
  if (ctx && event !== null && verbProblem(name, event, args) === undefined)
    return (ctx[name] as (...given: readonly unknown[]) => void)(...args);
  const row: AnyVerb = VERBS[name];
  const { what, data } = row.request(run, ...(args as unknown as never[]));
  const { now } = run.clock;
  const entry = { who: "trainer", event: event ?? "outside", step: now.step, epoch: epochIdx(now), what };
  if (run.group) return run.group.ask({ name, data, entry });
  row.apply(run, data as never, run.audit.add(entry));
}
