// A model's folder, opened: its architecture, and its tensors by the names of parameters. Nothing but headers is in memory.
import type { Json } from "../../core/options.ts";
import type { Architecture } from "../config/architecture.ts";
import { readConfig } from "../config/read-config.ts";
import { folderTensors, noConfig } from "./folder-tensors.ts";
import { matchTensors, type MatchedTensors } from "./match-tensors.ts";
import { type ModelFiles, readJsonFile } from "./model-files.ts";

export interface OpenedFolder extends MatchedTensors {
  readonly files: ModelFiles;
  readonly config: Readonly<Record<string, Json>>;
  readonly architecture: Architecture;
}

export async function openFolder(files: ModelFiles): Promise<OpenedFolder> {
  if (!(await files.has("config.json"))) throw await noConfig(files);
  const config = await readJsonFile(files, "config.json");
  const architecture = readConfig(config, `${files.path}/config.json`);
  const matched = await matchTensors(architecture, await folderTensors(files), files.path);
  return { files, config, architecture, ...matched };
}
