import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readConfig } from "../../experiment/config/read-config.ts";
import { recordable } from "../../experiment/config/config-record.ts";
import { writeExperimentRecord } from "../../runs/experiment-json.ts";
import { UsageError } from "../errors.ts";
import { newRecord, readRecord, recordedConfig } from "../train/run-directory.ts";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "recorded-")));
  write("project/package.json", "{}");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(file: string, text: string): string {
  const path = join(home, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** A config that extends one in another directory, trained in runs/a. */
async function recorded(set: readonly string[] = []): Promise<string> {
  write(
    "project/common/base.yaml",
    "data: ./data.ts#points\nhooks: [./hooks/mine.ts, progressBar]\nepochs: 3\nrunDir: ./runs/a",
  );
  const file = write("project/hookline.yaml", 'extends: ./common/base.yaml\nseed: 1\nname: "${PROJECT:-none}"');
  const runDir = join(home, "project/runs/a");
  writeExperimentRecord(runDir, newRecord(runDir, "none", await readConfig(file, { set, cwd: home }), set));
  return runDir;
}

test("modules are relative to the config, wherever they were written; other paths stay as they are", async () => {
  const { raw, config } = readRecord(await recorded(["model=./own.ts#net"]));
  expect(config).toEqual({ file: "../../hookline.yaml", project: "../.." });
  expect(raw).toEqual({
    data: "./common/data.ts#points",
    hooks: ["./common/hooks/mine.ts", "progressBar"],
    epochs: 3,
    runDir: "./runs/a",
    seed: 1,
    name: "${PROJECT:-none}",
    model: "../own.ts#net",
  });
});

test("it is read back as it was, though the file says something else, and its project has moved", async () => {
  const runDir = await recorded();
  write("project/hookline.yaml", "epochs: 99");
  renameSync(join(home, "project"), join(home, "moved"));
  const moved = runDir.replace("project", "moved");
  const doc = await recordedConfig(moved, readRecord(moved), ["epochs=5"]);
  expect(doc.value).toMatchObject({ epochs: 5, seed: 1, name: "none", runDir: moved });
  expect(doc.project).toBe(join(home, "moved"));
  expect(doc.directoryOf(["data"])).toBe(join(home, "moved"));
});

test("a run without its project is an error that says so", async () => {
  const runDir = await recorded();
  renameSync(runDir, join(home, "alone"));
  const { raw } = readRecord(join(home, "alone"));
  const record = { ...readRecord(join(home, "alone")), config: { file: "../gone/hookline.yaml", project: "../gone" } };
  expect(raw).not.toBeNull();
  await expect(recordedConfig(join(home, "alone"), record, [])).rejects.toThrow(
    /belongs to a project in .*gone, which does not exist/,
  );
});

test("what is no data cannot be written down: then the file is read again", async () => {
  const file = write("project/hookline.mjs", "export default { epochs: 2, data: () => ({}) };");
  const doc = await readConfig(file);
  expect(recordable(doc)).toBeNull();
  const runDir = join(home, "project/runs/a");
  writeExperimentRecord(runDir, newRecord(runDir, "none", doc, ["epochs=4"]));
  expect((await recordedConfig(runDir, readRecord(runDir), [])).value).toMatchObject({ epochs: 4 });
});

test.each<[what: string, change: object]>([
  ["no config", { config: null }],
  ["a config without a file", { config: { project: "." } }],
  ["a project that is no path", { config: { file: "a.yaml", project: 5 } }],
  ["overrides that are no texts", { overrides: [null] }],
  ["a text for the config's values", { raw: "x" }],
])("a record with %s is damaged", async (_, change) => {
  const runDir = await recorded();
  writeExperimentRecord(runDir, { ...readRecord(runDir), ...change });
  expect(() => readRecord(runDir)).toThrow(UsageError);
});
