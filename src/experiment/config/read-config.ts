// Reads a config: a file, what it extends, the environment, and what the command line sets.
import { builtin } from "../../platform/builtin.ts";
import { type ConfigDocument, type ConfigNode, nearestAt, toPlain, useOf } from "./config-tree.ts";
import { fillTree, type Environment } from "./environment.ts";
import { ExtendingReader } from "./extend.ts";
import { projectOf } from "./project.ts";

/** Options of `readConfig`. */
export interface ReadConfigOptions {
  /** `path=value`, each as after `--set`. */
  readonly set?: readonly string[];
  /** What `file` is relative to. Default: the working directory. */
  readonly cwd?: string;
  /** Default: that of the process. */
  readonly env?: Environment;
}

/** Reads a config without checking its options. Nothing is written. */
export async function readConfig(file: string, options: ReadConfigOptions = {}): Promise<ConfigDocument> {
  const { tree, ...place } = await readTree(file, options);
  return documentOf(tree, { ...place, set: [] });
}

/** A config as it was written, before the environment is filled in. */
export interface ConfigTree extends Pick<ConfigDocument, "file" | "project"> {
  readonly tree: ConfigNode;
  readonly cwd: string;
  readonly env: Environment;
}

/** Reads and merges the files, and applies the settings of the command line. */
export async function readTree(file: string, options: ReadConfigOptions = {}): Promise<ConfigTree> {
  const node = builtin("readConfig", "node:process");
  const { dirname, resolve } = builtin("readConfig", "node:path");
  const { set = [], cwd = node.cwd(), env = node.env } = options;
  const path = resolve(cwd, file);
  const project = projectOf(dirname(path));
  const merged = await new ExtendingReader(project, env).read({ path, shown: file });
  return { tree: await withSettings(merged, set, cwd), file, project, cwd, env };
}

/** The document of a tree, with settings applied and the environment filled in. */
export async function documentOf(
  merged: ConfigNode,
  { file, project, set, cwd, env }: Required<ReadConfigOptions> & Pick<ConfigDocument, "file" | "project">,
): Promise<ConfigDocument> {
  const raw = await withSettings(merged, set, cwd);
  const tree = fillTree(raw, env);
  return {
    file,
    project,
    value: toPlain(tree) as ConfigDocument["value"],
    raw: toPlain(raw) as ConfigDocument["raw"],
    locate: (place) => nearestAt(tree, place).at,
    directoryOf(place) {
      const { node: found } = nearestAt(tree, place);
      return (useOf(found) ?? found).directory;
    },
  };
}

async function withSettings(tree: ConfigNode, set: readonly string[], cwd: string): Promise<ConfigNode> {
  if (set.length === 0) return tree;
  const { applySettings } = await import("./overrides.ts");
  return applySettings(tree, set, cwd);
}
