// Datasets as trainings use them: tables are preprocessed into arrays, everything else stays as it is.
import { DataError, OptionError } from "../core/errors.ts";
import { is, show } from "../core/options.ts";
import type { Datasets } from "../core/outer-events.ts";
import type { PreprocessorOptions } from "../data/preprocess/options.ts";
import { Preprocessor } from "../data/preprocess/preprocessor.ts";
import { isTableLike } from "../data/table/column.ts";
import type { Table } from "../data/table/table.ts";
import type { Prepared } from "./types.ts";

/** What a training is given. */
export interface PreparedData<D> {
  readonly datasets: Datasets<Prepared<D>>;
  /** Fitted on `train`; undefined where the data is no table. */
  readonly preprocessor?: Preprocessor;
}

/** Fits a preprocessor on the training data, and makes arrays of every part with it. */
export function prepareDatasets<D>(options: PreprocessorOptions | undefined, datasets: Datasets<D>): PreparedData<D> {
  const isTable = is.object.test(datasets.train) && isTableLike(datasets.train as object);
  if (options === undefined) {
    if (!isTable) return { datasets: datasets as Datasets<unknown> as Datasets<Prepared<D>> };
    throw new OptionError(
      'Experiment: the data is a table. Say how its columns become numbers: preprocess: { columns: "auto", target: … }.',
      { option: "preprocess" },
    );
  }
  if (!isTable)
    throw new OptionError(
      `Experiment: \`preprocess\` is for a table, and the training data is ${show(datasets.train)}. Read it with table({ file }), or leave out \`preprocess\`.`,
      { option: "preprocess" },
    );
  const { train, val, test } = datasets as Datasets<unknown> as Datasets<Table>;
  const preprocessor = new Preprocessor(options).fit(train);
  const arrays = {
    train: preprocessor.transform(train),
    ...(val && { val: preprocessor.transform(val) }),
    ...(test && { test: preprocessor.transform(test) }),
  };
  return { datasets: arrays as Datasets<unknown> as Datasets<Prepared<D>>, preprocessor };
}

/**
 * Rejects a run whose preprocessing is not what it was: its weights were trained on other numbers.
 * @param before the fingerprint in the results of the earlier run
 */
export function checkUnchanged(
  runDir: string,
  before: string | undefined,
  preprocessor: Preprocessor | undefined,
): void {
  if (before === undefined || before === preprocessor?.fingerprint) return;
  throw new DataError(
    `Experiment: the run in ${runDir} was trained on other data: its training data, or \`preprocess\`, has changed since, so the same rows are other numbers now. Use the same file and options, or start a new run.`,
  );
}
