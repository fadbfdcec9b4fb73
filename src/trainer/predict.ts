// predict(): the model's outputs over a loader, batch by batch.
import type { HostArray } from "../core/arrays.ts";
import { toBatch } from "../core/batch.ts";
import { DataError } from "../core/errors.ts";
import { beginReplacing, type EvalParts } from "../core/evaluate.ts";
import type { Loader } from "../core/loader.ts";
import type { HostTensors } from "../core/model.ts";
import type { EvalRunner } from "./eval-runner.ts";
import { joinOutputs } from "./join-outputs.ts";

/** Options of `predict`. */
export interface PredictOptions {
  /** Whether the outputs are kept and returned. Default true. */
  readonly collect?: boolean;
}

interface PredictParts extends EvalParts {
  readonly evalWork: EvalRunner;
}

/** Fires the events of a prediction and returns the outputs, joined; undefined when they are not collected. */
export async function predictAll(
  parts: PredictParts,
  loader: Loader,
  collect: boolean,
): Promise<HostArray | HostTensors | undefined> {
  const { run, hooks, evalWork, seed } = parts;
  const { fire } = hooks;
  const outputs: (HostArray | HostTensors)[] = [];
  Object.assign(run, { loaderName: "predict", loaderIdx: 0, batchIdx: 0 });
  try {
    await fire.predictBegin!();
    beginReplacing(parts, "predict", "predictBegin");
    loader.begin(0, seed);
    for (let batch = await loader.next(); batch !== undefined; batch = await loader.next()) {
      run.show(toBatch(batch, () => "predict: the loader"));
      run.requests.batch = undefined;
      await fire.predictBatchBegin!();
      run.replaceBatch();
      run.predicted = await evalWork.predict(run.batch, "predict", run.batchIdx);
      if (collect) outputs.push(run.predicted);
      await fire.predictBatchEnd!();
      run.batchIdx++;
      await parts.breathe();
    }
    if (run.batchIdx === 0) throw new DataError(`predict: the loader has no batches.`);
    await fire.predictEnd!();
  } finally {
    run.predicted = {};
    evalWork.restore();
    await loader.close?.();
  }
  return collect ? joinOutputs(outputs) : undefined;
}
