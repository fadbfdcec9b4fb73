// Which config is meant, and what the command line changes in it.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ConfigDocument } from "../../experiment/config/config-tree.ts";
import { UsageError } from "../errors.ts";
import { typed } from "../output.ts";

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
      `There is more than one config here: ${found.join(", ")}. Say which: \`${typed(`train ${found[0]}`)}\`.`,
    );
  if (found.length === 1) return found[0]!;
  throw new UsageError(
    `There is no config here (${DEFAULTS.join(", ")}). Give its path, or let \`${typed("init <dir>")}\` write one to begin with.`,
  );
}

/** What only one of the two kinds of file has. */
const KEYS = { sweep: ["space", "experiment", "trial"], experiment: ["data", "model", "models"] };

/** A sweep where the config of an experiment is expected, or the other way round: every key of it would be an error. */
export function checkKind(expected: keyof typeof KEYS, { file, value }: Pick<ConfigDocument, "file" | "value">): void {
  const has = (kind: keyof typeof KEYS): boolean => KEYS[kind].some((key) => Object.hasOwn(value, key));
  const other = expected === "sweep" ? "experiment" : "sweep";
  if (has(expected) || !has(other)) return;
  throw new UsageError(
    other === "sweep"
      ? `${file} is a sweep: run \`${typed(`tune ${file}`)}\`.`
      : `${file} is the config of an experiment: run \`${typed(`train ${file}`)}\`. A sweep names it as its \`experiment\`, and says with \`space\` what to search.`,
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
