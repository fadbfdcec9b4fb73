// The lines of a study's journal: what was decided, in the order in which it was. The state of a study is made of them alone.
import type { Json } from "../core/json.ts";
import type { TrialCheckpoint, TrialFailure } from "../core/tune.types.ts";
import type { Decision, Objective, Params, Result } from "./types.ts";

type Stash = Readonly<Record<string, Json>>;

/** The first line: what the study is, so that another one is not mixed with it. */
export interface StudyEntry {
  readonly type: "study";
  /** Of the journal's format. */
  readonly version: number;
  /** Random: it makes the checksums of all lines those of this study. Absent in version 1. */
  readonly id?: string;
  readonly name: string;
  readonly space: Json;
  readonly objectives: readonly Objective[];
  readonly seed: number;
  readonly sampler: string;
  readonly scheduler: string;
}

type TrialEntry =
  | { readonly type: "suggested"; readonly trial: number; readonly params: Params }
  | { readonly type: "started"; readonly trial: number; readonly resume?: TrialCheckpoint }
  | {
      readonly type: "report";
      readonly trial: number;
      readonly step: number;
      readonly values: Result;
      readonly decision: Decision;
      /** Of an exploit: where it goes on from. */
      readonly checkpoint?: TrialCheckpoint;
      readonly stash?: Stash;
    }
  | { readonly type: "checkpoint"; readonly trial: number; readonly path: string; readonly stash?: Stash }
  | { readonly type: "completed"; readonly trial: number; readonly result: Result; readonly stash?: Stash }
  /** The trial has left as the decision on its last report said. */
  | { readonly type: "left"; readonly trial: number; readonly stash?: Stash }
  /** The scheduler lets a paused trial go on. */
  | { readonly type: "resumed"; readonly trial: number }
  /** The scheduler will never let it go on. */
  | { readonly type: "dropped"; readonly trial: number }
  | {
      readonly type: "failed";
      readonly trial: number;
      readonly error: TrialFailure;
      /** Whether it is tried again. */
      readonly retry: boolean;
      /** Whether it was the machine that failed, which does not count against the trial. */
      readonly lost?: true;
    };

/** A controller has come to its end; one that was killed could not say so. */
export interface EndedEntry {
  readonly type: "ended";
  readonly status: "completed" | "stopped" | "interrupted" | "error";
  readonly reason: string;
}

export type JournalEntry = StudyEntry | TrialEntry | EndedEntry;

/** As it is written: with the seconds that the study has run so far. */
export type JournalLine = JournalEntry & { readonly at: number };
