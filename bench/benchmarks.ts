// The benchmarks by name, in the order of the report. A new one is a file that exports `run`, and a line here.
import type { Report } from "./lib/report.ts";

export interface Benchmark {
  run(): Promise<Report | readonly Report[]> | Report;
}

export const BENCHMARKS: Readonly<Record<string, () => Promise<Benchmark>>> = {
  dispatch: () => import("./dispatch.ts"),
  overhead: () => import("./overhead.ts"),
  steps: () => import("./steps.ts"),
  lenet: () => import("./lenet.ts"),
  demo: () => import("./demo.ts"),
  engines: () => import("./engines.ts"),
  scaling: () => import("./scaling.ts"),
  neighbour: () => import("./neighbour.ts"),
  layered: () => import("./layered.ts"),
  gpu: () => import("./gpu.ts"),
  "gpu-lora": () => import("./gpu-lora.ts"),
  "gpu-curves": () => import("./gpu-curves.ts"),
  "gradient-monitor": () => import("./gradient-monitor.ts"),
  "nan-guard": () => import("./nan-guard.ts"),
  checkpoint: () => import("./checkpoint.ts"),
  logging: () => import("./logging.ts"),
  "read-run": () => import("./read-run.ts"),
  tables: () => import("./tables.ts"),
  runs: () => import("./runs.ts"),
  ui: () => import("./ui.ts"),
  webhook: () => import("./webhook.ts"),
  "hostile-files": () => import("./hostile-files.ts"),
  startup: () => import("./startup.ts"),
  serve: () => import("./serve.ts"),
  distributed: () => import("./distributed.ts"),
  tune: () => import("./tune.ts"),
  recommender: () => import("./recommender.ts"),
  lm: () => import("./lm.ts"),
  finetune: () => import("./finetune.ts"),
  preprocess: () => import("./preprocess.ts"),
};

/** Those that measure single steps and calls: they run compiled, as a user's program does. */
export const COMPILED: ReadonlySet<string> = new Set([
  "dispatch",
  "overhead",
  "steps",
  "lenet",
  "gpu",
  "gpu-lora",
  "gradient-monitor",
  "nan-guard",
  "serve",
]);
