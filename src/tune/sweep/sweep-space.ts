// The space of a sweep, and where each of its paths was written.
import { OptionError } from "../../core/errors.ts";
import type { Problems } from "../../experiment/build/problems.ts";
import { isMap } from "../../experiment/build/is-map.ts";
import type { ConfigPath } from "../../experiment/config/config-error.ts";
import { spaceFromConfig } from "../space/from-config.ts";
import type { Space } from "../space/space.ts";

/** Undefined when something is wrong with it, which is a problem then. */
export function readSpace(problems: Problems, config: unknown): Space | undefined {
  try {
    return spaceFromConfig(config);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    const path = placeOf(config, error.option ?? "");
    // The place says which one.
    problems.add(path, error.message.replace(/^space: (?:`[^`]*`: )?/, ""), error);
    return undefined;
  }
}

/** The path in a sweep of what the space has at `option`: a key at its top may be a path itself. */
export function placeOf(config: unknown, option: string): ConfigPath {
  const keys = isMap(config) ? Object.keys(config) : [];
  const key = keys.find((one) => option === one || option.startsWith(`${one}.`) || option.startsWith(`${one}[`));
  if (key === undefined) return ["space"];
  const rest = option.slice(key.length).replaceAll(/\[(\d+)\]/g, ".options.$1");
  return ["space", key, ...rest.split(".").filter(Boolean)];
}
