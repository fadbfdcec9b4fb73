// Config files in a folder of their own, and the errors that reading them gives.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { ConfigError } from "../../src/experiment/config/config-error.ts";
import type { ConfigDocument } from "../../src/experiment/config/config-tree.ts";
import { readConfig, type ReadConfigOptions } from "../../src/experiment/config/read-config.ts";

export type Files = Readonly<Record<string, string | Uint8Array>>;

export function write(dir: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
}

/** A project that goes with the test. */
export function projectOf(files: Files): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "hookline-config-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  write(dir, { "package.json": '{ "type": "module" }', ...files });
  return dir;
}

/** Reads the first of the files. */
export function read(files: Files, options: ReadConfigOptions = {}): Promise<ConfigDocument> {
  return readConfig(Object.keys(files)[0]!, { cwd: projectOf(files), env: {}, ...options });
}

export const valueOf = async (files: Files, options?: ReadConfigOptions): Promise<unknown> =>
  (await read(files, options)).value;

/** The ConfigError that it rejects with; anything else fails the test. */
export async function problemOf(reading: Promise<unknown>): Promise<ConfigError> {
  const outcome = await reading.then(
    (value) => new Error(`it reads as ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof ConfigError) return outcome;
  throw outcome;
}

export const messageOf = async (reading: Promise<unknown>): Promise<string> => (await problemOf(reading)).message;
