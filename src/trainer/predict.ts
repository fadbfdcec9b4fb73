// predict(): the model's outputs over a loader, batch by batch.
import type { HostArray } from "../core/arrays.ts";
import { toBatch } from "../core/batch.ts";
import { beginReplacing, type EvalParts } from "../core/evaluate.ts";
import type { Loader } from "../core/loader.ts";
import type { HostTensors } from "../core/model.ts";
import type { EvalRunner } from "./eval-runner.ts";
import { joinOutputs } from "./join-outputs.ts";

interface PredictParts extends EvalParts {
  readonly evalWork: EvalRunner;
}

export async function predictAll(parts: PredictParts, loader: Loader): Promise<HostArray | HostTensors> {
  const { evalWork, seed } = parts;
  const outputs: (HostArray | HostTensors)[] = [];
  try {
    beginReplacing(parts, "predict", "predict");
    loader.begin(0, seed);
    for (let batch = await loader.next(); batch !== undefined; batch = await loader.next()) {
      const checked = toBatch(batch, () => "predict: the loader");
      outputs.push(await evalWork.predict(checked, "predict", outputs.length));
      await parts.breathe();
    }
  } finally {
    evalWork.restore();
    await loader.close?.();
  }
  return joinOutputs(outputs);
}
