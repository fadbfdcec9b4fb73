// What a study and the process of a trial say to each other.
import type { TrialFailure } from "../../core/tune.types.ts";
import type { TrialJob, TrialOutcome, Verdict } from "./runner.ts";

export type ToTrial =
  | { readonly kind: "run"; readonly trial: string; readonly directory: string; readonly job: TrialJob }
  | { readonly kind: "answer"; readonly id: number; readonly verdict: Verdict }
  | { readonly kind: "interrupt"; readonly reason: string };

export type FromTrial =
  | {
      readonly kind: "report";
      readonly id: number;
      readonly step: number;
      readonly values: Readonly<Record<string, number>>;
      readonly stash: TrialJob["stash"];
    }
  | { readonly kind: "checkpoint"; readonly id: number; readonly path: string; readonly stash: TrialJob["stash"] }
  | { readonly kind: "returned"; readonly outcome: TrialOutcome }
  | { readonly kind: "failed"; readonly error: TrialFailure };
