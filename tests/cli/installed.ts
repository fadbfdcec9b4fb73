// hookline as it is after an installation, built from the sources into a place of its own: other tests build dist/ anew.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import { PROGRAMS_VARIABLE } from "../support/programs.ts";
import { root } from "../support/sources.ts";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Installed {
  /** The package: package.json, dist and the rest of what is published. */
  readonly package: string;
  /** A new directory beside node_modules with hookline in it. */
  project(files?: Readonly<Record<string, string>>): string;
  /** Runs `hookline …` in a directory, to its end. */
  hookline(cwd: string, ...args: readonly string[]): Promise<Ended>;
  start(cwd: string, ...args: readonly string[]): ChildProcess & { readonly ended: Promise<Ended> };
  remove(): void;
}

/** The compiled package. The first test file that needs it builds it for the whole test run. */
async function builtDist(): Promise<string> {
  const dist = join(process.env[PROGRAMS_VARIABLE]!, "dist");
  if (existsSync(dist)) return dist;
  const building = mkdtempSync(`${dist}-`);
  // Types are checked elsewhere; this way it takes half the time.
  await promisify(execFile)(process.execPath, [join(root, "build.js"), building, "--noCheck"]);
  try {
    renameSync(building, dist);
  } catch (error) {
    // Another worker built it at the same time.
    if (!existsSync(dist)) throw error;
    rmSync(building, { recursive: true });
  }
  return dist;
}

export async function installHookline(): Promise<Installed> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "hookline-cli-")));
  const own = join(home, "node_modules/hookline");
  mkdirSync(own, { recursive: true });
  cpSync(await builtDist(), join(own, "dist"), { recursive: true });
  for (const file of ["package.json", "README.md", "LICENSE", "CHANGELOG.md", "schema"])
    cpSync(join(root, file), join(own, file), { recursive: true });
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(home, "node_modules", name)), { recursive: true });
    symlinkSync(realpathSync(join(root, "node_modules", name)), join(home, "node_modules", name));
  }
  const bin = join(own, "dist/cli/main.js");
  let projects = 0;

  const start: Installed["start"] = (cwd, ...args) => {
    const { FORCE_COLOR: _, ...env } = process.env;
    const child = spawn(process.execPath, [bin, ...args], {
      cwd,
      env: { ...env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += String(chunk)));
    child.stderr.on("data", (chunk) => (stderr += String(chunk)));
    const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
    return Object.assign(child, { ended });
  };

  return {
    package: own,
    project(files = {}) {
      const dir = join(home, `project-${++projects}`);
      for (const [file, text] of Object.entries({ "package.json": '{ "type": "module" }', ...files })) {
        mkdirSync(dirname(join(dir, file)), { recursive: true });
        writeFileSync(join(dir, file), text);
      }
      return dir;
    },
    start,
    hookline: (cwd, ...args) => start(cwd, ...args).ended,
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}
