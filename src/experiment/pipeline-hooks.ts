// Hooks in the events of an experiment: in their order, each under its own policy.
import { ContextError, HookError, HookRegistrationError } from "../core/errors.ts";
import type { PipelineEvent } from "../core/events.ts";
import { readHook, type HookFacts } from "../core/hook-facts.ts";
import type { Hook } from "../core/hook.ts";
import { orderHooks } from "../core/order.ts";
import type { PipelineContexts } from "../core/pipeline.types.ts";
import type { HookFailure } from "../core/registry.ts";

/** Who asked for the end, and why. */
export interface StopRequest {
  readonly reason: string;
  readonly requestedBy: string;
}

/** What hooks have done to the experiment so far; one for all of its models. */
export class PipelineState {
  readonly failures: HookFailure[] = [];
  /** Hooks that are switched off, in the trainings to come too. */
  readonly off = new Set<string>();
  stop: StopRequest | undefined;
  readonly warn: (message: string) => void;

  constructor(warn: (message: string) => void) {
    this.warn = warn;
  }
}

type FieldsOf<E extends PipelineEvent> = Omit<PipelineContexts[E], "stop">;
interface Listener {
  readonly facts: HookFacts;
  readonly hook: Hook;
}

export class PipelineHooks {
  readonly #listeners: readonly Listener[];

  /** Checks the hooks as a trainer would. */
  constructor(hooks: readonly Hook[]) {
    const listeners = new Map<string, Listener>();
    for (const hook of hooks) {
      const facts = readHook(hook);
      if (listeners.has(facts.name))
        throw new HookRegistrationError(
          `There is already a hook named \`${facts.name}\` in this experiment. Give this one another \`name\`.`,
        );
      listeners.set(facts.name, { facts, hook });
    }
    const order = orderHooks([...listeners.values()].map(({ facts }) => facts));
    this.#listeners = order.map(({ item }) => listeners.get(item.name)!);
  }

  /**
   * Calls every listener in turn. `fields` is read anew for each, so that one sees what those before it have done;
   * `returned` gets what a hook returns, and what it throws is that hook's error.
   */
  async fire<E extends PipelineEvent>(
    event: E,
    state: PipelineState,
    fields: () => FieldsOf<E>,
    returned: (value: unknown) => void = () => undefined,
  ): Promise<void> {
    for (const { facts, hook } of this.#listeners) {
      const method = facts.methods.get(event) as ((this: Hook, ctx: unknown) => unknown) | undefined;
      if (!method || state.off.has(facts.name)) continue;
      let open = true;
      const stop = (reason: string): void => {
        if (!open)
          throw new ContextError(`ctx.stop() was called after \`${event}\` had ended: await what it waits for.`);
        state.stop ??= { reason, requestedBy: facts.name };
      };
      try {
        returned(await method.call(hook, { ...fields(), stop }));
      } catch (error) {
        failed(facts, event, error, state);
      } finally {
        open = false;
      }
    }
  }
}

function failed({ name, policy }: HookFacts, event: PipelineEvent, cause: unknown, state: PipelineState): void {
  const error = new HookError(name, event, undefined, cause);
  if (policy === "throw") throw error;
  state.failures.push({ hook: name, event, step: error.step, error: cause });
  state.warn(error.message);
  if (policy !== "disable") return;
  state.off.add(name);
  state.warn(`Hook \`${name}\` is switched off.`);
}
