// Hooks of a study that are named by their module's export: made in the study's process, and anew for every attempt at a
// trial in the process that it runs in. What one of them sets is not there in another; reading it there is an error.
import { HookRegistrationError } from "../core/errors.ts";
import { CheckedHook } from "../core/checked-hook.ts";
import type { Hook } from "../core/hook.ts";
import { type Json, show } from "../core/options.ts";
import { callOwn } from "../experiment/build/call-own.ts";
import { unknownOption } from "../experiment/build/own-options.ts";
import { loadExport } from "../experiment/config/modules.ts";
import { projectOf } from "../experiment/config/project.ts";
import type { Runner, TrialJob } from "./runners/runner.ts";
import { watchFields, type WatchedFields } from "./watch-fields.ts";

/** A hook by its module's export, `./hooks.ts#mine`: a class, or a function that makes one; with options for it. */
export type HookSource = string | { readonly use: string; readonly [option: string]: Json };

/** Fields by hook. */
export type HookFields = Readonly<Record<string, readonly string[]>>;

type Stash = TrialJob["stash"];

/** Where what a trial's hooks have set travels: beside the stash, whichever runner carries it. No trial sees it. */
const FIELDS = "$hookFields";

const PLACES = { study: "the study's process", trial: "the process of a trial" };

export class ModuleHooks {
  readonly hooks: readonly Hook[];
  readonly #sources: readonly HookSource[];
  readonly #watched: ReadonlyMap<string, WatchedFields>;

  private constructor(sources: readonly HookSource[], hooks: readonly Hook[], side: keyof typeof PLACES) {
    const where = { here: PLACES[side], there: PLACES[side === "study" ? "trial" : "study"] };
    this.#sources = sources;
    this.#watched = new Map(hooks.map((hook) => [hook.name, watchFields(hook, where)]));
    this.hooks = hooks;
  }

  /** @param directory what their paths are relative to */
  static async make(
    sources: readonly HookSource[],
    directory: string,
    side: keyof typeof PLACES,
  ): Promise<ModuleHooks> {
    return new ModuleHooks(sources, await Promise.all(sources.map((source) => makeHook(source, directory))), side);
  }

  /** What was set here, by hook. */
  get fields(): HookFields {
    const changed = [...this.#watched].map(([name, { changed: fields }]) => [name, fields] as const);
    return Object.fromEntries(changed.filter(([, fields]) => fields.length > 0));
  }

  setElsewhere(fields: HookFields): void {
    for (const [name, names] of Object.entries(fields)) this.#watched.get(name)?.setElsewhere(names);
  }

  /** The stash as it travels. */
  pack(stash: Stash): Stash {
    const { fields } = this;
    return Object.keys(fields).length > 0 ? { ...stash, [FIELDS]: fields } : stash;
  }

  /** The stash as it was, once what came with it is known. */
  unpack(stash: Stash): Stash {
    const { [FIELDS]: fields, ...rest } = stash;
    if (fields === undefined) return stash;
    this.setElsewhere(fields as unknown as HookFields);
    return rest;
  }

  /** The runner, which makes these hooks for each attempt. `settled`: hooks have heard that the trial starts. */
  through(runner: Runner, settled: () => Promise<void>): Runner {
    return {
      ...runner,
      run: async (job, host) => {
        await settled();
        const outcome = await runner.run(
          { ...job, hooks: this.#sources, hookFields: this.fields },
          {
            signal: host.signal,
            report: (step, values, stash) => host.report(step, values, this.unpack(stash)),
            checkpoint: (path, stash) => host.checkpoint(path, this.unpack(stash)),
          },
        );
        return { ...outcome, stash: this.unpack(outcome.stash) };
      },
    };
  }
}

async function makeHook(source: HookSource, directory: string): Promise<Hook> {
  const { use, ...options } = typeof source === "string" ? { use: source } : source;
  const found = await loadExport(use, { directory, project: projectOf(directory) });
  if (typeof found !== "function") {
    throw new HookRegistrationError(
      `Expected ${use} to be a class or a function that makes a hook, got ${show(found)}: it is made anew in each process.`,
    );
  }
  const unknown = unknownOption(found, use, options);
  if (unknown) throw new HookRegistrationError(unknown.message);
  const made = (await callOwn(found, options)) as Hook;
  // What is wrong with it is an error here.
  void new CheckedHook(made);
  return made;
}
