// The processes that train one model together, as the loop and the context see them. A process alone has no team.
import type { Interruption } from "./evaluate.ts";
import type { HookRequest } from "./interventions.ts";
import type { HostBatch, Loader, MaybePromise, Share } from "./model.ts";

/** Events after which the ranks agree at once, when someone listens: what is asked there must hold in the same step. */
export const AGREED_EVENTS = ["stepBegin", "beforeOptimizerStep", "gradientClip"] as const;
export type AgreedEvent = (typeof AGREED_EVENTS)[number];

export interface Team {
  /** This process, from 0; 0 is the main one. */
  readonly rank: number;
  readonly size: number;
  /** Milliseconds of training as of the last agreement: those of the main rank, on all. */
  readonly elapsed: number;
  /** Does any rank log at this boundary? As of the last agreement. */
  readonly logs: boolean;
  /** Why the run must end, when any rank was told so. */
  readonly interruption: Interruption | undefined;
  /** Keeps a request until the ranks agree. */
  ask(request: HookRequest): void;
  /** All ranks tell what was asked of them since the last time, and do the same of it. */
  agree(logs?: boolean): MaybePromise<void>;
  /** Did any rank listen to this event, when they last agreed? */
  listens(event: AgreedEvent): boolean;
  /** This rank's rows of a batch. */
  shareOf(batch: HostBatch): Share;
  /** The same of a loader's next batch; undefined at its end. */
  nextShare(loader: Loader, name: string): MaybePromise<Share | undefined>;
  /** Do all have the same parameters? Looks now and then, or now. */
  compare(now?: boolean): MaybePromise<void>;
}
