// Dispatch: one function per event that calls just the hooks that listen. Built when hooks change, not when events fire.
import type { Context } from "../context.ts";
import type { HookEntry } from "./hook-entry.ts";
import { chain, isPromise } from "../maybe.ts";
import type { BuiltinEvent } from "../events.ts";
import type { MaybePromise } from "../model.ts";
import type { HookRegistry } from "./registry.ts";
import type { Run } from "../loop/run.ts";
import type { SkipScope } from "../verbs.ts";

/** One hook's method for one event, ready to be called. */
export interface Listener {
  readonly hook: string;
  readonly entry: HookEntry;
  /** The method behind its hook's settings: scopes, cadence. */
  readonly call: (ctx: Context) => unknown;
  /** The hook's own context. */
  readonly ctx: Context;
}

/** The hook that runs now, and its event: contexts refuse verbs out of turn. */
export interface Turn {
  event: string | null;
  ctx: Context | null;
}

export interface FireOptions {
  /** Does the event fire often? Then it is timed by sampling. */
  readonly hot: boolean;
  /** Applies the hook's error policy: throws a HookError, or counts and returns. */
  readonly failed: (listener: Listener, event: string, error: unknown) => void;
  /** Adds a measured call; `weight` is how many calls it stands for. */
  readonly timed: (listener: Listener, event: string, ms: number, weight: number) => void;
}

export type Fire = () => void | Promise<void>;

/** The dispatch function of an event without listeners. Compare with it to find out. */
export const nobody: Fire = () => undefined;

/** Hot events are timed once in so many firings (on average), or the clock would cost more than the hooks. */
const SAMPLE = 32;
/** After so many samples a hook's cost is well known, and rare samples are enough. */
const MANY_SAMPLES = 1000;
const RARE_SAMPLE = 1024;

/**
 * Makes the dispatch function of one event. It runs synchronously and returns undefined unless a hook returns a promise;
 * from there on the rest runs asynchronously, in order.
 */
export function compileFire(
  event: string,
  listeners: readonly Listener[],
  turn: Turn,
  { hot, failed, timed }: FireOptions,
): Fire {
  if (listeners.length === 0) return nobody;

  const end = (): void => {
    turn.ctx = null;
    turn.event = null;
  };

  function fail(i: number, error: unknown): void {
    try {
      failed(listeners[i]!, event, error);
    } catch (fatal) {
      end();
      throw fatal;
    }
  }

  /** From a listener that returned a promise on. `since` is when that listener was called, where it is known. */
  async function fireAsync(from: number, pending: PromiseLike<unknown>, since?: number): Promise<void> {
    try {
      for (let i = from; i < listeners.length; i++) {
        const listener = listeners[i]!;
        turn.event = event;
        turn.ctx = listener.ctx;
        const start = (i === from ? since : undefined) ?? performance.now();
        try {
          const result = i === from ? pending : listener.call(listener.ctx);
          if (isPromise(result)) await result;
        } catch (error) {
          failed(listener, event, error);
        } finally {
          timed(listener, event, performance.now() - start, 1);
        }
      }
    } finally {
      end();
    }
  }

  /** With the clock running: cold events always, hot ones now and then. */
  function fireTimed(weight: number): void | Promise<void> {
    let start = performance.now();
    for (let i = 0; i < listeners.length; i++) {
      const listener = listeners[i]!;
      turn.event = event;
      turn.ctx = listener.ctx;
      let result: unknown;
      try {
        result = listener.call(listener.ctx);
      } catch (error) {
        fail(i, error);
      }
      if (isPromise(result)) return fireAsync(i, result, start);
      timed(listener, event, performance.now() - start, weight);
      // Again: the time of those who watch must not be charged to the next hook.
      start = performance.now();
    }
    end();
  }

  /** Without the clock, from listener `from` on. */
  function fireFrom(from: number): void | Promise<void> {
    turn.event = event;
    for (let i = from; i < listeners.length; i++) {
      const { call, ctx } = listeners[i]!;
      turn.ctx = ctx;
      let result: unknown;
      try {
        result = call(ctx);
      } catch (error) {
        fail(i, error);
      }
      if (result !== undefined && isPromise(result)) return fireAsync(i, result);
    }
    end();
  }

  if (!hot) return () => fireTimed(1);
  let samples = 0;
  let gap = 1;
  let random = 0x9e3779b9;
  const sampler: Sampler = {
    left: gap,
    fireTimed() {
      const weight = gap;
      const mean = ++samples < MANY_SAMPLES ? SAMPLE : RARE_SAMPLE;
      // Gaps vary around their mean, so that a hook with a cadence of its own is not always missed or always hit.
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      gap = 1 + Math.floor((random / 2 ** 32) * (2 * mean - 1));
      this.left = gap;
      return fireTimed(weight);
    },
  };
  return (
    unrolled(turn, event, listeners, sampler, {
      // Only promises matter; any other value is ignored.
      returned: (i, result) => (isPromise(result) ? fireAsync(i, result) : fireFrom(i + 1)),
      threw(i, error) {
        fail(i, error);
        return fireFrom(i + 1);
      },
    }) ?? (() => (--sampler.left < 1 ? sampler.fireTimed() : fireFrom(0)))
  );
}

/** Counts firings down to the next one that is timed. */
interface Sampler {
  left: number;
  fireTimed(): void | Promise<void>;
}

/** What follows when listener `i` returned a value or threw. */
interface Rest {
  returned(i: number, result: unknown): void | Promise<void>;
  threw(i: number, error: unknown): void | Promise<void>;
}

type Build = (turn: Turn, event: string, listeners: readonly Listener[], sampler: Sampler, rest: Rest) => Fire;

/** A page's security policy may forbid generated code. Tried once, since each attempt is reported as a violation. */
let isAllowed = true;
let made = 0;

/**
 * Generated code that calls exactly these listeners, one after the other; undefined where code cannot be generated. A
 * loop shared by all events takes about 2.5 times as long with five hooks: V8 inlines a call only where it has always
 * seen the same function.
 */
function unrolled(...[turn, event, listeners, sampler, rest]: Parameters<Build>): Fire | undefined {
  if (!isAllowed) return undefined;
  const take = listeners.map((_, i) => `const { call: call${i}, ctx: ctx${i} } = listeners[${i}];`);
  const calls = listeners.map(
    (_, i) => `i = ${i}; turn.ctx = ctx${i}; if ((result = call${i}(ctx${i})) !== undefined) break calls;`,
  );
  // Equal sources would share one function, and with it what V8 has learnt: each gets a number.
  const source = `// ${++made}
    ${take.join("\n")}
    return () => {
      if (--sampler.left < 1) return sampler.fireTimed();
      let i = 0, result;
      turn.event = event;
      try {
        calls: {
          ${calls.join("\n")}
          turn.ctx = null;
          turn.event = null;
          return;
        }
      } catch (error) {
        return rest.threw(i, error);
      }
      return rest.returned(i, result);
    };`;
  try {
    // oxlint-disable-next-line typescript/no-implied-eval -- made of numbers only
    const build = new Function("turn", "event", "listeners", "sampler", "rest", source) as Build;
    return build(turn, event, listeners, sampler, rest);
  } catch {
    isAllowed = false;
    return undefined;
  }
}

/** Calls every listener in its own try and with a deadline; `failed` gets what each of them throws. */
export async function callIsolated(
  event: string,
  listeners: readonly Listener[],
  turn: Turn,
  deadlineMs: number,
  failed: (hook: string, error: unknown) => void,
): Promise<void> {
  for (const { hook, call, ctx } of listeners) {
    turn.event = event;
    turn.ctx = ctx;
    try {
      const result = call(ctx);
      if (isPromise(result)) await withDeadline(result, deadlineMs);
    } catch (error) {
      failed(hook, error);
    }
    turn.event = null;
    turn.ctx = null;
  }
}

/** Rejects when `work` takes too long: a hook that hangs in `close` must not hang the program. */
export async function withDeadline(work: PromiseLike<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not finish within ${ms} ms`)), ms);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

// The scopes of the loop: epoch, step, batch, evaluation, prediction. Each fires its begin event, runs its body and fires
// its end event.

interface Firing {
  readonly run: Run;
  readonly hooks: HookRegistry;
}

interface Scope {
  readonly begin?: BuiltinEvent;
  readonly end: BuiltinEvent;
  /** Skips that hold as long as the scope does. */
  readonly skips: readonly SkipScope[];
}

export const EPOCH: Scope = { begin: "epochBegin", end: "epochEnd", skips: ["batch", "step", "epoch"] };
/** The rest of an epoch that a resumed run is in the middle of: hooks have seen it begin. */
export const REST_OF_EPOCH: Scope = { ...EPOCH, begin: undefined };
export const STEP: Scope = { begin: "stepBegin", end: "stepEnd", skips: ["batch", "step"] };
export const BATCH: Scope = { begin: "batchBegin", end: "batchEnd", skips: ["batch"] };
export const EVALUATION: Scope = { begin: "evalBegin", end: "evalEnd", skips: [] };
export const PREDICTION: Scope = { begin: "predictBegin", end: "predictEnd", skips: [] };
/** What hooks log while `log` fires belongs to the current boundary. */
export const LOG: Scope = { end: "log", skips: [] };

/** Fires an event; in a process group the ranks then exchange what hooks requested in it. */
export function fire({ run, hooks }: Firing, event: BuiltinEvent): MaybePromise<void> {
  const { group } = run;
  const wait = hooks.fire[event]!();
  if (!group) return wait;
  return wait ? wait.then(() => group.exchange(event)) : group.exchange(event);
}

/**
 * Runs a scope. When it fails, its end event does not fire: hooks hear of `exception` instead. `leave` runs however the
 * scope ends, and a skip that holds for this scope is forgotten before and after it. Synchronous as long as the hooks and
 * the body are.
 */
export function scope(
  firing: Firing,
  { begin, end, skips }: Scope,
  body: () => MaybePromise<void>,
  leave?: () => void,
): MaybePromise<void> {
  const finish = (): void => {
    forgetSkip(firing.run, skips);
    leave?.();
  };
  forgetSkip(firing.run, skips);
  let wait: MaybePromise<void>;
  try {
    wait = chain(begin && fire(firing, begin), () => chain(body(), () => fire(firing, end)));
  } catch (error) {
    finish();
    throw error;
  }
  return isPromise(wait) ? wait.finally(finish) : finish();
}

function forgetSkip({ requests }: Run, skips: readonly SkipScope[]): void {
  if (requests.skip !== undefined && skips.includes(requests.skip)) requests.skip = undefined;
}
