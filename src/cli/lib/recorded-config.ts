// The config of a run as its record has it: what was trained, though the file may say something else by now.
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { Json } from "../../core/json.ts";
import { secretsOfEnvironment } from "../../core/redact.ts";
import type { ConfigPath } from "../../experiment/config/config-error.ts";
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import { documentOf, readConfig } from "../../experiment/config/read-config.ts";
import { UsageError } from "./exit.ts";
import type { ExperimentRecord } from "./record.ts";

/** `./data.ts#digits`, `../hooks.ts`: what a config imports, relative to the file it is written in. */
const MODULE = /^\.{1,2}\/.*(?:#|\.[cm]?[jt]sx?$)/;

/** The merged config as plain data, its modules relative to its own file; null when a TypeScript config holds more than data. */
export function recordable(doc: ConfigDocument): Json {
  const home = dirname(resolve(doc.file));
  const plain = (value: unknown, path: ConfigPath): Json | undefined => {
    if (typeof value === "string" && !MODULE.test(value)) return withoutSecrets(value);
    if (typeof value === "string") {
      const way = relative(home, resolve(doc.directoryOf(path), value)).replaceAll(sep, "/");
      return way.startsWith(".") ? way : `./${way}`;
    }
    if (typeof value === "function" || (typeof value === "number" && !Number.isFinite(value))) return undefined;
    if (typeof value !== "object" || value === null) return value as Json;
    const isPlain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
    if (!isPlain) return undefined;
    const entries = Object.entries(value).map(([key, inner]) => [key, plain(inner, [...path, key])] as const);
    if (entries.some(([, inner]) => inner === undefined)) return undefined;
    return Array.isArray(value) ? entries.map(([, inner]) => inner!) : (Object.fromEntries(entries) as Json);
  };
  return plain(doc.raw, []) ?? null;
}

/** A secret that a shell filled in (`--set hooks.webhook.token=$TOKEN`) is written down as `${TOKEN}`, and read from there again. */
export function withoutSecrets(text: string): string {
  const secrets = new Set(secretsOfEnvironment());
  const named = Object.entries(process.env).filter(([, value]) => value !== undefined && secrets.has(value));
  return named.reduce((left, [name, value]) => left.replaceAll(value!, `\${${name}}`), text);
}

/** What was trained in `runDir`, with `set` on top. */
export async function recordedConfig(
  runDir: string,
  { config, raw, overrides }: ExperimentRecord,
  set: readonly string[],
): Promise<ConfigDocument> {
  const file = resolve(runDir, config.file);
  const project = resolve(runDir, config.project);
  if (!existsSync(project))
    throw new UsageError(
      `${runDir} belongs to a project in ${project}, which is not there. Put the run back into its project: its data and its own code are read from there.`,
    );
  // Wherever the directory is now.
  const here = [...set, `runDir=${JSON.stringify(resolve(runDir))}`];
  if (raw === null) return readConfig(file, { set: [...overrides, ...here] });
  const at = { file: join(runDir, "experiment.json") };
  const tree = parseJson({ text: JSON.stringify(raw), directory: dirname(file), at: () => at });
  return documentOf(tree, { file, project, set: here, cwd: process.cwd(), env: process.env });
}
