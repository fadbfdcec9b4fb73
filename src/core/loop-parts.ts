// What the loop is given: the state of the run, the hooks, the computing side, the data, and the user's limits and cadences.
import type { CadenceRule } from "./cadence.ts";
import type { EvalFeed, EvalParts } from "./evaluate.ts";
import type { Limits } from "./limits.ts";
import type { HostBatch } from "./model.ts";
import type { Saves } from "./saving.ts";
import type { Feed, Work } from "./work.ts";

export interface LoopParts extends EvalParts {
  readonly work: Work;
  readonly feed: Feed;
  readonly saves: Saves;
  readonly evals: readonly EvalFeed[];
  readonly limits: Limits;
  readonly evalEvery: CadenceRule | undefined;
  readonly logEvery: CadenceRule;
  readonly evalAtStart: boolean;
  readonly limitBatches: number;
  /** Where the trainer's warnings go. */
  readonly warn: (message: string) => void;
  readonly tokens: ((batch: HostBatch) => number) | undefined;
}
