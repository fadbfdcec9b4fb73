// Runs one of examples/ as its reader would, in the short form that each of them has for the tests.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** With these arguments, Node compares what an example has trained with its export. */
export const CHECKED: readonly string[] = ["--import", "tsx", "--import", "./tests/examples/check-export.ts"];

/** Runs `body` with the environment of CHECKED, and makes sure that something was compared. */
export async function exporting<T>(body: (env: NodeJS.ProcessEnv) => T): Promise<Awaited<T>> {
  const dir = mkdtempSync(join(tmpdir(), "export-check-"));
  const file = join(dir, "compared");
  try {
    const result = await body({ ...process.env, CI: "true", EXPORT_CHECK: file });
    if (!(Number(readFileSync(file, "utf8")) > 0)) throw new Error("no model was exported");
    return result;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** What it printed. An example that fails, or whose model does not export, is an error with everything it has said. */
export const runExample = (file: string, ...args: readonly string[]): Promise<string> =>
  exporting((env) => started(env, file, args));

async function started(env: NodeJS.ProcessEnv, file: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [...CHECKED, `examples/${file}`, "--quick", ...args], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => void (output += text));
  }
  const code = await new Promise<number | null>((resolve) => void child.on("close", resolve));
  if (code !== 0) throw new Error(`examples/${file} ended with code ${code}:\n${output}`);
  return output;
}

/** The number that the pattern's group finds in what was printed. */
export function numberIn(output: string, pattern: RegExp): number {
  const found = pattern.exec(output)?.[1];
  if (found === undefined) throw new Error(`nothing like ${pattern} in:\n${output}`);
  return Number(found);
}
