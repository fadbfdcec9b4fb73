// Whether the experiment of a sweep can be built wherever in the space a trial is: told before the first one runs.
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import type { Hook } from "../../core/hook.ts";
import { configError } from "../../experiment/config/document.ts";
import type { Space } from "../space/space.ts";
import type { Objective } from "../types.ts";
import { duplicateHook } from "./check-hooks.ts";
import { problemOfObjective } from "./check-objectives.ts";
import { configAt, corners } from "./points.ts";
import type { SweepDocument } from "./read-sweep.ts";

/** @param hooks of the sweep that listen to a training */
export async function checkExperiment(
  sweep: SweepDocument,
  space: Space,
  objectives: readonly Objective[],
  hooks: readonly Hook[],
): Promise<void> {
  const { doc } = sweep;
  for (const params of corners(space)) {
    const built = await configAt(sweep, space, params);
    if (built.value["models"] !== undefined)
      throw configError(
        built,
        ["models"],
        "A sweep is over one model, not over several. Give each a sweep of its own.",
      );
    const { hooks: own = [] } = await buildExperiment(built);
    const twice = duplicateHook(own, hooks);
    if (twice)
      throw configError(built, Array.isArray(built.value["hooks"]) ? ["hooks", twice.index] : ["hooks"], twice.message);
    for (const [i, { metric }] of objectives.entries()) {
      const problem = problemOfObjective(metric, built.value, doc.value);
      const place = doc.value["objectives"] === undefined ? ["objective"] : ["objectives", i];
      if (problem !== undefined) throw configError(doc, place, problem);
    }
  }
}
