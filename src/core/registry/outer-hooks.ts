// Calls hooks at the events of experiments and studies: in their order, each under its own error policy.
import { ContextError, HookError, HookRegistrationError } from "../errors.ts";
import { CheckedHook } from "./checked-hook.ts";
import { orderHooks } from "./hook-order.ts";
import type { Hook, HookFailure } from "../hook.ts";
import { withoutAssignments } from "../write-guard.ts";

/** Who asked for the end, and why. */
export interface StopRequest {
  readonly reason: string;
  readonly requestedBy: string;
}

/** What hooks have done so far. */
export class OuterState {
  readonly failures: HookFailure[] = [];
  /** Hooks that are switched off, also in later trainings. */
  readonly off = new Set<string>();
  stop: StopRequest | undefined;
  /** Of this process in its process group: hooks with `ranks: "main"` are called on rank 0 only. */
  rank = 0;
  readonly warn: (message: string) => void;

  constructor(warn: (message: string) => void) {
    this.warn = warn;
  }
}

interface Calls {
  /** Gets what a hook returns; what it throws is that hook's error. */
  readonly returned?: (value: unknown, hook: Hook) => void;
  /** Makes the call: for those who measure it. */
  readonly around?: (hook: Hook, call: () => unknown) => unknown;
}

export class OuterHooks<C extends { [E in keyof C]: { stop(reason: string): void } }> {
  readonly #hooks: readonly CheckedHook[];

  /** Checks the hooks as a trainer would. `owner` is what they belong to, for messages. */
  constructor(owner: string, hooks: readonly Hook[]) {
    const checked = new Map<string, CheckedHook>();
    for (const hook of hooks.map((each) => new CheckedHook(each))) {
      const { name } = hook;
      if (checked.has(name))
        throw new HookRegistrationError(
          `There is already a hook named \`${name}\` in this ${owner}. Give this one another \`name\`.`,
        );
      checked.set(name, hook);
    }
    this.#hooks = orderHooks([...checked.values()]).map(({ item }) => item);
  }

  /** The hooks with a method for one of these events, in their order. */
  listening(...events: readonly (keyof C & string)[]): Hook[] {
    const listening = this.#hooks.filter(({ methods }) => events.some((event) => methods.has(event)));
    return listening.map(({ hook }) => hook);
  }

  /** Calls every listener in turn. `fields` is called for each, so that a hook sees what those before it have changed. */
  async fire<E extends keyof C & string>(
    event: E,
    state: OuterState,
    fields: () => Omit<C[E], "stop">,
    { returned = () => undefined, around = (_, call) => call() }: Calls = {},
  ): Promise<void> {
    for (const checked of this.#hooks) {
      const { hook, name } = checked;
      const method = checked.methods.get(event) as ((this: Hook, ctx: unknown) => unknown) | undefined;
      const isElsewhere = state.rank !== 0 && hook.ranks === "main";
      if (!method || isElsewhere || state.off.has(name)) continue;
      let open = true;
      const stop = (reason: string): void => {
        if (!open)
          throw new ContextError(`ctx.stop() was called after \`${event}\` had ended: await what it waits for.`);
        state.stop ??= { reason, requestedBy: name };
      };
      try {
        returned(await around(hook, () => method.call(hook, withStop(fields(), stop))), hook);
      } catch (error) {
        failed(checked, event, error, state);
      } finally {
        open = false;
      }
    }
  }
}

const INSTEAD = new Map([
  ["stop", "ctx.stop(reason)"],
  ["status", "ctx.stop(reason)"],
  ["data", "the return value of onDataRead"],
]);

/** The fields as they are, getters included, with `stop`. */
const withStop = (fields: object, stop: (reason: string) => void): object =>
  withoutAssignments(Object.defineProperties({ stop }, Object.getOwnPropertyDescriptors(fields)), INSTEAD);

function failed({ name, policy }: CheckedHook, event: string, cause: unknown, state: OuterState): void {
  const error = new HookError(name, event, undefined, cause);
  if (policy === "throw") throw error;
  state.failures.push({ hook: name, event, step: error.step, error: cause });
  state.warn(error.message);
  if (policy !== "disable") return;
  state.off.add(name);
  state.warn(`Hook \`${name}\` is switched off.`);
}
