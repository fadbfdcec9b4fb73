// The config of a run as its record has it: what was trained, though the file may say something else by now.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { parseJson } from "../../experiment/config/parse-json.ts";
import { documentOf, readConfig } from "../../experiment/config/read-config.ts";
import { UsageError } from "./exit.ts";
import type { ExperimentRecord } from "../../runs/experiment-json.ts";
import { FORMATS } from "../../runs/layout.ts";

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
  const at = { file: join(runDir, FORMATS.experiment.file) };
  const tree = parseJson({ text: JSON.stringify(raw), directory: dirname(file), at: () => at });
  return documentOf(tree, { file, project, set: here, cwd: process.cwd(), env: process.env });
}
