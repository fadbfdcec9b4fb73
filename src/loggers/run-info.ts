// What run.json says, apart from how it is written: users' types must not need Node's.
import type { Json } from "../core/json.ts";
import type { RunEnd } from "./backend.ts";

export const RUN_SCHEMA = "hookline.run";

/** What run.json says. */
export interface RunInfo {
  readonly schema: typeof RUN_SCHEMA;
  readonly version: number;
  readonly id: string;
  readonly name: string;
  /** `running` is also what a run leaves that was killed. */
  readonly status: "running" | RunEnd["status"];
  /** Milliseconds since 1970: when the first part of the run began, and when the latest part did. */
  readonly startedAt: number;
  readonly partStartedAt: number;
  /** The step from which the latest part went on; null if there is but one part. */
  readonly resumedAt: number | null;
  readonly totalSteps: number | null;
  readonly hparams: Readonly<Record<string, Json>>;
  /** Options, versions, command line, git commit, engine, host. */
  readonly about: Readonly<Record<string, Json>>;
  /** Only of a run that has ended. */
  readonly reason?: string;
  readonly step?: number;
  readonly endedAt?: number;
  /** Seconds of training, all parts together. */
  readonly elapsed?: number;
  /** Seconds that the engine spent on compiling, in the latest part; where it says so. */
  readonly compileSeconds?: number;
  /** The latest value of every metric; numbers that JSON lacks are strings: "NaN", "Infinity", "-Infinity". */
  readonly metrics?: Readonly<Record<string, number | string>>;
}
