// What a test asks of the ranks that it starts: a run in plain data, and what each rank notes of it.
import type { Intervention, RunResult } from "hookline";

export interface Scene {
  readonly name: string;
  readonly model?: "mlp" | "gpt" | "masked" | "norm";
  readonly engine?: "wasm" | "native";
  readonly samples?: number;
  readonly batchSize?: number;
  /** Default 12, unless `epochs` are given. */
  readonly steps?: number;
  readonly seed?: number;
  readonly lr?: number;
  readonly epochs?: number;
  readonly accumulate?: number;
  readonly clipNorm?: number;
  readonly evalEvery?: string;
  readonly runDir?: string;
  readonly resume?: string;
  /** By their names in train-hooks.ts. */
  readonly hooks?: readonly string[];
  readonly traced?: boolean;
}

/** What a rank has seen of a scene. */
export interface Seen extends Pick<RunResult, "status" | "reason" | "requestedBy" | "steps" | "skippedSteps"> {
  readonly scene: string;
  /** Of each step, and of its learning rate; null stands for NaN. */
  readonly losses: readonly (number | null)[];
  readonly lrs: readonly number[];
  readonly skipped: readonly number[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly interventions: readonly Intervention[];
  /** Of all parameters and buffers. */
  readonly digest: string;
  readonly trace: string;
  readonly checkpoints: readonly string[];
  readonly samplesSeen: number;
  readonly plan: string;
}
