// What hooks see in the events of an experiment: read data → datasets → a trained model → its results.
import type { HostArray } from "./arrays.ts";
import type { Json } from "./json.ts";
import type { Loader } from "./loader.ts";
import type { HostTensors } from "./model.ts";
import type { RunResult } from "./result.ts";
import type { Shared } from "./shared.ts";

/** The parts that the data of an experiment was cut into. */
export interface Datasets<D = unknown> {
  readonly train: D;
  /** Watched while training; decides which parameters are the best. */
  readonly val?: D;
  /** Looked at once, when a model is complete. */
  readonly test?: D;
}

/** A model that has been trained, with its best parameters in place. A Trainer is one. */
export interface TrainedModel {
  stateDict(): Promise<HostTensors>;
  predict(loader: Loader): Promise<HostArray | HostTensors>;
  evaluate(loader: Loader, options?: { readonly name?: string }): Promise<Record<string, number>>;
}

interface PipelineContext {
  /** The experiment's name. */
  readonly experiment: string;
  readonly seed: number;
  /** The experiment's directory; in the events of a model, the model's own. */
  readonly runDir: string | undefined;
  /** One for the whole experiment: what is set in `dataRead` is there in every later event, those of the loop included. */
  readonly shared: Shared;
  /** Ends the experiment after this event; the reason is in its result. Valid while the event lasts. */
  stop(reason: string): void;
}

interface ModelContext extends PipelineContext {
  /** The model's name in the experiment. */
  readonly model: string;
  /** Its hyper-parameters: what was configured, as plain data. */
  readonly params: Readonly<Record<string, Json>>;
  readonly trained: TrainedModel;
}

/** What hooks see in each event of an experiment. */
export interface PipelineContexts {
  dataRead: PipelineContext & { readonly data: unknown };
  datasetCreated: PipelineContext & {
    readonly datasets: Datasets;
    /** For cross-validation: one pair of train and val for each fold. Empty without. */
    readonly folds: readonly Datasets[];
  };
  trainingComplete: ModelContext & { readonly result: RunResult };
  evaluationComplete: ModelContext & {
    /** What comes out of the experiment for this model; numbers may be added. */
    readonly results: Record<string, number>;
  };
}
