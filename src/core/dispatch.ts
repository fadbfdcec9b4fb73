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

// Straight-line dispatch: code of its own for each hot event. One function for all events would be compiled for none of
// them, since a compiler inlines a hook only where it has never seen another.

/** Counts firings down to the next one that is timed. */
interface Sampler {
  left: number;
  sample(): void | Promise<void>;
}

type Build = (
  turn: Turn,
  event: string,
  listeners: readonly Listener[],
  sampler: Sampler,
  met: (i: number, result: unknown) => void | Promise<void>,
  failed: (i: number, error: unknown) => void | Promise<void>,
) => Fire;

/** A page's security policy may forbid making code; asked once, since each attempt is reported as a violation. */
let allowed = true;
let made = 0;

/**
 * A function that calls exactly these listeners, one after the other, or undefined where code cannot be made. When
 * listener `i` returns something it ends with `met(i, result)`, when it throws with `failed(i, error)`.
 */
function straight(...[turn, event, listeners, sampler, met, failed]: Parameters<Build>): Fire | undefined {
  if (!allowed) return undefined;
  const take = listeners.map((_, i) => `const { call: call${i}, ctx: ctx${i} } = listeners[${i}];`);
  const calls = listeners.map(
    (_, i) => `i = ${i}; turn.ctx = ctx${i}; if ((result = call${i}(ctx${i})) !== undefined) break calls;`,
  );
  // Equal sources would share one function, and with it what the compiler learns: each is given a number.
  const source = `// ${++made}
    ${take.join("\n")}
    return () => {
      if (--sampler.left < 1) return sampler.sample();
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
        return failed(i, error);
      }
      return met(i, result);
    };`;
  try {
    // oxlint-disable-next-line typescript/no-implied-eval -- made of numbers only
    const build = new Function("turn", "event", "listeners", "sampler", "met", "failed", source) as Build;
    return build(turn, event, listeners, sampler, met, failed);
  } catch {
    allowed = false;
    return undefined;
  }
}

// Calls that must reach every hook: each in its own try, and none for longer than its deadline.

/** Calls the listeners one after the other; `failed` gets what each of them throws. */
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
      if (isThenable(result)) await withDeadline(result, deadlineMs);
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
