// hookline doctor: what hookline can use on this machine and in this directory.
import { cacheContents, cacheFolder, clearCache } from "../engines/xla/cache/cache-folder.ts";
import { EXIT } from "./errors.ts";
import { paint, print, printJson } from "./output.ts";
import { packageUrl, readManifest } from "./package.ts";
import { table } from "./table.ts";
import { execFile } from "node:child_process";
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { createRequire } from "node:module";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type CommandDescription, jsonFlag } from "./command.ts";

export const command: CommandDescription = {
  examples: `doctor
doctor --json
doctor --clear-cache`,
  flags: (program) =>
    program.addOption(jsonFlag()).option("--clear-cache", 'first remove the programs that engine "xla" has compiled'),
};

interface Flags {
  readonly json?: boolean;
  readonly clearCache?: boolean;
}

/** Exits with 1 when something is missing that hookline cannot do without. */
export async function run({ json, clearCache: clears }: Flags): Promise<number> {
  if (clears) await clearCache(cacheFolder());
  const checks: Check[] = [];
  // One after the other: they would spoil each other's times.
  for (const check of CHECKS) checks.push(...[await check()].flat());
  const isWell = checks.every(({ status, needed }) => status !== "missing" || !needed);
  const { version } = readManifest();
  if (json) printJson({ hookline: version, ok: isWell, checks });
  else {
    const rows = checks.map(({ name, status, needed, found }) => [
      name,
      status !== "missing" ? status : needed ? "MISSING" : "not here",
      found,
    ]);
    print(table([`hookline ${version}`, "", ""], rows));
    print(
      isWell ? paint(process.stdout, "green", "All that is needed is here.") : "Something that is needed is missing.",
    );
  }
  return isWell ? EXIT.ok : EXIT.failed;
}

export interface Check {
  readonly name: string;
  /** `missing` is worth an exit code when it is `needed`, and else no fault. */
  readonly status: "ok" | "missing" | "low" | "slow";
  readonly needed: boolean;
  readonly found: string;
}

const GB = 1e9;
const MB = 1e6;
/** Less than this is soon used up by checkpoints. */
const LEAST_DISK = 1 * GB;
/** A checkpoint waits for a dozen of these. */
const SLOW_FSYNC_MS = 100;

type Found = Check | readonly Check[];

export const CHECKS: readonly (() => Found | Promise<Found>)[] = [
  node,
  () => ({
    name: "machine",
    status: "ok",
    needed: false,
    found: `${cpus().length} cores, ${(totalmem() / GB).toFixed(1)} GB of memory`,
  }),
  engines,
  blas,
  gpu,
  compileCache,
  ...Object.entries(readManifest().peerDependencies).map(
    ([name, range]) =>
      () =>
        peer(name, range),
  ),
  mpirun,
  diskSpace,
  diskSync,
];

function node(): Check {
  const { engines } = readManifest();
  const wanted = engines.node
    .replace(/^>=\s*/, "")
    .split(".")
    .map(Number);
  const has = process.versions.node.split(".").map(Number);
  const isEnough = has[0]! > wanted[0]! || (has[0] === wanted[0] && has[1]! >= (wanted[1] ?? 0));
  const found = `${process.version} on ${process.platform} ${process.arch}`;
  return {
    name: "Node",
    status: isEnough ? "ok" : "missing",
    needed: true,
    found: isEnough ? found : `${found}; hookline needs ${engines.node}`,
  };
}

interface Described {
  readonly threads?: number;
  readonly device?: string;
}

/** Each by what it does: an engine that starts can compute. */
async function engines(): Promise<readonly Check[]> {
  const checks: Check[] = [];
  try {
    const { ENGINE_NAMES, selectEngine } = await import("../engines/select.ts");
    for (const name of ENGINE_NAMES.filter((one) => one !== "auto")) {
      const about = { name: `engine ${name}`, needed: name === "wasm" };
      try {
        const engine = await selectEngine(name);
        const buffer = engine.put({ data: new Float32Array([1, 2]), shape: [2] });
        await engine.read(buffer);
        const { threads, device } = engine as Described;
        await engine.close();
        const counted = threads === undefined ? "" : `, on ${threads} ${threads === 1 ? "thread" : "threads"}`;
        const on = device === undefined ? counted : `, on ${device}`;
        checks.push({ ...about, status: "ok", found: `works${on}` });
      } catch (error) {
        checks.push({ ...about, status: "missing", found: (error as Error).message });
      }
    }
  } catch (error) {
    checks.push({ name: "engines", status: "missing", needed: true, found: (error as Error).message });
  }
  return checks;
}

/** Libraries with which engine "native" can multiply: are they faster here than what it has? */
async function blas(): Promise<readonly Check[]> {
  try {
    const { Blas, BLAS_NAMES, speedOf } = await import("../engines/native/blas.ts");
    return BLAS_NAMES.flatMap((name) => {
      try {
        const speed = speedOf(new Blas(name));
        const found = `multiplies ${speed.toFixed(1)} times as fast as onnxruntime (HOOKLINE_BLAS=${name})`;
        return [{ name: `BLAS ${name}`, status: "ok", needed: false, found } as const];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}

/** For `systemStats`. */
async function gpu(): Promise<Check> {
  const query = ["--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"];
  try {
    const { stdout } = await promisify(execFile)("nvidia-smi", query, { timeout: 10_000, windowsHide: true });
    const found = `${stdout.trim().split("\n").join("; ")}. systemStats shows its load, and engine "xla" computes on it`;
    return { name: "GPU", status: "ok", needed: false, found };
  } catch {
    return { name: "GPU", status: "missing", needed: false, found: "nvidia-smi shows none" };
  }
}

/** What engine "xla" has compiled in this and other processes. */
async function compileCache(): Promise<Check> {
  const { programs, bytes } = await cacheContents(cacheFolder());
  const found = `${programs} ${programs === 1 ? "program" : "programs"}, ${(bytes / MB).toFixed(1)} MB in ${cacheFolder()}`;
  return { name: "compile cache", status: "ok", needed: false, found };
}

/** For `hookline launch`. */
async function mpirun(): Promise<Check> {
  try {
    const { stdout } = await promisify(execFile)("mpirun", ["--version"], { timeout: 10_000 });
    return { name: "mpirun", status: "ok", needed: false, found: stdout.split("\n")[0]!.trim() };
  } catch {
    return { name: "mpirun", status: "missing", needed: false, found: "optional; apt-get install openmpi-bin" };
  }
}

/** As a project's own code would find it: from where the command was called. */
function peer(name: string, range: string): Check {
  for (const from of [join(process.cwd(), "package.json"), packageUrl]) {
    try {
      createRequire(from).resolve(name);
      return { name, status: "ok", needed: false, found: `installed${versionOf(name, from)}` };
    } catch (error) {
      // It is there, and only for import.
      if ((error as NodeJS.ErrnoException).code === "ERR_PACKAGE_PATH_NOT_EXPORTED")
        return { name, status: "ok", needed: false, found: "installed" };
    }
  }
  return { name, status: "missing", needed: false, found: `optional; npm install "${name}@${range}"` };
}

function versionOf(name: string, from: string | URL): string {
  try {
    const { version } = createRequire(from)(`${name}/package.json`) as { version: string };
    return `, ${version}`;
  } catch {
    // Not every package shows its own.
    return "";
  }
}

async function diskSpace(): Promise<Check> {
  try {
    const { bavail, bsize } = await statfs(process.cwd());
    const free = bavail * bsize;
    const status = free < LEAST_DISK ? "low" : "ok";
    return { name: "disk space", status, needed: false, found: `${(free / GB).toFixed(1)} GB free here` };
  } catch (error) {
    return { name: "disk space", status: "missing", needed: false, found: (error as Error).message };
  }
}

function diskSync(): Check {
  const file = join(process.cwd(), `.hookline-doctor-${process.pid}`);
  try {
    const fd = openSync(file, "wx");
    try {
      const times = Array.from({ length: 5 }, () => {
        writeSync(fd, Buffer.alloc(4096));
        const begun = performance.now();
        fsyncSync(fd);
        return performance.now() - begun;
      });
      const median = times.sort((a, b) => a - b)[2]!;
      const status = median > SLOW_FSYNC_MS ? "slow" : "ok";
      return { name: "disk sync", status, needed: false, found: `${median.toFixed(1)} ms for each fsync here` };
    } finally {
      closeSync(fd);
      rmSync(file, { force: true });
    }
  } catch (error) {
    return {
      name: "disk sync",
      status: "missing",
      needed: false,
      found: `nothing can be written here: ${(error as Error).message}`,
    };
  }
}
