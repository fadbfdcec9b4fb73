// The Study: searches a space by trials, and keeps a journal from which it resumes after a crash.
import { safeText } from "../core/safe-text.ts";
import { ContextError, OptionError } from "../core/errors.ts";
import { checkOptions } from "../core/options.ts";
import { OuterHooks } from "../core/registry/outer-hooks.ts";
import { redact, secretsOfEnvironment } from "../platform/redact.ts";
import type { TrialInfo } from "../core/outer-events.ts";
import { currentPlatform } from "../platform/platform.ts";
import { StudyError, errorOf } from "./study-errors.ts";
import { paretoFront, rankTrials } from "./ranking.ts";
import type { SpaceTree } from "./space/parameters.ts";
import type { Space } from "./space/space.ts";
import { StudyStore } from "./study-store.ts";
import { planStudy, type StudyOptions, type StudyPlan, type TrialParams } from "./study-options.ts";
import { runStudy, type StudyEnd } from "./study-run.ts";
import { infoOf, type TrialState } from "./study-state.ts";
import { studyTable } from "./study-table.ts";
import { checkValues, trialSeed } from "./trial.ts";
import type { Objective, Result } from "./types.ts";

/** What `run` of a study resolves to. */
export interface StudyResult extends StudyEnd {
  /** The best completed trial; with several objectives, the first of those that no other beats. */
  readonly best: TrialInfo | undefined;
  readonly trials: readonly TrialInfo[];
}

/** Options of a study's `run`. */
export interface RunStudyOptions {
  /** Ends the study: trials end at their next report, and resume with the study. */
  readonly signal?: AbortSignal;
}

/** A trial to be run by the caller, who reports its result with `study.tell(number, result)`. */
export interface AskedTrial<P> {
  readonly number: number;
  readonly params: P;
  readonly seed: number;
  readonly runDir: string | undefined;
}

const RUN_CHECKS = { signal: { expected: "an AbortSignal", test: (v: unknown) => v instanceof AbortSignal } };

/**
 * @example
 * const study = new Study({
 *   space: { lr: logUniform(1e-4, 1e-1) },
 *   trials: 20,
 *   trial: async (trial) => ({ "val/loss": await train(trial.params.lr) }),
 * });
 * const { best } = await study.run();
 */
export class Study<const S extends Space | SpaceTree = SpaceTree> {
  readonly options: StudyOptions<S>;
  readonly #plan: StudyPlan;
  readonly #platform = currentPlatform();
  readonly #warn: (message: string) => void;
  /** Trials that `ask` has given out in this process. */
  readonly #asked = new Set<number>();
  #store: StudyStore | undefined;
  #trials: readonly TrialState[] = [];
  #elapsed = 0;
  #running = false;

  constructor(options: StudyOptions<S>) {
    this.#plan = planStudy(options);
    // Throws if a hook is invalid. Hooks named by module are made when the study runs.
    void new OuterHooks("study", this.#plan.hooks);
    this.options = options;
    const warn = options.warn ?? ((message: string) => this.#platform.warn(message));
    this.#warn = (message) => warn(safeText(redact(message, secretsOfEnvironment())));
  }

  get name(): string {
    return this.#plan.name;
  }

  get space(): Space {
    return this.#plan.space;
  }

  get objectives(): readonly Objective[] {
    return this.#plan.objectives;
  }

  /** Seconds that it has run, including earlier controllers. */
  get elapsed(): number {
    return this.#store?.elapsed ?? this.#elapsed;
  }

  /** All trials so far, by number. */
  get trials(): readonly TrialInfo[] {
    return this.#states.map(infoOf);
  }

  /** The best completed trial; with several objectives, the first of `front`. */
  get best(): TrialInfo | undefined {
    const { objectives } = this.#plan;
    if (objectives.length > 1) return this.front[0];
    const completed = this.#states.filter(({ status }) => status === "completed");
    const best = rankTrials(completed, objectives)[0];
    return best && infoOf(best);
  }

  /** The completed trials that no other beats in all objectives. */
  get front(): readonly TrialInfo[] {
    return paretoFront(this.#states, this.#plan.objectives).map(infoOf);
  }

  /** The trials as a table of text, best first. */
  table(): string {
    return studyTable(this.#states, this.#plan);
  }

  /** Runs the study to its end, from where its journal ends. */
  async run(options: RunStudyOptions = {}): Promise<StudyResult> {
    checkOptions("run", options, RUN_CHECKS);
    if (this.#running) throw new ContextError("run() was called while it is running. Await that call first.");
    if (this.#plan.trial === undefined)
      throw new OptionError("Study: run() needs `trial`. Without it, use ask() and tell().", { option: "trial" });
    if (this.#asked.size > 0)
      throw new ContextError("run() was called while asked trials are open. Tell what became of them first.");
    this.#running = true;
    try {
      const store = this.#open();
      const ending = await runStudy({ plan: this.#plan, store, warn: this.#warn, ...options });
      return { ...ending, best: this.best, trials: this.trials };
    } finally {
      this.#running = false;
      this.close();
    }
  }

  /** The next trial, to be run by the caller; undefined when there are no more. Fires no events. */
  ask(): AskedTrial<TrialParams<S>> | undefined {
    if (this.#running) throw new ContextError("ask() was called while run() is running: it asks for itself.");
    const store = this.#open();
    if (this.#asked.size === 0) store.carryOutPending();
    const unfinished = store.state.trials.find(
      ({ number, status }) => ["waiting", "running", "interrupted"].includes(status) && !this.#asked.has(number),
    );
    const trial = unfinished ?? store.suggest();
    if (!trial) return undefined;
    const { number, params, runDir } = store.start(trial.number);
    this.#asked.add(number);
    return { number, params: params as TrialParams<S>, seed: trialSeed(this.#plan.seed, number), runDir };
  }

  /** Reports the result of an asked trial, or the error that it failed with. */
  tell(number: number, result: Result | Error): void {
    if (!this.#asked.has(number)) {
      const open = [...this.#asked].join(", ") || "none";
      throw new ContextError(
        `tell(${number}): this trial was not asked for, or its result is known already. Open trials: ${open}.`,
      );
    }
    const store = this.#open();
    if (result instanceof Error) store.write({ type: "failed", trial: number, error: errorOf(result), retry: false });
    else {
      const values = checkValues("tell", result);
      const missing = this.#plan.objectives.find(({ metric }) => values[metric] === undefined);
      if (missing) {
        const known = Object.keys(values).join(", ") || "nothing";
        throw new StudyError(`tell(${number}): the objective \`${missing.metric}\` is missing. Got: ${known}.`);
      }
      store.write({ type: "completed", trial: number, result: values });
    }
    this.#asked.delete(number);
  }

  /** Releases the study's directory after ask and tell; run() does it itself. */
  close(): void {
    // A study in memory stays open: its state would be lost.
    if (!this.#store || this.#plan.dir === undefined) return;
    this.#trials = this.#store.state.trials;
    this.#elapsed = this.#store.elapsed;
    this.#store.close();
    this.#store = undefined;
    this.#asked.clear();
  }

  get #states(): readonly TrialState[] {
    return this.#store?.state.trials ?? this.#trials;
  }

  #open(): StudyStore {
    this.#store ??= new StudyStore(this.#plan);
    return this.#store;
  }
}
