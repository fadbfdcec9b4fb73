// The events of a study: dispatched one after another beside its trials, which wait for no hook longer than its budget.
import type { Hook } from "../core/hook.ts";
import type { TuneEvent } from "../core/outer-events.ts";
import type { OuterHooks, OuterState } from "../core/outer-hooks.ts";
import type { TuneContexts } from "../core/outer-events.ts";
import { HookError } from "../core/errors.ts";
import type { Json } from "../core/options.ts";
import { writeAtomically } from "../runs/atomic-write.ts";
import { STUDY_HOOKS_FILE } from "../runs/layout.ts";
import { builtin } from "../platform/builtin.ts";
import { StudyError } from "./study-errors.ts";

/** Milliseconds that trials wait for a hook, unless it says another `budget`. */
const BUDGET = 500;
/** Milliseconds for what is still to be dispatched when all trials have ended. */
const DEADLINE = 30_000;

type Common = "study" | "seed" | "dir" | "iteration" | "trials" | "shared" | "stop";
type Own<E extends TuneEvent> = Omit<TuneContexts[E], Common>;

/** Events after which the hooks' state is kept. */
const KEEP_AFTER: ReadonlySet<TuneEvent> = new Set(["trialComplete", "trialError", "experimentEnd"]);

interface Parts {
  readonly hooks: OuterHooks<TuneContexts>;
  readonly state: OuterState;
  readonly common: () => Pick<TuneContexts["tuneStepBegin"], Exclude<Common, "stop">>;
  /** Called when something has changed that the controller may wait for. */
  readonly wake: () => void;
  readonly keep: () => Promise<void>;
}

export class StudyEvents {
  readonly #parts: Parts;
  #tail: Promise<void> = Promise.resolve();
  #late = false;
  readonly #waiting = new Set<() => void>();
  readonly #warned = new Set<string>();
  /** The error of a hook that ends the study. */
  failure: { readonly error: unknown } | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Events come to hooks in the order in which they were posted. False when nobody listens. */
  post<E extends TuneEvent>(event: E, own: Own<E>, returned?: () => void): boolean {
    const listens = this.#parts.hooks.listening(event).length > 0;
    if (!listens && !KEEP_AFTER.has(event)) return false;
    const common = this.#parts.common();
    // Later the study may be further on; the list of its trials is always that of now.
    const fields = Object.defineProperties({}, { ...describe(common), ...describe(own) }) as Omit<
      TuneContexts[E],
      "stop"
    >;
    this.#tail = this.#tail.then(() => this.#dispatch(event, fields, returned));
    return listens;
  }

  /** What is posted has been dispatched; or a hook takes longer than its budget, and nobody waits for it. */
  settled(): Promise<void> {
    if (this.#late) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      void this.#tail.then(() => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
  }

  /** Everything has been dispatched; a hook that hangs does not keep a study that has ended for ever. */
  async drained(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#parts.state.warn(`The study ends, though its hooks have not come to an end within ${DEADLINE} ms.`);
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
    // A study that a hook has failed ends: nothing but that is told.
    if (this.failure && event !== "experimentEnd") return;
    const { hooks, state, wake, keep } = this.#parts;
    try {
      await hooks.fire(event, state, () => fields, {
        ...(returned && { returned }),
        around: (hook, call) => this.#timed(event, hook, call),
      });
      if (KEEP_AFTER.has(event)) await keep();
    } catch (error) {
      this.failure ??= { error };
    }
    if (this.failure || state.stop) wake();
  }

  async #timed(event: string, hook: Hook, call: () => unknown): Promise<unknown> {
    const budget = hook.budget ?? BUDGET;
    const begun = performance.now();
    const timer = setTimeout(() => {
      this.#late = true;
      this.#warn(event, hook.name, budget);
      for (const resolve of this.#waiting) resolve();
      this.#waiting.clear();
    }, budget);
    try {
      return await call();
    } finally {
      clearTimeout(timer);
      this.#late = false;
      if (performance.now() - begun > budget) this.#warn(event, hook.name, budget);
    }
  }

  #warn(event: string, hook: string, budget: number): void {
    if (this.#warned.has(`${hook} ${event}`)) return;
    this.#warned.add(`${hook} ${event}`);
    this.#parts.state.warn(
      `Hook \`${hook}\` takes more than ${budget} ms in \`${event}\`. Trials go on without waiting for it; results that it changes later stay as they were reported.`,
    );
  }
}

/** Getters stay getters. */
const describe = (fields: object): PropertyDescriptorMap => Object.getOwnPropertyDescriptors(fields);

// What hooks of a study keep from one controller to the next: by name, in a file of the study's directory.

type States = Readonly<Record<string, { readonly version: number; readonly json: Json }>>;

const fileIn = (dir: string): string => `${dir}/${STUDY_HOOKS_FILE}`;

export async function saveHookStates(dir: string, hooks: readonly Hook[]): Promise<void> {
  const states: Record<string, { version: number; json: Json }> = {};
  for (const hook of hooks) {
    const state = await calling(hook, "state", () => hook.state?.());
    if (state?.json !== undefined) states[hook.name] = { version: hook.version ?? 1, json: state.json };
  }
  if (Object.keys(states).length > 0) await writeAtomically(fileIn(dir), `${JSON.stringify(states)}\n`, "Study");
}

export async function loadHookStates(dir: string, hooks: readonly Hook[]): Promise<void> {
  const { existsSync, readFileSync } = builtin("Study", "node:fs");
  if (!existsSync(fileIn(dir))) return;
  const states = read(fileIn(dir), readFileSync(fileIn(dir), "utf8"));
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

function read(file: string, text: string): States {
  try {
    return JSON.parse(text) as States;
  } catch (cause) {
    throw new StudyError(`Study: ${file} is damaged. Remove it, and the hooks begin anew.`, { cause });
  }
}
