// The events of a study, dispatched in order beside its trials, and the state that its hooks keep from one controller to
// the next. Trials wait for a hook no longer than the hook's budget.
import { HookError } from "../core/errors.ts";
import type { TuneContexts, TuneEvent } from "../core/outer-events.ts";
import type { Hook } from "../core/hook.ts";
import type { Json } from "../core/options.ts";
import type { OuterHooks, OuterState } from "../core/registry/outer-hooks.ts";
import { builtin } from "../platform/builtin.ts";
import { writeAtomically } from "../runs/atomic-write.ts";
import { STUDY_HOOKS_FILE } from "../runs/layout.ts";
import { StudyError } from "./study-errors.ts";

/** Milliseconds that trials wait for a hook, unless it sets its own `budget`. */
const DEFAULT_BUDGET = 500;
/** Milliseconds for the events that are left when all trials have ended. */
const DEADLINE = 30_000;

type Common = "study" | "seed" | "dir" | "iteration" | "trials" | "shared" | "stop";
type Own<E extends TuneEvent> = Omit<TuneContexts[E], Common>;

/** Events after which the hooks' state is saved. */
const SAVE_AFTER: ReadonlySet<TuneEvent> = new Set(["trialComplete", "trialError", "experimentEnd"]);

interface StudyEventsOptions {
  readonly hooks: OuterHooks<TuneContexts>;
  readonly state: OuterState;
  /** The context fields of every event. */
  readonly common: () => Pick<TuneContexts["tuneStepBegin"], Exclude<Common, "stop">>;
  /** Called when a hook failed or requested a stop. */
  readonly wake: () => void;
  readonly save: () => Promise<void>;
}

export class StudyEvents {
  readonly #options: StudyEventsOptions;
  #tail: Promise<void> = Promise.resolve();
  /** A hook has exceeded its budget and is still running. */
  #isLate = false;
  readonly #waiting = new Set<() => void>();
  readonly #warned = new Set<string>();
  /** The error of a hook that ends the study. */
  failure: { readonly error: unknown } | undefined;

  constructor(options: StudyEventsOptions) {
    this.#options = options;
  }

  /** Dispatches an event after those posted before it. Returns false when no hook listens. */
  post<E extends TuneEvent>(event: E, own: Own<E>, returned?: () => void): boolean {
    const listens = this.#options.hooks.listening(event).length > 0;
    if (!listens && !SAVE_AFTER.has(event)) return false;
    // Copied with their getters: `trials` is read when a hook asks for it, the other fields are those of now.
    const fields = Object.defineProperties(
      {},
      { ...Object.getOwnPropertyDescriptors(this.#options.common()), ...Object.getOwnPropertyDescriptors(own) },
    ) as Omit<TuneContexts[E], "stop">;
    this.#tail = this.#tail.then(() => this.#dispatch(event, fields, returned));
    return listens;
  }

  /** Resolves when all posted events are dispatched, or when a hook exceeds its budget. */
  settled(): Promise<void> {
    if (this.#isLate) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      void this.#tail.then(() => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
  }

  /** Resolves when everything is dispatched, or after a deadline: a hook that hangs must not keep the study alive. */
  async drained(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#options.state.warn(`The study ends, though its hooks did not finish within ${DEADLINE} ms.`);
        resolve();
      }, DEADLINE);
    });
    await Promise.race([this.#tail, late]);
    clearTimeout(timer);
  }

  async #dispatch<E extends TuneEvent>(
    event: E,
    fields: Omit<TuneContexts[E], "stop">,
    returned?: () => void,
  ): Promise<void> {
    // After a hook has failed the study, hooks only hear of its end.
    if (this.failure && event !== "experimentEnd") return;
    const { hooks, state, wake, save } = this.#options;
    try {
      await hooks.fire(event, state, () => fields, {
        ...(returned && { returned }),
        around: (hook, call) => this.#timed(event, hook, call),
      });
      if (SAVE_AFTER.has(event)) await save();
    } catch (error) {
      this.failure ??= { error };
    }
    if (this.failure || state.stop) wake();
  }

  async #timed(event: string, hook: Hook, call: () => unknown): Promise<unknown> {
    const budget = hook.budget ?? DEFAULT_BUDGET;
    const begun = performance.now();
    const timer = setTimeout(() => {
      this.#isLate = true;
      this.#warn(event, hook.name, budget);
      for (const resolve of this.#waiting) resolve();
      this.#waiting.clear();
    }, budget);
    try {
      return await call();
    } finally {
      clearTimeout(timer);
      this.#isLate = false;
      if (performance.now() - begun > budget) this.#warn(event, hook.name, budget);
    }
  }

  #warn(event: string, hook: string, budget: number): void {
    if (this.#warned.has(`${hook} ${event}`)) return;
    this.#warned.add(`${hook} ${event}`);
    this.#options.state.warn(
      `Hook \`${hook}\` takes more than ${budget} ms in \`${event}\`. Trials continue without waiting for it; results that it changes later stay as they were reported.`,
    );
  }
}

type SavedStates = Readonly<Record<string, { readonly version: number; readonly json: Json }>>;

const statesFile = (dir: string): string => `${dir}/${STUDY_HOOKS_FILE}`;

/** Writes the state of a study's hooks, by name, to the study's directory. */
export async function saveHookStates(dir: string, hooks: readonly Hook[]): Promise<void> {
  const states: Record<string, { version: number; json: Json }> = {};
  for (const hook of hooks) {
    const state = await calling(hook, "state", () => hook.state?.());
    if (state?.json !== undefined) states[hook.name] = { version: hook.version ?? 1, json: state.json };
  }
  if (Object.keys(states).length > 0) await writeAtomically(statesFile(dir), `${JSON.stringify(states)}\n`, "Study");
}

export async function loadHookStates(dir: string, hooks: readonly Hook[]): Promise<void> {
  const { existsSync, readFileSync } = builtin("Study", "node:fs");
  const file = statesFile(dir);
  if (!existsSync(file)) return;
  const states = parseStates(file, readFileSync(file, "utf8"));
  for (const hook of hooks) {
    const state = Object.hasOwn(states, hook.name) ? states[hook.name] : undefined;
    if (state) await calling(hook, "load", () => hook.load?.({ json: state.json }, state.version));
  }
}

async function calling<T>({ name }: Hook, method: string, call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new HookError(name, method, undefined, error);
  }
}

function parseStates(file: string, text: string): SavedStates {
  try {
    return JSON.parse(text) as SavedStates;
  } catch (cause) {
    throw new StudyError(`Study: ${file} is damaged. Remove it, and the hooks start without their saved state.`, {
      cause,
    });
  }
}
