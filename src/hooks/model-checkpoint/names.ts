// Names for a hook's checkpoints: from its template, and never one that would overwrite another checkpoint.
import type { NameTemplate } from "../../checkpoint/name-template.ts";
import type { SavedCheckpoint } from "../../core/saving.ts";

/** Leaves room in what a file system takes for what makes a name unique. */
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
  /** Why the template gave no name the last time. */
  problem: unknown;

  constructor(hook: string, template: NameTemplate | undefined) {
    this.#hook = hook;
    this.#template = template;
  }

  /** Never throws: an emergency is no time for it. `list` is what is there, `leaving` what may still be on its way out. */
  nameFor(moment: Moment, list: readonly SavedCheckpoint[], leaving: ReadonlySet<string>): string {
    const { step } = moment;
    const taken = (name: string): boolean =>
      leaving.has(name) || list.some((saved) => hasName(saved, name) && !this.#mayReplace(saved, step));
    const wanted = this.#wanted(moment).slice(0, LONGEST);
    if (!taken(wanted)) return wanted;
    const told = wanted.includes(stepName(step)) ? wanted : `${wanted}-${stepName(step)}`;
    if (!taken(told)) return told;
    let n = 2;
    while (taken(`${told}-${n}`)) n++;
    return `${told}-${n}`;
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

  /** The same step once more, such as the end of an epoch after its last step, takes the place of what only this hook has. */
  #mayReplace({ step, by = [] }: SavedCheckpoint, now: number): boolean {
    return step === now && by.length === 1 && by[0] === this.#hook;
  }
}

/** A name that an earlier run has taken is saved with the run's id behind it. */
const hasName = (saved: SavedCheckpoint, name: string): boolean =>
  saved.name === name || saved.name === `${name}-${saved.runId}`;
