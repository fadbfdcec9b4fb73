// The files and directories of a run and of a study: their names, and the schema and version that each file states.
// docs/run-directory.md describes them.

/** The files that hookline writes and reads back. A reader takes its own version of a schema and older ones. */
export const FORMATS = {
  run: { file: "run.json", schema: "hookline.run", version: 1 },
  metrics: { file: "metrics.jsonl", schema: "hookline.metrics", version: 1 },
  events: { file: "events.jsonl", schema: "hookline.events", version: 1 },
  /** The journal of live control. */
  control: { file: "control.jsonl", schema: "hookline.control", version: 1 },
  results: { file: "results.json", schema: "hookline.results", version: 1 },
  experiment: { file: "experiment.json", schema: "hookline.experiment", version: 1 },
  sweep: { file: "sweep.json", schema: "hookline.sweep", version: 1 },
  /** The model of a run, or of an exported folder, without the code that made it. */
  model: { file: "model.json", schema: "hookline.model", version: 1 },
  /** The journal of a study. Version 1, up to hookline 0.1.0, had no checksums and no id. */
  journal: { file: "journal.jsonl", schema: "study", version: 2 },
} as const;

/** In a run directory. */
export const CHECKPOINTS = "checkpoints";
export const CSV_FILE = "metrics.csv";
export const TENSORBOARD = "tb";
/** Images. */
export const MEDIA = "media";
/** In a study's directory: the state of its hooks. */
export const STUDY_HOOKS_FILE = "hooks.json";
/** Beside a model.json: large constants of its program. */
export const CONSTANTS_FILE = "constants.safetensors";
/** Beside the model.json of an exported folder. */
export const WEIGHTS_FILE = "weights.safetensors";
/** In the folder of a model that was exported to ONNX. */
export const ONNX_FILE = "model.onnx";
/** In a directory of checkpoints, and in a study's. */
export const LOCK_FILE = ".lock";

/** What a trainer and its loggers leave in a run directory, and what a new run there would mix with its own. */
export const RUN_TRACES: readonly string[] = [CHECKPOINTS, FORMATS.run.file, FORMATS.metrics.file];
export const LOG_TRACES: readonly string[] = [FORMATS.events.file, FORMATS.control.file, CSV_FILE, TENSORBOARD, MEDIA];

/** Directories inside a run directory that never contain another run. */
export const NO_RUNS_INSIDE: ReadonlySet<string> = new Set([
  CHECKPOINTS,
  "control",
  TENSORBOARD,
  "wandb",
  "node_modules",
]);

export const foldDirectory = (dir: string, number: number): string => `${dir}/fold-${number}`;
export const isFoldName = (name: string): boolean => /^fold-\d+$/.test(name);

/** `trial-007`: three digits, so that a listing is in order. */
export const trialDirectory = (dir: string, number: number): string =>
  `${dir}/trial-${String(number).padStart(3, "0")}`;

/** The number in the name of a trial's directory; undefined for any other name. */
export function trialNumber(name: string): number | undefined {
  const found = /^trial-(\d{3,})$/.exec(name);
  return found ? Number(found[1]) : undefined;
}
