// An experiment small enough for unit tests: the kit's linear regression, with val and test cut off its data.
import { Experiment, holdout, type ExperimentOptions } from "hookline/experiment";
import { linear, mse } from "hookline/nn";
import { sgd } from "hookline/optim";
import { testEngine, tinyData } from "hookline/testing";

export type TinyData = ReturnType<typeof tinyData>;
export type TinyExperimentOptions = Partial<ExperimentOptions<TinyData>>;

/** Options of an experiment of one epoch of two steps; everything can be given. */
function tinyOptions(options: TinyExperimentOptions = {}): ExperimentOptions<TinyData> {
  return {
    data: () => tinyData(16),
    split: holdout({ val: 0.25, test: 0.25 }),
    loader: { batchSize: 4 },
    model: linear(3, 1),
    loss: mse(),
    optimizer: sgd({ lr: 0.1 }),
    epochs: 1,
    engine: testEngine(),
    signals: false,
    ...options,
  };
}

export const tinyExperiment = (options: TinyExperimentOptions = {}): Experiment<TinyData> =>
  new Experiment(tinyOptions(options));
