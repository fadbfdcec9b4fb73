// Runs one of examples/ as its reader would, in the short form that each of them has for the tests.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What it printed. An example that fails is an error with everything it has said. */
export async function runExample(file: string, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, ["--import", "tsx", `examples/${file}`, "--quick", ...args], {
    cwd: root,
    env: { ...process.env, CI: "true" },
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
