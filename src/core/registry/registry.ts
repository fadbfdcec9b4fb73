// The registry behind `trainer.hooks`: which hooks listen, in which order and under which error policy.
import { type Fire, type Listener, type Turn, callIsolated, compileFire, nobody } from "./dispatch.ts";
import { HookError, HookRegistrationError, attach } from "../errors.ts";
import { BUILTIN_EVENTS, EVENTS, type EventName, allEvents, isCustomEvent, levelOf } from "../events.ts";
import { explainHooks, orderHooks } from "./hook-order.ts";
import { HookEntry } from "./hook-entry.ts";
import { type HookReport, HookTimes, type HookWatcher } from "./hook-times.ts";
import { requestFromOutside, type InterventionWatcher } from "../interventions.ts";
import type { Hook, HookFailure, HookInfo, Need } from "../hook.ts";
import type { Probe } from "../inspection.ts";
import type { OuterEvent } from "../outer-events.ts";
import type { Run } from "../loop/run.ts";
import { didYouMean } from "../names.ts";

const HOT = new Set(["step", "batch", "forward / backward", "optimizer"]);
/** After so many consecutive failures a reporting hook is switched off. */
const PATIENCE = 3;
/** How many failures of the run are kept in full; the rest are counted. */
const KEEP_FAILURES = 100;

export type FireTable = Record<string, Fire>;

/** The hooks of a trainer: `trainer.hooks` adds, removes, switches and explains them. */
export class HookRegistry {
  /** One function per event; replaced in place when hooks change, so that a running one is not disturbed. */
  readonly fire: FireTable = Object.fromEntries(BUILTIN_EVENTS.map((event) => [event, nobody]));
  readonly failures: HookFailure[] = [];
  failureCount = 0;
  readonly #times = new HookTimes();
  readonly #run: Run;
  readonly #turn: Turn;
  readonly #warn: (message: string) => void;
  #rank = 0;
  #entries: HookEntry[] = [];
  /** Hooks that were switched during the run, as they were before. */
  readonly #asGiven = new Map<string, boolean>();
  #ordered: HookEntry[] = [];
  #gated = false;
  /** Hooks whose own cadence makes `log` fire. */
  #logRequests: readonly HookEntry[] = [];
  /** Increases with every change, so that the trainer knows when to choose its plan again. */
  version = 0;

  constructor(run: Run, warn: (message: string) => void) {
    this.#run = run;
    run.hooks = this;
    this.#turn = run.turn;
    this.#warn = warn;
  }

  /** This process is a rank of a process group: hooks with `ranks: "main"` listen on rank 0 only. */
  joinAs(rank: number): void {
    this.#rank = rank;
    this.#change(this.#entries);
  }

  /** Adds a hook. Inside an event it takes effect at the next event. */
  add(hook: Hook, options: { readonly replace?: boolean } = {}): Disposer {
    const entry = new HookEntry(hook, this.#run);
    const at = this.#entries.findIndex(({ name }) => name === entry.name);
    if (at >= 0 && !options.replace) throw duplicate(entry.name);
    this.#change(at >= 0 ? this.#entries.with(at, entry) : [...this.#entries, entry]);
    return disposer(() => {
      if (this.#entries.includes(entry)) this.#change(this.#entries.filter((other) => other !== entry));
    });
  }

  /** Adds several at once: all or none, and each may name any other in `before` and `after`. */
  addAll(hooks: readonly Hook[]): void {
    const entries = [...this.#entries];
    for (const hook of hooks) {
      const entry = new HookEntry(hook, this.#run);
      if (entries.some(({ name }) => name === entry.name)) throw duplicate(entry.name);
      entries.push(entry);
    }
    this.#change(entries);
  }

  remove(name: string): void {
    const entry = this.#entry(name);
    this.#change(this.#entries.filter((other) => other !== entry));
  }

  get(name: string): Hook | undefined {
    return this.#entries.find((entry) => entry.name === name)?.hook;
  }

  /** During a run it is an intervention, as `ctx.setHook` is. */
  enable(name: string): void {
    this.#switchByHand(name, true);
  }

  disable(name: string): void {
    this.#switchByHand(name, false);
  }

  #switchByHand(name: string, enabled: boolean): void {
    const entry = this.#entry(name);
    if (this.#run.isLive) requestFromOutside(this.#run, "setHook", name, enabled);
    else this.#switch(entry, enabled);
  }

  /** Switches a hook for this run. A rank that has no such hook ignores it. */
  setEnabled(name: string, enabled: boolean): void {
    const entry = this.#entries.find((other) => other.name === name);
    if (!entry) return;
    if (!this.#asGiven.has(name)) this.#asGiven.set(name, entry.enabled);
    this.#switch(entry, enabled);
  }

  /** The hooks that were switched during the run, as they are now. */
  switched(): Record<string, boolean> {
    const mine = this.#entries.filter(({ name }) => this.#asGiven.has(name));
    return Object.fromEntries(mine.map(({ name, enabled }) => [name, enabled]));
  }

  /** Switches hooks back for a new run. */
  resetSwitches(): void {
    for (const [name, enabled] of this.#asGiven) this.setEnabled(name, enabled);
    this.#asGiven.clear();
  }

  mustHave(name: string): void {
    this.#entry(name);
  }

  /** Calls `fn` with each intervention when it is recorded, and again when it is refused later, until undone. */
  watchInterventions(fn: InterventionWatcher): Disposer {
    return disposer(this.#run.audit.watch(fn));
  }

  /** All hooks in the order in which they run, disabled ones included. */
  list(): HookInfo[] {
    return this.#ordered.map(({ name, stage, enabled, events, before, after, hook: { budget } }) => ({
      name,
      stage,
      enabled,
      events,
      ...(before.length > 0 && { before }),
      ...(after.length > 0 && { after }),
      ...(budget !== undefined && { budget }),
    }));
  }

  /** Who runs at which event, in which order, and why; for one event or for all that have listeners. */
  explain(event?: EventName | OuterEvent): string {
    return explainHooks(this.#entries, event);
  }

  /** Time per hook and event, and the hooks over their budget. */
  report(): HookReport {
    const budgets = this.#entries.flatMap(({ name, hook }) =>
      hook.budget === undefined ? [] : ([[name, hook.budget]] as const),
    );
    return this.#times.report(new Map(budgets));
  }

  /** Hooks with state for checkpoints, in order; disabled ones too, since they may be enabled again. */
  stateful(): Hook[] {
    const keeping = this.#ordered.filter((entry) => this.#isHere(entry) && (entry.hook.state || entry.hook.load));
    return keeping.map(({ hook }) => hook);
  }

  listens(...events: EventName[]): boolean {
    return events.some((event) => (this.fire[event] ?? nobody) !== nobody);
  }

  /** Does a cadence decide, from step to step, what is listened to or needed? */
  get gatesPlan(): boolean {
    return this.#gated;
  }

  /** Does a hook's own cadence request a log at this boundary? */
  asksForLog(boundary: "stepEnd" | "epochEnd"): boolean {
    if (this.#logRequests.length === 0) return false;
    const { moment } = this.#run;
    return this.#logRequests.some((entry) => entry.asksForLog(boundary, moment));
  }

  /** The first hook that listens to one of `events` in this step: the reason for a plan. */
  firstListener(...events: EventName[]): { hook: string; event: string } | undefined {
    for (const event of events) {
      const entry = this.#ordered.find((other) => other.enabled && other.listensNow(event));
      if (entry) return { hook: entry.name, event };
    }
    return undefined;
  }

  /** The first hook that needs something costly in this step. */
  needing(need: Need): string | undefined {
    return this.#ordered.find((entry) => entry.enabled && entry.needsNow(need))?.name;
  }

  /** Hooks that look at activations in one of `events` of this step. */
  probing(...events: EventName[]): Probe[] {
    return this.#probes((entry) => entry.probesNow(events));
  }

  /** Hooks that replace activations in the evaluation of this loader. */
  replacing(loader: string): Probe[] {
    return this.#probes((entry) => entry.replacesNow(loader));
  }

  #probes(wanted: (entry: HookEntry) => boolean): Probe[] {
    const mine = this.#ordered.filter((entry) => entry.enabled && this.#isHere(entry) && wanted(entry));
    return mine.map(({ name, probes }) => ({ hook: name, request: probes! }));
  }

  /** Fires a custom event, perhaps from inside another event, whose turn and payload are restored afterwards. */
  fireCustom(event: string, payload?: unknown): void | Promise<void> {
    if (!isCustomEvent(event)) {
      if (Object.hasOwn(EVENTS, event)) {
        throw new HookRegistrationError(`\`${event}\` is an event of the loop: only the loop fires it.`);
      }
      throw new HookRegistrationError(
        `There is no custom event \`${event}\`.${didYouMean(event, allEvents())} Define it with defineEvent("${event}").`,
      );
    }
    const run = this.#run;
    const outer = { payload: run.payload, turn: { ...this.#turn } };
    const restore = (): void => {
      run.payload = outer.payload;
      Object.assign(this.#turn, outer.turn);
    };
    run.payload = payload;
    let pending: Promise<void> | undefined;
    try {
      pending = (this.fire[event] ?? nobody)() ?? undefined;
    } finally {
      if (!pending) restore();
    }
    return pending?.finally(restore);
  }

  /** Fires an event that must reach every hook even if one throws; then throws the first error, with the others attached. */
  async fireToAll(event: EventName): Promise<void> {
    const fatal: unknown[] = [];
    for (const listener of this.#listeners(event)) {
      try {
        await this.#compileFire(event, [listener])();
      } catch (error) {
        fatal.push(error);
      }
    }
    if (fatal.length === 0) return;
    attach(fatal[0], fatal.slice(1) as Error[]);
    throw fatal[0];
  }

  /** Calls every hook in its own try and with a deadline; resolves to their errors. */
  async fireIsolated(event: EventName, deadlineMs: number): Promise<HookError[]> {
    const errors: HookError[] = [];
    // Disabled hooks too: they must close what they have opened.
    const mine = this.#ordered.filter((entry) => this.#isHere(entry));
    const listeners = mine.flatMap((entry) => entry.listener(event) ?? []);
    await callIsolated(event, listeners, this.#turn, deadlineMs, (hook, error) => {
      errors.push(new HookError(hook, event, this.#run.clock.now.step, error));
    });
    return errors;
  }

  /** Resets times and failures for a new run. */
  beginRun(): void {
    this.#times.clear();
    this.failures.length = 0;
    this.failureCount = 0;
    for (const entry of this.#entries) entry.failures = 0;
  }

  /** Counts and keeps an error that did not end the run. */
  note(error: HookError): void {
    this.failureCount++;
    const { hook, event, step, cause } = error;
    if (this.failures.length < KEEP_FAILURES) this.failures.push({ hook, event, step, error: cause });
    this.#warn(error.message);
  }

  #failed({ entry }: Listener, event: string, error: unknown): void {
    const { step } = this.#run.clock.now;
    const failure = error instanceof HookError ? error : new HookError(entry.name, event, step, error);
    if (entry.policy === "throw") throw failure;
    this.note(failure);
    entry.failures++;
    if (entry.policy === "disable" || (entry.isReporter && entry.failures >= PATIENCE)) {
      this.#switch(entry, false);
      this.#warn(
        `Hook \`${entry.name}\` is switched off${entry.policy === "warn" ? ` after ${PATIENCE} failures in a row` : ""}.`,
      );
    }
  }

  /** Calls `fn` after every call of a hook, until undone. Meanwhile every call is measured, not only samples. */
  watch(fn: HookWatcher): Disposer {
    this.#times.watch(fn);
    this.#compile();
    return disposer(() => {
      this.#times.unwatch(fn);
      this.#compile();
    });
  }

  #entry(name: string): HookEntry {
    const entry = this.#entries.find((other) => other.name === name);
    if (entry) return entry;
    const known = this.#entries.map((other) => other.name);
    throw new HookRegistrationError(
      `No hook is named \`${name}\`.${didYouMean(name, known)} Registered: ${known.join(", ") || "none"}.`,
    );
  }

  #switch(entry: HookEntry, enabled: boolean): void {
    if (entry.enabled === enabled) return;
    entry.enabled = enabled;
    entry.failures = 0;
    this.#change(this.#entries);
  }

  #change(entries: HookEntry[]): void {
    // Ordered first: a cycle or an unknown name must leave the registry as it was.
    this.#ordered = orderHooks(entries).map(({ item }) => item);
    this.#entries = entries;
    this.version++;
    this.#logRequests = entries.filter((entry) => entry.enabled && this.#isHere(entry) && entry.requestsLogs);
    this.#gated = entries.some((entry) => entry.enabled && entry.gatesPlan);
    this.#compile();
  }

  #compile(): void {
    for (const event of allEvents()) {
      const isSampled = !this.#times.isWatched && HOT.has(levelOf(event));
      this.fire[event] = this.#compileFire(event, this.#listeners(event), isSampled);
    }
  }

  #compileFire(event: string, listeners: readonly Listener[], hot = false): Fire {
    return compileFire(event, listeners, this.#turn, {
      hot,
      failed: (...args) => this.#failed(...args),
      timed: this.#times.add,
    });
  }

  /** Does the hook listen on this rank? */
  #isHere(entry: HookEntry): boolean {
    return this.#rank === 0 || entry.hook.ranks !== "main";
  }

  #listeners(event: string): Listener[] {
    const mine = this.#ordered.filter((entry) => entry.enabled && this.#isHere(entry));
    return mine.flatMap((entry) => entry.listener(event) ?? []);
  }
}

const duplicate = (name: string): HookRegistrationError =>
  new HookRegistrationError(
    `There is already a hook named \`${name}\`. Give this one another \`name\`, or call hooks.add(hook, { replace: true }).`,
  );

/** Undo of a registration; works with `using`. */
export interface Disposer {
  (): void;
  [Symbol.dispose](): void;
}

const disposer = (undo: () => void): Disposer => Object.assign(undo, { [Symbol.dispose]: undo });
