// A config that has been read: one plain tree, made of a file, what it extends, the environment and the command line.
import type { Json } from "../../core/options.ts";
import { ConfigError, type ConfigPath, type Position } from "./config-error.ts";

/** A config as it was read: everything merged, and where each value stands. */
export interface ConfigDocument {
  /** The file it was read from, as the user named it. */
  readonly file: string;
  /** Directory that module paths and data files are relative to, and may not leave: that of the nearest package.json, or of the file. */
  readonly project: string;
  /** Everything merged; environment variables filled in. */
  readonly value: Readonly<Record<string, ConfigValue>>;
  /** The same with `${NAME}` as written, for records: a secret from the environment is not written down. */
  readonly raw: Readonly<Record<string, ConfigValue>>;
  /** Where a value was written: of the key at `path`, or of the nearest thing around it. */
  locate(path: ConfigPath): Position | undefined;
  /** Directory of the file that the value at `path` was written in: its `./module.ts` is relative to this. */
  directoryOf(path: ConfigPath): string;
}

/** Plain data, or what a TypeScript config may hold besides: functions and objects of its own. */
export type ConfigValue = Json | object;

/** An error at a place in a config. */
export function configError(doc: ConfigDocument, path: ConfigPath, message: string, cause?: unknown): ConfigError {
  return new ConfigError(message, path, doc.locate(path), cause === undefined ? undefined : { cause });
}
