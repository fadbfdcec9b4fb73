// Dispatch: one function per event that calls just the hooks that listen. Built when hooks change, not when events fire.
import type { Context } from "./context.ts";

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

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
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

  /** From a listener that returned a promise on: each in its own try, timed, awaited when it has to be. */
  async function slowly(from: number, pending: PromiseLike<unknown>): Promise<void> {
    try {
      for (let i = from; i < listeners.length; i++) {
        const listener = listeners[i]!;
        turn.event = event;
        turn.ctx = listener.ctx;
        const start = performance.now();
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
    for (let i = 0; i < listeners.length; i++) {
      const listener = listeners[i]!;
      turn.event = event;
      turn.ctx = listener.ctx;
      const start = performance.now();
      let result: unknown;
      try {
        result = listener.call(listener.ctx);
      } catch (error) {
        fail(i, error);
      }
      if (isThenable(result)) return slowly(i, result);
      host.timed(listener, event, performance.now() - start, weight);
    }
    end();
  }

  // Up to four listeners are unrolled, so that each has a call site of its own that the compiler can inline.
  const n = listeners.length;
  const [a, b, c, d] = listeners as [Listener, Listener?, Listener?, Listener?];
  const { call: callA, ctx: ctxA } = a;
  const { call: callB, ctx: ctxB } = b ?? a;
  const { call: callC, ctx: ctxC } = c ?? a;
  const { call: callD, ctx: ctxD } = d ?? a;

  function fast(from: number): void | Promise<void> {
    let i = from;
    let result: unknown;
    try {
      turn.event = event;
      if (i === 0) {
        turn.ctx = ctxA;
        if ((result = callA(ctxA)) === undefined) i = 1;
      }
      if (i === 1 && n > 1) {
        turn.ctx = ctxB;
        if ((result = callB(ctxB)) === undefined) i = 2;
      }
      if (i === 2 && n > 2) {
        turn.ctx = ctxC;
        if ((result = callC(ctxC)) === undefined) i = 3;
      }
      if (i === 3 && n > 3) {
        turn.ctx = ctxD;
        if ((result = callD(ctxD)) === undefined) i = 4;
      }
      while (i >= 4 && i < n) {
        const listener = listeners[i]!;
        turn.ctx = listener.ctx;
        if ((result = listener.call(listener.ctx)) !== undefined) break;
        i++;
      }
    } catch (error) {
      fail(i, error);
      return fast(i + 1);
    }
    if (result === undefined) return end();
    // Listener i returned something: wait for a promise, ignore anything else.
    return isThenable(result) ? slowly(i, result) : fast(i + 1);
  }

  if (!hot) return () => measured(1);
  let gap = 1;
  let countdown = gap;
  let random = 0x9e3779b9;
  return () => {
    if (--countdown > 0) return fast(0);
    const weight = gap;
    // Gaps vary around their mean, so that a hook with a cadence of its own is not always missed or always hit.
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    gap = 1 + Math.floor((random / 2 ** 32) * (2 * SAMPLE - 1));
    countdown = gap;
    return measured(weight);
  };
}
