// Runs a program under strace: which system calls touch a directory, and what happens when one of them kills or fails.
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Calls that change something, or that stand between two that do. */
const CALLS = ["mkdir", "openat", "write", "fsync", "close", "rename", "link", "unlink", "rmdir"] as const;
export type SystemCall = (typeof CALLS)[number];

export interface Point {
  readonly call: SystemCall;
  /** Which one, from 1. */
  readonly nth: number;
  /** Before a call that changes nothing, a kill leaves the files that the next one that does finds. */
  readonly changes: boolean;
}

/** Not `--seccomp-bpf`: it is faster, and injects nothing here. */
export const straceWorks = ((): boolean => {
  const { status, signal } = spawnSync("strace", [
    "-qq",
    "-o",
    "/dev/null",
    "-e",
    "inject=close:signal=SIGKILL",
    "true",
  ]);
  return status === null && signal === "SIGKILL";
})();

/** In memory, where there is such a place: a killed process leaves the same there, and syncs cost nothing. */
export const newFolder = (): string =>
  realpathSync(mkdtempSync(`${existsSync("/dev/shm") ? "/dev/shm" : tmpdir()}/hookline-crash-`));

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Compiles programs to a folder, each into one file: they start in a fifth of the time that tsx takes. */
export async function compile(outdir: string, ...entryPoints: string[]): Promise<void> {
  const options = { absWorkingDir: root, bundle: true, format: "esm", platform: "node" } as const;
  await Promise.all(entryPoints.map((entry) => build({ ...options, entryPoints: [entry], outdir })));
  writeFileSync(`${outdir}/package.json`, `{ "type": "module" }`);
}

interface Ended {
  readonly signal: string | undefined;
  readonly output: string;
  /** What strace wrote. */
  readonly trace: string;
}

async function run(tracing: readonly string[], traceFile: string, program: readonly string[]): Promise<Ended> {
  const args = ["-f", "-qq", "-y", "-o", traceFile, ...tracing, process.execPath, ...program];
  return new Promise((resolve) => {
    execFile("strace", args, { env: { ...process.env, UV_THREADPOOL_SIZE: "1" } }, (error, output) => {
      resolve({ signal: error?.signal ?? undefined, output, trace: readFileSync(traceFile, "utf8") });
    });
  });
}

/** A program that works in `folder`, and the calls with which it does. */
export class Traced {
  readonly #folder: string;
  readonly #program: readonly string[];
  readonly #traceFile: string;
  #paths: readonly string[] = [];

  constructor(folder: string, program: readonly string[], traceFile: string) {
    this.#folder = folder;
    this.#program = program;
    this.#traceFile = traceFile;
  }

  /** Runs it untouched: every call on a path of the folder is a point at which something can happen. */
  async record(): Promise<Point[]> {
    const { trace } = await run(["-e", `trace=${CALLS.join(",")}`], this.#traceFile, this.#program);
    const paths = trace.match(new RegExp(`${this.#folder}(?:/[^">, ]*)?`, "g")) ?? [];
    this.#paths = [...new Set(paths)];
    const counts = new Map<string, number>();
    const points = new Map<string, Point>();
    for (const line of trace.split("\n")) {
      const call = CALLS.find((name) => line.includes(` ${name}(`));
      if (!call || !line.includes(this.#folder)) continue;
      // strace counts the calls of each thread by itself, and a line begins with the thread's number.
      const thread = `${line.split(" ", 1)[0]} ${call}`;
      const nth = (counts.get(thread) ?? 0) + 1;
      counts.set(thread, nth);
      const changes = call !== "fsync" && call !== "close" && (call !== "openat" || line.includes("O_CREAT"));
      points.set(`${call} ${nth}`, { call, nth, changes });
    }
    return [...points.values()];
  }

  /** Runs it again, with something done to one call; `-P` takes paths literally, so the names must be those of `record`. */
  async inject({ call, nth }: Point, what: string): Promise<Ended> {
    const paths = this.#paths.flatMap((path) => ["-P", path]);
    const inject = ["-e", `trace=${call}`, "-e", `inject=${call}:${what}:when=${nth}`];
    return run([...paths, ...inject], this.#traceFile, this.#program);
  }
}
