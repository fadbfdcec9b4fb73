// A study's journal and the state made of it: opened by its controller, or only read by observers.
import { builtin } from "../platform/builtin.ts";
import { FORMATS, trialDirectory, trialNumber } from "../runs/layout.ts";
import { isLocked } from "../runs/lock.ts";
import { memoryJournal, openJournal, readJournal, type Journal } from "./journal.ts";
import { type JournalEntry, type StudyEntry } from "./journal-format.ts";
import { describeSpace, spaceFromJournal } from "./space/space-data.ts";
import { StudyError } from "./study-errors.ts";
import type { StudyPlan } from "./study-options.ts";
import { infoOf, StudyState, type TrialState } from "./study-state.ts";
import type { Params, ReportedStudy, StudyView } from "./types.ts";

/** The controller's side: each line is on disk before the state includes it. */
export class StudyStore {
  readonly state: StudyState;
  /** Whether an earlier controller began the study. */
  readonly resumed: boolean;
  readonly #plan: StudyPlan;
  readonly #journal: Journal;
  readonly #before: number;
  readonly #opened = performance.now();

  constructor(plan: StudyPlan) {
    const { dir } = plan;
    this.#plan = plan;
    this.state = new StudyState((number) => (dir === undefined ? undefined : trialDirectory(dir, number)));
    this.#journal = dir === undefined ? memoryJournal() : openJournal(dir);
    try {
      const { lines } = this.#journal;
      for (const line of lines) this.state.apply(line);
      // A pause ends with the controller that was asked for it.
      this.state.paused = false;
      this.resumed = lines.length > 0;
      this.#before = lines.at(-1)?.at ?? 0;
      if (dir !== undefined) checkDirectories(dir, this.state.trials.length);
      const entry = entryOf(plan);
      if (this.state.study) checkSame(this.state.study, entry, dir!);
      else this.write(entry);
    } catch (error) {
      this.#journal.close();
      throw error;
    }
  }

  /** Seconds that the study has run, including earlier controllers. */
  get elapsed(): number {
    return this.#before + (performance.now() - this.#opened) / 1000;
  }

  write(entry: JournalEntry): void {
    this.#journal.append({ ...entry, at: Math.round(this.elapsed * 1000) / 1000 });
    this.state.apply(entry);
  }

  trial(number: number): TrialState {
    return this.state.trials[number]!;
  }

  /** How many trials there will be in all, with those that a person has added. */
  get totalTrials(): number {
    const { totalTrials, added } = this.state;
    return (totalTrials ?? this.#plan.totalTrials ?? Infinity) + added;
  }

  /** How many trials run at once. */
  get concurrency(): number {
    return this.state.concurrency ?? this.#plan.concurrency;
  }

  /** The study, as samplers and schedulers see it now. */
  get view(): StudyView {
    const { space, objectives } = this.#plan;
    return { space, objectives, ...(this.totalTrials < Infinity && { totalTrials: this.totalTrials }) };
  }

  /** The trials as schedulers see them: one that a person has changed has ended without a result. */
  get judged(): readonly TrialState[] {
    return this.state.trials.map((trial) =>
      trial.touched ? { ...trial, status: "failed", reports: [], result: undefined } : trial,
    );
  }

  /** A new trial; undefined when there are no more. */
  suggest(): TrialState | undefined {
    const { sampler, space } = this.#plan;
    const { trials, enqueued, added } = this.state;
    const number = trials.length;
    if (number >= this.totalTrials) return undefined;
    // A sampler counts its own suggestions, and learns from trials that only their parameters have led.
    const untouched = trials.filter(({ touched }) => !touched);
    const own = number - (added - enqueued.length);
    const params: Params = enqueued[0] ?? sampler.suggest(own, untouched, this.view);
    space.check(params);
    this.write({ type: "suggested", trial: number, params });
    return this.trial(number);
  }

  /** Carries out pending decisions of a controller that was killed before the trials ended. Returns their numbers. */
  carryOutPending(): readonly number[] {
    const numbers = this.state.trials.filter(({ pending }) => pending).map(({ number }) => number);
    for (const trial of numbers) this.write({ type: "left", trial });
    return numbers;
  }

  /** Records the start of a trial, and makes its directory. */
  start(number: number): TrialState {
    const { runDir, checkpoint } = this.trial(number);
    if (runDir !== undefined) builtin("A study's `dir`", "node:fs").mkdirSync(runDir, { recursive: true });
    this.write({ type: "started", trial: number, ...(checkpoint && { resume: checkpoint }) });
    return this.trial(number);
  }

  close(): void {
    this.#journal.close();
  }
}

function entryOf({ name, space, objectives, seed, sampler, scheduler }: StudyPlan): StudyEntry {
  return {
    type: "study",
    version: FORMATS.journal.version,
    id: crypto.randomUUID(),
    name,
    space: describeSpace(space.root),
    objectives,
    seed,
    sampler: sampler.name,
    scheduler: scheduler.name,
  };
}

/** A trial is in the journal before it has a directory. A directory without a trial means that the journal lost lines. */
function checkDirectories(dir: string, trials: number): void {
  const lost = builtin("A study's `dir`", "node:fs")
    .readdirSync(dir)
    .find((name) => (trialNumber(name) ?? -1) >= trials);
  if (lost === undefined) return;
  throw new StudyError(
    `Study: ${dir}/${lost} exists, but ${dir}/${FORMATS.journal.file} does not know this trial: the journal, or the end of it, is missing. Restore it from a copy, or give the study another \`dir\`.`,
  );
}

/** Rejects a journal that was begun with another space, seed or sampler: its trials could not be compared. */
function checkSame(before: StudyEntry, now: StudyEntry, dir: string): void {
  for (const key of ["name", "space", "objectives", "seed", "sampler", "scheduler"] as const) {
    const [there, here] = [JSON.stringify(before[key]), JSON.stringify(now[key])];
    if (there === here) continue;
    const both = key === "space" ? "" : `: ${there} there, ${here} here`;
    throw new StudyError(
      `Study: the study in ${dir} has another \`${key}\`${both}. Continue with the same one, give this study another \`dir\`, or move that one away: on the command line, \`--fresh\` does.`,
    );
  }
}

/** A study as its directory describes it. */
export interface ReadStudy extends Required<ReportedStudy> {
  readonly dir: string;
}

/** Reads a study without locking or writing anything. Undefined when its controller has written nothing yet. */
export function readStudy(dir: string): ReadStudy | undefined {
  const lines = readJournal(dir);
  const state = new StudyState((number) => trialDirectory(dir, number));
  for (const line of lines) state.apply(line);
  const { study, ended, trials } = state;
  if (!study) return undefined;
  const isRunning = isLocked(dir);
  // A killed controller wrote no last line.
  if (!isRunning) state.interruptRunning();
  return {
    dir,
    name: study.name,
    space: spaceFromJournal(study.space),
    objectives: study.objectives,
    trials: trials.map(infoOf),
    elapsed: lines.at(-1)!.at,
    status: isRunning ? "running" : (ended?.status ?? "killed"),
    reason: isRunning ? "" : (ended?.reason ?? ""),
  };
}
