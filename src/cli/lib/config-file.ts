// Which config is meant, and what the command line changes in it.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "./exit.ts";

const DEFAULTS = ["hookline.yaml", "hookline.yml", "hookline.toml", "hookline.json", "hookline.ts"];

/** The given one, or the one of the usual name in the current directory. */
export function findConfig(given: string | undefined): string {
  if (given !== undefined) {
    if (!statSync(given, { throwIfNoEntry: false })?.isDirectory()) return given;
    const inside = DEFAULTS.map((file) => join(given, file)).find((file) => existsSync(file));
    throw new UsageError(`${given} is a directory.${inside === undefined ? "" : ` Did you mean \`${inside}\`?`}`);
  }
  const found = DEFAULTS.filter((file) => existsSync(file));
  if (found.length > 1)
    throw new UsageError(
      `There is more than one config here: ${found.join(", ")}. Say which: \`hookline train ${found[0]}\`.`,
    );
  if (found.length === 1) return found[0]!;
  throw new UsageError(
    `There is no config here (${DEFAULTS.join(", ")}). Give its path, or let \`hookline init <dir>\` write one to begin with.`,
  );
}

/** Flags that are options of the config under another name, as `--set` would have them. */
export interface Shortcuts {
  readonly runDir?: string;
  readonly engine?: string;
  readonly epochs?: number;
  readonly seed?: number;
}

/** What a flag says outright wins over a `--set` of the same. JSON is YAML too, so nothing in a value is read as anything else. */
export const overridesOf = (set: readonly string[] = [], { runDir, engine, epochs, seed }: Shortcuts): string[] => [
  ...set,
  ...Object.entries({ runDir, engine, epochs, seed }).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${JSON.stringify(value)}`],
  ),
];
