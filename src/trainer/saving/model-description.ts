// Writes model.json beside the first checkpoint of a run: then the model can be served and exported without its code.
import { captureForward } from "../../export/capture.ts";
import { signatureOf, writeModelFile, type ModelFile } from "../../export/model-file.ts";
import { messageOf } from "../../core/maybe.ts";
import type { Json } from "../../core/options.ts";
import type { Run } from "../../core/loop/run.ts";
import { fittedPreprocessor } from "../../data/preprocess/fitted-preprocessor.ts";
import type { Initial } from "../initial.ts";
import type { Problem } from "../problem.ts";

export interface DescribedModel {
  readonly runDir: string;
  readonly problem: Problem;
  readonly initial: Pick<Initial, "params" | "state">;
  readonly run: Run;
}

/** False if there is no batch yet whose shapes could be used. */
export async function describeModel({ runDir, problem, initial, run }: DescribedModel): Promise<boolean> {
  const { batch } = run;
  if (Object.keys(batch).length === 0) return false;
  const preprocessor = run.shared.get(fittedPreprocessor);
  await writeModelFile(runDir, {
    ...capture(problem, initial, batch),
    ...(preprocessor && { preprocessor: preprocessor.toJSON() as unknown as Json }),
  });
  return true;
}

/** A model that cannot be captured still trains: the reason is kept for those who want to export it. */
function capture(
  { predict: forward, base }: Problem,
  { params, state: buffers }: DescribedModel["initial"],
  batch: Run["batch"],
): ModelFile {
  if (base)
    return {
      reason: `the model has a frozen base (${base.path}), which is in no checkpoint; saveModel of hookline/lm writes the model with its base`,
    };
  try {
    const program = captureForward({ forward, params, buffers, batch });
    return { program, signature: signatureOf(program) };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}
