// Names for a hook's checkpoints: from its template, and never the name of another checkpoint.
import type { NameTemplate } from "../../checkpoint/name-template.ts";
import type { SavedCheckpoint } from "../../core/saving.ts";

/** Leaves room within a file system's limit for a suffix that makes the name unique. */
const LONGEST = 70;

interface Moment {
  readonly step: number;
  readonly epoch: number;
  readonly metrics: Readonly<Record<string, number>>;
}

const stepName = (step: number): string => `step-${String(step).padStart(6, "0")}`;

export class CheckpointNames {
  readonly #hook: string;
  readonly #template: NameTemplate | undefined;
  /** Why the template could not be rendered the last time. */
  problem: unknown;

  constructor(hook: string, template: NameTemplate | undefined) {
    this.#hook = hook;
    this.#template = template;
  }

  /** Never throws, since an emergency save needs a name too. `list` holds the checkpoints, `leaving` those being removed. */
  nameFor(moment: Moment, list: readonly SavedCheckpoint[], leaving: ReadonlySet<string>): string {
    const { step } = moment;
    const taken = (name: string): boolean =>
      leaving.has(name) || list.some((saved) => hasName(saved, name) && !this.#mayReplace(saved, step));
    const wanted = this.#wanted(moment).slice(0, LONGEST);
    if (!taken(wanted)) return wanted;
    const withStep = wanted.includes(stepName(step)) ? wanted : `${wanted}-${stepName(step)}`;
    if (!taken(withStep)) return withStep;
    let n = 2;
    while (taken(`${withStep}-${n}`)) n++;
    return `${withStep}-${n}`;
  }

  #wanted(moment: Moment): string {
    this.problem = undefined;
    try {
      return this.#template?.render(moment) ?? stepName(moment.step);
    } catch (error) {
      this.problem = error;
      return stepName(moment.step);
    }
  }

  /** A second save of the same step, such as at the end of the epoch, replaces a checkpoint that only this hook keeps. */
  #mayReplace({ step, by = [] }: SavedCheckpoint, now: number): boolean {
    return step === now && by.length === 1 && by[0] === this.#hook;
  }
}

/** A name used by an earlier run has the run's id appended. */
const hasName = (saved: SavedCheckpoint, name: string): boolean =>
  saved.name === name || saved.name === `${name}-${saved.runId}`;
