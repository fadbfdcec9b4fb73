// The modules that a sweep's experiment and space name by path: the code of its trials.
import type { Json } from "../../core/json.ts";
import { RECORDED_MODULE } from "../../experiment/config/recordable.ts";
import { builtin } from "../../platform/builtin.ts";
import { readRecord } from "./record-file.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

/**
 * Their files, absolute. A config that is a program is one of them itself.
 * @param dir of the study
 */
export function sweepModules(dir: string): string[] {
  const { resolve } = builtin<Paths>("A sweep", "node:path");
  const record = readRecord(dir);
  if (!record) return [];
  const { config, experiment, space } = record;
  const named = (value: Json, file: string): string[] =>
    stringsIn(value)
      .filter((text) => RECORDED_MODULE.test(text))
      .map((text) => resolve(dir, file, "..", text.split("#")[0]!));
  const programs = experiment.raw === null ? [config.file, experiment.file].map((file) => resolve(dir, file)) : [];
  return [...programs, ...named(experiment.raw, experiment.file), ...named(space, config.file)];
}

function stringsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
