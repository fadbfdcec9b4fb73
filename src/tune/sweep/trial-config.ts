// The config of one trial of a sweep: the experiment's, with the trial's parameters in it.
import { isMap } from "../../experiment/build/build-context.ts";
import type { ConfigPath, Position } from "../../experiment/config/config-error.ts";
import type { ConfigDocument, ConfigNode } from "../../experiment/config/config-tree.ts";
import { putValue } from "../../experiment/config/overrides.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import { documentOf, type ConfigTree } from "../../experiment/config/read-config.ts";
import { builtin } from "../../platform/builtin.ts";
import type { Node } from "../space/compile.ts";
import { spaceFromConfig } from "../space/space-data.ts";
import type { Space } from "../space/space.ts";
import type { Params } from "../types.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { SWEEP_FILE, type SweepRecord } from "./sweep-record.ts";

/**
 * The config of a trial that runs.
 * @param dir of the study
 * @param source the experiment as it was when the sweep began
 */
export function trialConfig(
  dir: string,
  { config, space }: SweepRecord,
  source: ConfigTree,
  params: Params,
): Promise<ConfigDocument> {
  const at = { file: `${dir}/${SWEEP_FILE}` };
  const directory = builtin("A sweep", "node:path").resolve(dir, config.file, "..");
  const tree = applyParams(source.tree, spaceFromConfig(space), params, { at: () => at, directory });
  return documentOf(tree, { ...source, set: [] });
}

/** The config of a trial with these parameters, to check a sweep before it begins. Errors point into the sweep's file. */
export function configAt({ doc, experiment }: SweepDocument, space: Space, params: Params): Promise<ConfigDocument> {
  const directory = doc.directoryOf(["space"]);
  const at = (path: readonly string[]): Position =>
    doc.locate(pathInSweep(doc.value["space"], path.join("."))) ?? { file: doc.file };
  return documentOf(applyParams(experiment!.tree, space, params, { at, directory }), { ...experiment!, set: [] });
}

/** Where a sweep's file has the parameter with this name. A key at the top of its space may be a whole path. */
export function pathInSweep(config: unknown, name: string): ConfigPath {
  const keys = isMap(config) ? Object.keys(config) : [];
  const key = keys.find((one) => name === one || name.startsWith(`${one}.`) || name.startsWith(`${one}[`));
  if (key === undefined) return ["space"];
  const rest = name.slice(key.length).replaceAll(/\[(\d+)\]/g, ".options.$1");
  return ["space", key, ...rest.split(".").filter(Boolean)];
}

interface SpaceSource {
  /** The position of a parameter in a file, for errors. */
  at(path: readonly string[]): Position;
  /** What modules in the space are relative to. */
  readonly directory: string;
}

/** Nested objects of the space are merged into the config; the option of a choice replaces what is there. */
function applyParams(tree: ConfigNode, space: Space, params: Params, { at, directory }: SpaceSource): ConfigNode {
  const walk = (into: ConfigNode, node: Node, value: unknown, path: readonly string[]): ConfigNode => {
    if (node.kind === "object") {
      const values = value as Readonly<Record<string, unknown>>;
      return node.entries.reduce((done, [key, child]) => walk(done, child, values[key], [...path, key]), into);
    }
    const position = at(path);
    return putValue(into, path, parseJson({ text: JSON.stringify(value), directory, at: () => position }));
  };
  return walk(tree, space.root, params, []);
}
