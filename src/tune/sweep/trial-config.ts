// The config of one trial of a sweep: the experiment's, with the trial's parameters in it.
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { documentOf, type ConfigTree } from "../../experiment/config/read-config.ts";
import { builtin } from "../../platform/builtin.ts";
import { spaceFromConfig } from "../space/space-data.ts";
import type { Params } from "../types.ts";
import { SWEEP_FILE, type SweepRecord } from "./sweep-record.ts";
import type { Position } from "../../experiment/config/config-error.ts";
import { putValue } from "../../experiment/config/overrides.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import type { ConfigNode } from "../../experiment/config/tree.ts";
import type { Node } from "../space/compile.ts";
import type { Space } from "../space/space.ts";

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
  const { resolve } = builtin("A sweep", "node:path");
  const at = { file: `${dir}/${SWEEP_FILE}` };
  const directory = resolve(dir, config.file, "..");
  const tree = applyParams(source.tree, spaceFromConfig(space), params, { at: () => at, directory });
  return documentOf(tree, { ...source, set: [] });
}

// A trial's parameters put into the config of an experiment, each at the path that the space has it at.

interface Written {
  /** Where the space says so. */
  at(path: readonly string[]): Position;
  /** What modules in the space are relative to. */
  readonly directory: string;
}

/** What is nested in the space is merged into the config; an option of a choice stands there whole. */
export function applyParams(tree: ConfigNode, space: Space, params: Params, { at, directory }: Written): ConfigNode {
  const walk = (into: ConfigNode, node: Node, value: unknown, path: readonly string[]): ConfigNode => {
    if (node.kind === "object") {
      const values = value as Readonly<Record<string, unknown>>;
      return node.entries.reduce((done, [key, child]) => walk(done, child, values[key], [...path, key]), into);
    }
    const where = at(path);
    return putValue(into, path, parseJson({ text: JSON.stringify(value), directory, at: () => where }));
  };
  return walk(tree, space.root, params, []);
}
