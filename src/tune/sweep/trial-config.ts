// The config of one trial of a sweep: the experiment's, with the trial's parameters in it.
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { documentOf, type ConfigTree } from "../../experiment/config/read-config.ts";
import { builtin } from "../../platform/builtin.ts";
import { spaceFromConfig } from "../space/from-config.ts";
import type { Params } from "../types.ts";
import { applyParams } from "./apply-params.ts";
import { SWEEP_FILE, type SweepRecord } from "./record-file.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

/**
 * @param dir of the study
 * @param source the experiment as the sweep began with it
 */
export function trialConfig(
  dir: string,
  { config, space }: SweepRecord,
  source: ConfigTree,
  params: Params,
): Promise<ConfigDocument> {
  const { resolve } = builtin<Paths>("A sweep", "node:path");
  const at = { file: `${dir}/${SWEEP_FILE}` };
  const directory = resolve(dir, config.file, "..");
  const tree = applyParams(source.tree, spaceFromConfig(space), params, { at: () => at, directory });
  return documentOf(tree, { ...source, set: [] });
}
