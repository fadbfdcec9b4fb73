// predict(): the model's outputs over a loader, batch by batch.
import { type HostArray, isHostArray, joinArrays, toBatch } from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import { beginReplacing, type EvalLoop } from "../core/loop/evaluate.ts";
import { fire, PREDICTION, scope } from "../core/registry/dispatch.ts";
import type { HostTensors, Loader } from "../core/model.ts";
import type { Session } from "./session.ts";

/** Options of `predict`. */
export interface PredictOptions {
  /** Whether the outputs are kept and returned. Default true. */
  readonly collect?: boolean;
}

interface PredictLoop extends EvalLoop {
  readonly session: Session;
}

/** Fires the events of a prediction and returns the outputs, joined; undefined when they are not collected. */
export async function predictAll(
  loop: PredictLoop,
  loader: Loader,
  collect: boolean,
): Promise<HostArray | HostTensors | undefined> {
  const { run, session } = loop;
  const outputs: (HostArray | HostTensors)[] = [];
  Object.assign(run, { loaderName: "predict", loaderIdx: 0, batchIdx: 0 });
  const predictBatches = async (): Promise<void> => {
    beginReplacing(loop, "predict", "predictBegin");
    loader.begin(0, loop.seed);
    for (let batch = await loader.next(); batch !== undefined; batch = await loader.next()) {
      run.show(toBatch(batch, () => "predict: the loader"));
      run.requests.batch = undefined;
      await fire(loop, "predictBatchBegin");
      run.replaceBatch();
      run.predicted = await session.evaluation.predict(run.batch, "predict", run.batchIdx);
      if (collect) outputs.push(run.predicted);
      await fire(loop, "predictBatchEnd");
      run.batchIdx++;
      await session.breathe();
    }
    if (run.batchIdx === 0) throw new DataError(`predict: the loader has no batches.`);
  };
  try {
    await scope(loop, PREDICTION, predictBatches, () => {
      run.predicted = {};
      session.evaluation.restore();
    });
  } finally {
    await loader.close?.();
  }
  return collect ? joinOutputs(outputs) : undefined;
}

/** The outputs of at least one batch as one: an array when the model returns one, by name when it returns several. */
function joinOutputs(parts: readonly (HostArray | HostTensors)[]): HostArray | HostTensors {
  const first = parts[0]!;
  if (isHostArray(first)) return joinArrays(parts as readonly HostArray[]);
  const names = Object.keys(first);
  return Object.fromEntries(names.map((name) => [name, joinArrays(parts.map((part) => (part as HostTensors)[name]!))]));
}
