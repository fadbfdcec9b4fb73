// What the context needs of a run: the state it shows, and the doing behind its verbs.
import type { GroupAssignment } from "./ask.ts";
import type { Audit, Intervention } from "./audit.ts";
import type { Moment } from "./cadence.ts";
import type { ContextFields, LiveOptimizer, Verbs } from "./context.types.ts";
import type { Clock } from "./counters.ts";
import type { Turn } from "./dispatch.ts";
import type { Grads } from "./grads.ts";
import type { HookTurn } from "./hook-turn.ts";
import type { Media } from "./media.ts";
import type { NameFilter } from "./names.ts";
import type { Activations, ProbeRequest } from "./probes.ts";
import type { Checkpoints, SaveRequest } from "./saving.ts";
import type { Team } from "./team.ts";

/** The state of a run as the loop keeps it. Values that cost a read of the device are getters of the implementation. */
export interface RunView extends Omit<
  ContextFields,
  | "epoch"
  | "step"
  | "tokensSeen"
  | "samplesSeen"
  | "log"
  | "due"
  | "grads"
  | "activations"
  | "optimizers"
  | "checkpoints"
  | "rank"
  | "worldSize"
> {
  readonly clock: Clock;
  /** The processes that train together; undefined for one alone. */
  readonly team: Team | undefined;
  /** The gradients as one hook sees them: what it does to them is recorded. Undefined outside their window. */
  gradsFor(turn: HookTurn): Grads | undefined;
  /** The activations of a hook's own request, as far as they were collected. */
  activationsFor(request: ProbeRequest): Activations;
  /** Of the own event at hand. */
  payload: unknown;
  /** The clock as cadences read it. */
  readonly moment: Moment;
  /** Does the boundary that logs now reach every hook that listens, or only those whose own cadence is due? */
  readonly logIsForAll: boolean;
  readonly audit: Audit;
  readonly turn: Turn;
  /** Live optimizers whose assignments are recorded under the hook that reads them. */
  optimizersFor(turn: HookTurn): readonly LiveOptimizer[];
  /** The run's checkpoints as one hook sees them: what it releases is its own share. */
  checkpointsFor(hook: string): Checkpoints;
  /** Carries out what the verbs ask. */
  readonly actions: Actions;
}

/** The verbs without their permissions and their audit: what the loop does. */
export interface Actions extends Omit<Verbs, "stop" | "setLr" | "setTrainable" | "requestSave" | "rollback"> {
  stop(reason: string, by: string, entry: Intervention): void;
  requestSave(request: SaveRequest, at: "boundary" | "end"): void;
  rollback(to: string | undefined, by: string, reason: string | undefined): void;
  /** What each group's rate would be, and setting them. */
  ratesFor(lr: number | ((current: number) => number)): readonly number[];
  setRates(rates: readonly number[]): void;
  assign(optimizer: number, group: number, values: GroupAssignment): void;
  /** The parameters that a filter leaves out, and leaving them out. */
  frozenBy(filter: NameFilter): readonly string[];
  freeze(names: readonly string[]): void;
  log(values: Readonly<Record<string, number | Media>>): void;
}
