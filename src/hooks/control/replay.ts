// Which commands a run repeats, and when: those of its journal that came after its checkpoint, or those of a script.
import { replays } from "../../runs/control/commands.ts";
import { appliedHistory, type ControlLine, readJournal } from "../../runs/control/journal.ts";
import type { JournalLine } from "../../runs/control/types.ts";

interface Resumed {
  /** The id of the last command that the checkpoint contains. */
  readonly last: string | null;
  /** The step at which the run continues. */
  readonly step: number;
}

/** The lines after the checkpoint, in the order of the run's history. */
function linesAfter(lines: readonly ControlLine[], { last, step }: Resumed): JournalLine[] {
  const history = appliedHistory(lines);
  const at = history.findIndex(({ id }) => id === last);
  if (last !== null && at < 0) return [];
  return history.slice(at + 1).filter((line) => line.step >= step);
}

export const readScript = (script: string | readonly JournalLine[]): readonly JournalLine[] =>
  appliedHistory(typeof script === "string" ? readJournal(script).lines : script);

/** Commands that are repeated at their steps. */
export class Replay {
  readonly #pending: JournalLine[];

  /** From the run's own journal, and from a script, without what its journal has already. */
  constructor(lines: readonly ControlLine[], script: readonly JournalLine[], resumed: Resumed) {
    const known = new Set(appliedHistory(lines).map(({ id }) => id));
    const own = linesAfter(lines, resumed);
    const others = script.filter(({ id, step }) => !known.has(id) && step >= resumed.step);
    this.#pending = [...own, ...others].filter(({ verb }) => replays(verb)).sort((a, b) => a.step - b.step);
  }

  get size(): number {
    return this.#pending.length;
  }

  /** The next command's step; Infinity when none is left. */
  get nextStep(): number {
    return this.#pending[0]?.step ?? Infinity;
  }

  /** Takes the next command that belongs here. One that was applied during a pause waits for a pause. */
  take(step: number, settled: boolean): JournalLine | undefined {
    const next = this.#pending[0];
    if (!next || next.step > step || (next.step === step && next.settled && !settled)) return undefined;
    return this.#pending.shift();
  }
}
