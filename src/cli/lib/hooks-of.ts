// The hooks of a config, registered as a trainer would, without its data and its model.
import type { HookRegistry } from "../../core/registry.ts";
import { buildExperiment } from "../../experiment/build/build-experiment.ts";
import { readConfig } from "../../experiment/config/read-config.ts";
import { planModels } from "../../experiment/plan.ts";
import { tinyTrainer } from "../../testing/tiny.ts";

interface HooksOfModel {
  readonly model: string;
  readonly registry: HookRegistry;
}

export async function hooksOf(config: string, set: readonly string[]): Promise<HooksOfModel[]> {
  const options = await buildExperiment(await readConfig(config, { set }));
  return planModels(options).map(({ name, hooks }) => ({ model: name, registry: tinyTrainer({ hooks }).hooks }));
}
