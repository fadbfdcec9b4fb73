// Dispatch: one function per event that calls just the hooks that listen. Built when hooks change, not when events fire.
import type { Context } from "./context.ts";
import { straight, type Sampler } from "./straight.ts";

/** One hook's method for one event, ready to be called. */
export interface Listener {
  readonly hook: string;
  /** The method bound to its hook's settings: scope, cadence. */
  readonly call: (ctx: Context) => unknown;
  /** The hook's own context. */
  readonly ctx: Context;
}

/** What dispatch needs from its surroundings. */
export interface DispatchHost {
  /** Applies the hook's error policy: throws a HookError, or counts and returns. */
  failed(listener: Listener, event: string, error: unknown): void;
  /** Adds a measured call; `weight` is how many calls it stands for. */
  timed(listener: Listener, event: string, ms: number, weight: number): void;
}

/** Whose turn it is: contexts refuse verbs out of turn. */
export interface Turn {
  event: string | null;
  ctx: Context | null;
}

export type Fire = () => void | Promise<void>;

/** The dispatch function of an event nobody listens to. Compare with it to know. */
export const nobody: Fire = () => undefined;

/** Hot events are timed once in so many firings (on average), or the clock would cost more than the hooks. */
const SAMPLE = 32;
/** After so many samples a hook's cost is known well, and a look now and then is enough. */
const MANY_SAMPLES = 1000;
const RARE_SAMPLE = 1024;

export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as PromiseLike<unknown>).then === "function";

/**
 * Compiles the dispatch function of one event. It runs synchronously and returns undefined unless a hook returns
 * a promise; from there on the rest runs asynchronously, in order. `hot` events are timed by sampling.
 */
export function compileFire(
  event: string,
  listeners: readonly Listener[],
  turn: Turn,
  host: DispatchHost,
  hot: boolean,
): Fire {
  if (listeners.length === 0) return nobody;

  const end = (): void => {
    turn.ctx = null;
    turn.event = null;
  };

  function fail(i: number, error: unknown): void {
    try {
      host.failed(listeners[i]!, event, error);
    } catch (fatal) {
      end();
      throw fatal;
    }
  }

  /**
   * From a listener that returned a promise on: each in its own try, timed, awaited when it has to be.
   * `since` is when that listener was called, where it is known.
   */
  async function slowly(from: number, pending: PromiseLike<unknown>, since?: number): Promise<void> {
    try {
      for (let i = from; i < listeners.length; i++) {
        const listener = listeners[i]!;
        turn.event = event;
        turn.ctx = listener.ctx;
        const start = (i === from ? since : undefined) ?? performance.now();
        try {
          const result = i === from ? pending : listener.call(listener.ctx);
          if (isThenable(result)) await result;
        } catch (error) {
          host.failed(listener, event, error);
        } finally {
          host.timed(listener, event, performance.now() - start, 1);
        }
      }
    } finally {
      end();
    }
  }

  /** Synchronous with the clock running: cold events always, hot ones now and then. */
  function measured(weight: number): void | Promise<void> {
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
      if (isThenable(result)) return slowly(i, result, start);
      host.timed(listener, event, performance.now() - start, weight);
      // Anew: whoever watches the times must not be charged to the next hook.
      start = performance.now();
    }
    end();
  }

  /** Listener `i` returned something: wait for a promise, ignore anything else. */
  const met = (i: number, result: unknown): void | Promise<void> =>
    isThenable(result) ? slowly(i, result) : inTurn(i + 1);

  const failed = (i: number, error: unknown): void | Promise<void> => {
    fail(i, error);
    return inTurn(i + 1);
  };

  /** Synchronous from listener `from` on. */
  function inTurn(from: number): void | Promise<void> {
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
      if (result !== undefined && isThenable(result)) return slowly(i, result);
    }
    end();
  }

  if (!hot) return () => measured(1);
  let samples = 0;
  let gap = 1;
  let random = 0x9e3779b9;
  const sampler: Sampler = {
    left: gap,
    sample() {
      const weight = gap;
      const mean = ++samples < MANY_SAMPLES ? SAMPLE : RARE_SAMPLE;
      // Gaps vary around their mean, so that a hook with a cadence of its own is not always missed or always hit.
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      gap = 1 + Math.floor((random / 2 ** 32) * (2 * mean - 1));
      this.left = gap;
      return measured(weight);
    },
  };
  return (
    straight(turn, event, listeners, sampler, met, failed) ??
    (() => (--sampler.left < 1 ? sampler.sample() : inTurn(0)))
  );
}
