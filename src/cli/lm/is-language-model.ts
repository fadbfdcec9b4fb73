// Which folders are of a language model.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FORMATS } from "../../runs/layout.ts";
import { readRecord, trainsLanguageModel } from "../train/run-directory.ts";

/** The folder of a model, that of an adapter, or a run that has trained one. */
export function isLanguageModel(path: string): boolean {
  if (existsSync(join(path, "adapter_config.json"))) return true;
  const config = join(path, "config.json");
  if (existsSync(config)) return /"model_type"/.test(readFileSync(config, "utf8"));
  if (!existsSync(join(path, FORMATS.experiment.file))) return false;
  return trainsLanguageModel(readRecord(path));
}
