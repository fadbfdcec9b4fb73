// Hooks and a trial for processes of their own: what tests of hooks in several processes name by module and export.
import type { Hook } from "hookline";
import { tinyTrainer } from "hookline/testing";
import type { Trial } from "hookline/tune";

/** A training with the hooks of the study. */
export async function train(trial: Trial): Promise<void> {
  await using trainer = tinyTrainer({ steps: 3, hooks: [...trial.hooks] });
  await trainer.fit();
  await trial.report({ loss: 1, hooks: trial.hooks.length }, 1);
}

/** Counts steps in the trial, and tells the study by the stash's way: not at all. */
export class Counts implements Hook {
  readonly name: string;
  steps = 0;

  constructor({ name = "counts" }: { readonly name?: string } = {}) {
    this.name = name;
  }

  onStepEnd(): void {
    this.steps++;
  }

  onTrialComplete(): void {
    console.log(`${this.steps} steps`);
  }
}

/** Counts steps, and listens to nothing else. */
export class Steps implements Hook {
  readonly name = "steps";
  steps = 0;

  onStepEnd(): void {
    this.steps++;
  }
}

/** Sets a field in the study, and reads it in the trial. */
export class Wishes implements Hook {
  readonly name = "wishes";
  declare wish: number | undefined;

  onTrialStart(): void {
    this.wish = 3;
  }

  onStepEnd(): void {
    console.log(this.wish);
  }
}

/** Keeps each side's own to itself. */
export function fair({ from }: { readonly from: number }): Hook {
  return {
    name: "fair",
    onStepEnd: (ctx) => console.log(`step ${ctx.step + from}`),
    onTrialResult: (ctx) => void (ctx.result["seen"] = from),
  };
}

export const readyMade: Hook = { name: "readyMade", onTrialStart: () => undefined };
