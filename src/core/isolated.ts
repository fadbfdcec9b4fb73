// Calls that must reach every hook: each in its own try, and none for longer than its deadline.
import { isThenable, type Listener, type Turn } from "./dispatch.ts";

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
