// Whether the experiment of a sweep can be built wherever in the space a trial is: told before the first one runs.
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import type { Hook } from "../../core/hook.ts";
import { configError } from "../../experiment/config/document.ts";
import { documentOf } from "../../experiment/config/read-config.ts";
import type { Space } from "../space/space.ts";
import type { Objective, Params } from "../types.ts";
import { applyParams } from "./apply-params.ts";
import { duplicateHook } from "./check-hooks.ts";
import { problemOfObjective } from "./check-objectives.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { placeOf } from "./sweep-space.ts";

/** More options than this are not looked at one by one. */
const MOST = 20;

/** @param hooks of the sweep that listen to a training */
export async function checkExperiment(
  { doc, experiment }: SweepDocument,
  space: Space,
  objectives: readonly Objective[],
  hooks: readonly Hook[],
): Promise<void> {
  const config = doc.value["space"];
  const directory = doc.directoryOf(["space"]);
  const at = (path: readonly string[]) => doc.locate(placeOf(config, path.join("."))) ?? { file: doc.file };
  for (const params of corners(space)) {
    const tree = applyParams(experiment!.tree, space, params, { at, directory });
    const built = await documentOf(tree, { ...experiment!, set: [] });
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

/** Both ends of every number, and every option of every choice. */
function* corners(space: Space): Iterable<Params> {
  const options = space.parameters.map((parameter) => (parameter.kind === "choice" ? parameter.labels.length : 2));
  const count = Math.min(MOST, Math.max(...options));
  for (let i = 0; i < count; i++) {
    yield space.build((parameter) =>
      parameter.kind === "choice"
        ? Math.min(i, parameter.labels.length - 1)
        : i % 2 === 0
          ? parameter.domain.low
          : parameter.domain.high,
    );
  }
}
