// Hooks that a study names by their module's export, `./hooks.ts#mine`. One instance is made in the study's process, and
// one per attempt in the process of its trial. The instances share no fields. A hook that listens on both sides and
// changes a field on one of them gets a warning, because the other side does not see the change.
import { HookRegistrationError } from "../core/errors.ts";
import { CheckedHook } from "../core/registry/checked-hook.ts";
import type { Hook } from "../core/hook.ts";
import { type Json, show } from "../core/options.ts";
import { callExport, unknownOption } from "../experiment/build/call-export.ts";
import { loadExport } from "../experiment/config/modules.ts";
import { projectOf } from "../experiment/config/project.ts";
import type { Runner, TrialJob } from "./runners/runner.ts";
import { listensTo } from "./trial.ts";

/** A hook by its module's export, `./hooks.ts#mine`: a class, or a function that makes one; with options for it. */
export type HookSource = string | { readonly use: string; readonly [option: string]: Json };

type Stash = TrialJob["stash"];

/** The key under which a trial's process reports changed fields, beside the trial's stash. Trials never see it. */
const FIELDS = "$hookFields";

export class ModuleHooks {
  readonly hooks: readonly Hook[];
  readonly #sources: readonly HookSource[];
  /** For each hook that listens both to the study and to a training, a function that lists its changed fields. */
  readonly #changes: ReadonlyMap<string, () => readonly string[]>;
  readonly #warned = new Set<string>();

  private constructor(sources: readonly HookSource[], hooks: readonly Hook[]) {
    this.#sources = sources;
    this.hooks = hooks;
    const split = hooks.filter((hook) => listensTo(hook, "study") && listensTo(hook, "training"));
    this.#changes = new Map(split.map((hook) => [hook.name, watchFields(hook)]));
  }

  /** @param directory what the paths of the modules are relative to */
  static async make(sources: readonly HookSource[], directory: string): Promise<ModuleHooks> {
    return new ModuleHooks(sources, await Promise.all(sources.map((source) => makeHook(source, directory))));
  }

  /** In a trial's process: the stash with the names of the fields that hooks changed there. */
  pack(stash: Stash): Stash {
    const fields = this.#changedFields();
    return Object.keys(fields).length > 0 ? { ...stash, [FIELDS]: fields } : stash;
  }

  /**
   * In the study's process: a runner for trials in other processes, which makes these hooks for each attempt.
   * @param settled resolves when hooks have handled the start of the trial
   */
  wrap(runner: Runner, settled: () => Promise<void>, warn: (message: string) => void): Runner {
    const unpack = (stash: Stash): Stash => {
      const { [FIELDS]: fields, ...rest } = stash;
      if (fields === undefined) return stash;
      this.#warn(fields as Readonly<Record<string, readonly string[]>>, "a trial's process", "the study's", warn);
      return rest;
    };
    return {
      ...runner,
      run: async (job, host) => {
        await settled();
        this.#warn(this.#changedFields(), "the study's process", "each trial's", warn);
        const outcome = await runner.run(
          { ...job, hooks: this.#sources },
          {
            signal: host.signal,
            report: (step, values, stash) => host.report(step, values, unpack(stash)),
            checkpoint: (path, stash) => host.checkpoint(path, unpack(stash)),
          },
        );
        return { ...outcome, stash: unpack(outcome.stash) };
      },
    };
  }

  #changedFields(): Record<string, readonly string[]> {
    const changed = [...this.#changes].map(([hook, list]) => [hook, list()] as const);
    return Object.fromEntries(changed.filter(([, fields]) => fields.length > 0));
  }

  #warn(
    changed: Readonly<Record<string, readonly string[]>>,
    here: string,
    there: string,
    warn: (message: string) => void,
  ): void {
    for (const [hook, fields] of Object.entries(changed)) {
      if (this.#warned.has(`${hook} ${here}`)) continue;
      this.#warned.add(`${hook} ${here}`);
      const names = fields.map((field) => `\`${field}\``).join(", ");
      warn(
        `Hook \`${hook}\` changed ${names} in ${here}. In ${there} process there is another instance of the hook, which does not see the change: share values through reports or \`trial.stash\`. What only one side needs can be a private field (\`#${fields[0]}\`).`,
      );
    }
  }
}

/** Compares the fields of a hook with those it has now: which were added, replaced, or grew or shrank in place. */
export function watchFields(hook: Hook): () => readonly string[] {
  const before = fieldsOf(hook);
  return () =>
    [...fieldsOf(hook)]
      .filter(([key, { value, size }]) => {
        const first = before.get(key);
        return !first || !Object.is(first.value, value) || first.size !== size;
      })
      .map(([key]) => key);
}

function fieldsOf(hook: Hook): ReadonlyMap<string, { readonly value: unknown; readonly size: number | undefined }> {
  const fields = Object.entries(hook).filter(([key, value]) => key !== "name" && typeof value !== "function");
  return new Map(fields.map(([key, value]: [string, unknown]) => [key, { value, size: sizeOf(value) }]));
}

function sizeOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map || value instanceof Set) return value.size;
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? Object.keys(value).length : undefined;
}

async function makeHook(source: HookSource, directory: string): Promise<Hook> {
  const { use, ...options } = typeof source === "string" ? { use: source } : source;
  const found = await loadExport(use, { directory, project: projectOf(directory) });
  if (typeof found !== "function") {
    throw new HookRegistrationError(
      `Expected ${use} to be a class or a function that makes a hook, got ${show(found)}: each process makes its own instance.`,
    );
  }
  const unknown = unknownOption(found, use, options);
  if (unknown) throw new HookRegistrationError(unknown.message);
  const made = (await callExport(found, options)) as Hook;
  // Throws if it is not a valid hook.
  void new CheckedHook(made);
  return made;
}
