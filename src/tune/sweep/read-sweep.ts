// Reads a sweep's file, with what it extends and what the command line sets, and the config of the experiment it names.
import { show } from "../../core/options.ts";
import { ConfigError } from "../../experiment/config/config-error.ts";
import {
  type ConfigDocument,
  type ConfigNode,
  type MapNode,
  asComponent,
  useOf,
} from "../../experiment/config/config-tree.ts";
import { fillText } from "../../experiment/config/environment.ts";
import { ExtendingReader, merge } from "../../experiment/config/extend.ts";
import { insideProject } from "../../experiment/config/project.ts";
import { documentOf, readTree, type ConfigTree, type ReadConfigOptions } from "../../experiment/config/read-config.ts";
import { builtin } from "../../platform/builtin.ts";

export interface SweepDocument {
  readonly doc: ConfigDocument;
  /** The experiment that its trials run, if they run one. */
  readonly experiment: ConfigTree | undefined;
}

/** Only reads: the content is checked by buildSweep. */
export async function readSweep(file: string, options: ReadConfigOptions = {}): Promise<SweepDocument> {
  const sweep = await readTree(file, options);
  const doc = await documentOf(sweep.tree, { ...sweep, set: [] });
  const node = (sweep.tree as MapNode).entries.get("experiment")?.value;
  return { doc, experiment: node && (await experimentOf(sweep, node)) };
}

/** `./config.yaml`, `{ use: ./config.yaml, epochs: 2 }`, or a config itself; undefined for anything else. */
async function experimentOf(sweep: ConfigTree, node: ConfigNode): Promise<ConfigTree | undefined> {
  const map = asComponent(node);
  if (map.kind !== "map") return undefined;
  const inner = map.entries.get("extends");
  if (inner)
    throw new ConfigError(
      "An experiment within a sweep cannot use `extends`. Name the config that it changes with `use`.",
      ["experiment", "extends"],
      inner.at,
    );
  const used = useOf(map);
  if (!used) return { ...sweep, tree: map };
  const { dirname, join } = builtin("A sweep", "node:path");
  const path = ["experiment", ...(node.kind === "map" ? ["use"] : [])];
  const file = fillText(used.value, sweep.env, path, used.at);
  const fail = (message: string, cause?: unknown): ConfigError => new ConfigError(message, path, used.at, { cause });
  if (typeof file !== "string") throw fail(`Expected the path of a config, got ${show(file)}.`);
  const target = insideProject(sweep.project, file, { from: used.directory, fail });
  const shown = join(dirname(sweep.file), file);
  const base = await new ExtendingReader(sweep.project, sweep.env).read({ path: target, shown }, [], fail);
  const entries = new Map([...map.entries].filter(([key]) => key !== "use"));
  return { ...sweep, file: target, tree: merge(base, { ...map, entries }) };
}
