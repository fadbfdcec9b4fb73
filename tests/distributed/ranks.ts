// Runs a script as ranks: what each rank notes (notes.ts), what all print, how it ends, and whether anything is left.
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { YIELD } from "../../src/cli/launch/mpirun.ts";
import { NOTES_VARIABLE, type RankNote } from "./notes.ts";
import { compiled } from "../support/programs.ts";

/** For `describe.skipIf(!mpirunWorks)`. */
export const mpirunWorks = spawnSync("mpirun", ["--version"]).status === 0;

if (!mpirunWorks) {
  console.info("Tests of several ranks skip: they need Open MPI (`apt-get install openmpi-bin libopenmpi3`).");
}

export interface RanksOptions {
  /** The script's. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Further flags of mpirun's. */
  readonly flags?: readonly string[];
  /** Started by mpirun itself instead of `hookline launch`, which mends what mpirun does wrong when ranks fail. */
  readonly plain?: boolean;
  /** Instead of either on this machine: the whole command line. */
  readonly command?: (ranks: number, program: readonly string[]) => readonly string[];
}

export interface RanksEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly at: number;
  readonly stdout: string;
  readonly stderr: string;
  /** By rank, and in the order in which a rank wrote them. */
  readonly notes: readonly RankNote[];
}

export interface RunningRanks {
  /** The first note of that kind of this rank, as soon as it is there. */
  until(kind: string, rank: number): Promise<RankNote>;
  /** To what started the ranks. One for a rank goes to the `pid` of its notes. */
  signal(name: NodeJS.Signals): void;
  readonly end: Promise<RanksEnd>;
  /** Command lines of this run's processes that are still there. */
  left(): string[];
  /** Resolves when none is there any more. The kernel may still be at work on one that mpirun has given up. */
  allGone(): Promise<void>;
}

const POLL_MS = 10;
const ROOT = { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };

/** `script` is TypeScript: `new URL("./child.ts", import.meta.url)`. Its last argument is a marker of this run. */
export function startRanks(
  n: number,
  script: URL,
  { args = [], env = {}, flags = [], plain = false, command = mpirunHere(flags, plain) }: RanksOptions = {},
): RunningRanks {
  const marker = `ranks-${randomUUID()}`;
  const folder = mkdtempSync(`${tmpdir()}/hookline-ranks-`);
  const program = [process.execPath, compiled(script), ...args, marker];
  const [file, ...rest] = command(n, program);
  const child = spawn(file!, rest, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...ROOT, HOOKLINE_THREADS: "1", [NOTES_VARIABLE]: folder, ...env },
  });
  const printed = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (printed.stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (printed.stderr += chunk));
  let over = false;
  let kept: readonly RankNote[] = [];
  const end = new Promise<RanksEnd>((resolve) => {
    child.on("close", (code, signal) => {
      kept = readNotes(folder);
      over = true;
      rmSync(folder, { recursive: true });
      resolve({ code, signal, at: Date.now(), ...printed, notes: kept });
    });
  });
  return {
    end,
    async until(kind, rank) {
      for (;;) {
        const ended = over;
        const notes = ended ? kept : readNotes(folder);
        const found = notes.find((each) => each.note === kind && each.rank === rank);
        if (found) return found;
        if (ended)
          throw new Error(`mpirun ended before rank ${rank} noted "${kind}".\n${printed.stdout}${printed.stderr}`);
        await sleep(POLL_MS);
      }
    },
    signal: (name) => void child.kill(name),
    left: () => commandLines().filter((line) => line.includes(marker)),
    async allGone() {
      while (commandLines().some((line) => line.includes(marker))) await sleep(POLL_MS);
    },
  };
}

const mpirunHere =
  (flags: readonly string[], plain: boolean): NonNullable<RanksOptions["command"]> =>
  (ranks, program) => [
    ...(plain ? ["mpirun"] : [process.execPath, compiled(new URL("./launcher.ts", import.meta.url))]),
    "--oversubscribe",
    ...YIELD,
    "-n",
    String(ranks),
    ...flags,
    ...program,
  ];

/** Runs it to its end. */
export const runRanks = (n: number, script: URL, options?: RanksOptions): Promise<RanksEnd> =>
  startRanks(n, script, options).end;

function readNotes(folder: string): RankNote[] {
  const files = readdirSync(folder).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return files.flatMap((file) => {
    const lines = readFileSync(`${folder}/${file}`, "utf8").split("\n");
    // What comes after the last line's end is still being written.
    return lines.slice(0, -1).map((line) => JSON.parse(line) as RankNote);
  });
}

/** Of all processes that live: a zombie has none. */
function commandLines(): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    } catch {
      return "";
    }
  });
}
