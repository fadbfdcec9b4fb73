// Straight-line dispatch: code of its own for each hot event. One function for all events would be compiled for none of
// them, since a compiler inlines a hook only where it has never seen another.
import type { Fire, Listener, Turn } from "./dispatch.ts";

/** Counts firings down to the next one that is timed. */
export interface Sampler {
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
export function straight(...[turn, event, listeners, sampler, met, failed]: Parameters<Build>): Fire | undefined {
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
