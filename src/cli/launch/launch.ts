// hookline launch: starts a command as a process group, with Open MPI's mpirun. Signals reach the ranks in a form that mpirun
// leaves to them, and the exit code is that of the first rank that has failed, whatever becomes of mpirun.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, constants, tmpdir } from "node:os";
import { join } from "node:path";
import { FAILURE_FILE } from "../../distributed/environment.ts";
import { hasEnded, statOf } from "../../runs/liveness.ts";
import { EXIT_CODES } from "../../platform/platform.ts";
import { UsageError } from "../errors.ts";
import { LAUNCH_VARIABLE } from "../output.ts";
import { BannerFilter, mpirunArguments } from "./mpirun.ts";
import { STAND_INS } from "../ranks.ts";
import { checkProgram } from "../program.ts";
import { type CommandDescription, nonEmpty, wholeFrom } from "../command.ts";

export const command: CommandDescription = {
  examples: `launch -n 4 train digits.yaml --epochs 20
launch -n 8 --hosts node1,node2 resume runs/digits
launch -n 2 --mpirun "--report-bindings" train`,
  flags: (program) =>
    program
      .requiredOption("-n, --ranks <n>", "how many processes", wholeFrom(1))
      .option("--hosts <list>", "where they run: host or host:slots, separated by commas; default: here", nonEmpty)
      .option("--mpirun <flags>", "further flags for mpirun, as one word", nonEmpty)
      .argument("<command...>", "train or resume, with its own arguments and flags")
      .passThroughOptions(),
};

interface Flags {
  readonly ranks: number;
  readonly hosts?: string;
  readonly mpirun?: string;
}

const COMMANDS = ["train", "resume"];

/** A signal this soon after the first is an echo of it. */
const ECHO_MS = 500;
/** An orphan of mpirun may keep its stderr open. */
const LAST_WORDS_MS = 1000;
/** mpirun without ranks is looked at so often, and ended when it has been without them at so many looks. */
const [LOOK_MS, LOOKS_ALONE] = [2000, 8];

export async function run(command: readonly string[], flags: Flags): Promise<number> {
  if (!COMMANDS.includes(command[0]!))
    throw new UsageError(`\`launch\` starts \`train\` or \`resume\`, not \`${command[0]}\`.`);
  process.env[LAUNCH_VARIABLE] = ownPart(flags);
  // Bad input is reported once, before any process starts.
  const ended = await checkProgram(command);
  if (ended !== undefined) return ended;
  const { ranks, hosts, mpirun = "" } = flags;
  const args = mpirunArguments({
    ranks,
    cores: availableParallelism(),
    hosts: hosts?.split(","),
    further: mpirun.split(/\s+/).filter(Boolean),
    pass: Object.keys(process.env).filter((name) => name.startsWith("HOOKLINE_")),
    program: [process.execPath, ...process.execArgv, process.argv[1]!, ...command],
  });
  return runMpirun(args, hosts === undefined && mpirun === "");
}

const ownPart = ({ ranks, hosts, mpirun }: Flags): string =>
  `launch -n ${ranks}${hosts === undefined ? "" : ` --hosts ${hosts}`}${mpirun === undefined ? "" : ` --mpirun ${JSON.stringify(mpirun)}`}`;

/** `allHere`: no host but this one has ranks. */
export function runMpirun(args: readonly string[], allHere: boolean): Promise<number> {
  const asRoot = process.getuid?.() === 0 && { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };
  // mpirun gives the ranks a terminal even if it has none itself.
  const plain = !process.stdout.isTTY && { NO_COLOR: "1", TERM: "dumb" };
  const notes = mkdtempSync(join(tmpdir(), "hookline-launch-"));
  const failureFile = join(notes, "failure");
  const child = spawn("mpirun", args, {
    env: { ...process.env, ...asRoot, ...plain, [FAILURE_FILE]: failureFile },
    stdio: ["ignore", "inherit", "pipe"],
    // A session of its own: Ctrl-C would reach mpirun too, which kills the ranks within a second.
    detached: true,
  });
  const banners = new BannerFilter();
  child.stderr.setEncoding("utf8").on("data", (text: string) => void process.stderr.write(banners.pass(text)));
  child.on("exit", () => setTimeout(() => child.stderr.destroy(), LAST_WORDS_MS).unref());
  const signals = passSignals((signal) => void child.kill(signal));
  const unwatch = allHere && !inBatchJob() ? watchRanks(child.pid, () => void child.kill("SIGKILL")) : undefined;
  const end = (): void => {
    signals.stop();
    unwatch?.();
    rmSync(notes, { recursive: true, force: true });
  };
  return new Promise((resolve, reject) => {
    child.on("error", (error: NodeJS.ErrnoException) => {
      end();
      reject(error.code === "ENOENT" ? new UsageError(MISSING) : error);
    });
    child.on("close", (code, signal) => {
      process.stderr.write(banners.end());
      const failure = failureCode(failureFile);
      end();
      resolve(signals.codeOf(code || failure || (code ?? 128 + constants.signals[signal!])));
    });
  });
}

/** What the first rank to fail has noted: mpirun may end with 0 after it, or with the signal that ended mpirun itself. */
function failureCode(file: string): number {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return 0;
  }
}

const MISSING =
  "`mpirun` is not installed. Install Open MPI (`apt-get install openmpi-bin`), or load your cluster's module for it.";

/** There mpirun takes the job's hosts, without being asked to. */
const inBatchJob = (): boolean =>
  ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE"].some((name) => process.env[name] !== undefined);

/**
 * Open MPI 4.1's mpirun may wait for itself for ever when its ranks have ended at the same moment. Calls `end` once it has
 * had processes of its own for a while, and has none any more. Returns what ends the watch.
 */
function watchRanks(mpirun: number | undefined, end: () => void): () => void {
  let had = false;
  let looks = 0;
  const timer = setInterval(() => {
    const has = mpirun === undefined || hasChildren(mpirun);
    had ||= has;
    looks = had && !has ? looks + 1 : 0;
    if (looks === LOOKS_ALONE) end();
  }, LOOK_MS);
  return () => clearInterval(timer);
}

/** True where nobody can tell. */
function hasChildren(parent: number): boolean {
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.some((pid) => {
      const fields = statOf(Number(pid));
      return fields !== undefined && Number(fields[1]) === parent && !hasEnded(fields);
    });
  } catch {
    return true;
  }
}

interface Passing {
  /** The exit code, given that of mpirun. */
  codeOf(ended: number): number;
  stop(): void;
}

/** The signal that mpirun gets for each of ours. For the ranks, a closed terminal is the same as SIGTERM. */
const SENT: Readonly<Record<string, NodeJS.Signals>> = { ...STAND_INS, SIGHUP: STAND_INS.SIGTERM! };

/** The first signal goes to the ranks, which then save and stop. A second one goes to mpirun itself. */
function passSignals(send: (signal: NodeJS.Signals) => void): Passing {
  let first: { readonly signal: string; readonly at: number } | undefined;
  let isUrgent = false;
  const undo = Object.keys(SENT).map((signal) => {
    const handler = (): void => {
      if (!first) {
        first = { signal, at: performance.now() };
        send(SENT[signal]!);
      } else if (performance.now() - first.at > ECHO_MS) {
        isUrgent = true;
        send("SIGTERM");
      }
    };
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return {
    codeOf(ended) {
      if (!first) return ended;
      // The signal came before the ranks listened.
      const isUnheard = ended === 128 + constants.signals[SENT[first.signal]!];
      const isHangUp = first.signal === "SIGHUP" && ended === EXIT_CODES.SIGTERM;
      return isUrgent || isUnheard || isHangUp ? EXIT_CODES[first.signal]! : ended;
    },
    stop: () => undo.forEach((each) => each()),
  };
}
