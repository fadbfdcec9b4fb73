// What `fit` resolves to.
import type { Intervention } from "../interventions.ts";
import type { Metrics, RunStatus } from "../context.ts";
import type { HookReport } from "../registry/hook-times.ts";
import type { HookRegistry } from "../registry/registry.ts";
import type { HookFailure } from "../hook.ts";
import type { HistoryEntry, Run } from "./run.ts";
import type { ResumeReport } from "../saving.ts";

/** What `fit` resolves to. */
export interface RunResult {
  readonly status: Exclude<RunStatus, "training" | "error">;
  /** Why the run ended: the limit reached, the stop's reason, the signal. */
  readonly reason: string;
  /** The hook or signal that asked for the end; empty when a limit did. */
  readonly requestedBy: string;
  readonly steps: number;
  readonly skippedSteps: number;
  /** Whole epochs. */
  readonly epochs: number;
  /** Seconds of training. */
  readonly elapsed: number;
  /** Latest value of every metric. */
  readonly metrics: Metrics;
  /** Metrics after each evaluation and each epoch. */
  readonly history: readonly HistoryEntry[];
  readonly interventions: readonly Intervention[];
  /** Errors that a hook's policy kept from ending the run: the first hundred, and how many there were. */
  readonly hookErrors: readonly HookFailure[];
  readonly hookErrorCount: number;
  readonly hookTimes: HookReport;
  readonly engine: string;
  /** Seconds that went into compiling programs, where the engine can tell. */
  readonly compileSeconds?: number;
  /** What this run was resumed from, and what was restored. */
  readonly resumed?: ResumeReport;
}

export function makeResult(run: Run, hooks: HookRegistry): RunResult {
  const compileSeconds = run.session.compileSeconds;
  return {
    status: run.status as RunResult["status"],
    reason: run.reason,
    requestedBy: run.requestedBy,
    steps: run.clock.now.step,
    skippedSteps: run.skippedSteps,
    epochs: run.clock.now.epochsDone,
    elapsed: run.elapsed,
    metrics: { ...run.metrics },
    history: [...run.history],
    interventions: [...run.audit.entries],
    hookErrors: [...hooks.failures],
    hookErrorCount: hooks.failureCount,
    hookTimes: hooks.report(),
    engine: run.session.device,
    ...(compileSeconds !== undefined && { compileSeconds }),
    ...(run.resumed && { resumed: run.resumed }),
  };
}
