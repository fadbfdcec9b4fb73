// hookline launch: starts a command as several processes that train together, with Open MPI's mpirun.
import { spawn } from "node:child_process";
import { availableParallelism, constants } from "node:os";
import { EXIT_CODES } from "../platform/platform.ts";
import { UsageError } from "./lib/exit.ts";
import { mpirunArguments } from "./lib/mpirun-arguments.ts";

interface Flags {
  readonly ranks: number;
  readonly hosts?: string;
  readonly mpirun?: string;
}

const COMMANDS = ["train", "resume"];

/** What comes this soon after the first signal is its echo. */
const ECHO_MS = 500;

export async function run(command: readonly string[], { ranks, hosts, mpirun = "" }: Flags): Promise<number> {
  if (!COMMANDS.includes(command[0]!))
    throw new UsageError(`\`launch\` starts \`train\` or \`resume\`, not \`${command[0]}\`.`);
  const args = mpirunArguments({
    ranks,
    cores: availableParallelism(),
    hosts: hosts?.split(","),
    further: mpirun.split(/\s+/).filter(Boolean),
    pass: Object.keys(process.env).filter((name) => name.startsWith("HOOKLINE_")),
    program: [process.execPath, ...process.execArgv, process.argv[1]!, ...command],
  });
  return runMpirun(args);
}

function runMpirun(args: readonly string[]): Promise<number> {
  const asRoot = process.getuid?.() === 0 && { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" };
  // mpirun gives the ranks a terminal though it has none itself.
  const plain = !process.stdout.isTTY && { NO_COLOR: "1", TERM: "dumb" };
  const child = spawn("mpirun", args, {
    env: { ...process.env, ...asRoot, ...plain },
    stdio: ["ignore", "inherit", "inherit"],
    // A session of its own: Ctrl-C would reach mpirun too, which kills the ranks within a second.
    detached: true,
  });
  const signals = passSignals((signal) => void child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", (error: NodeJS.ErrnoException) => {
      signals.stop();
      reject(error.code === "ENOENT" ? new UsageError(MISSING) : error);
    });
    child.on("close", (code, signal) => {
      signals.stop();
      const ended = code ?? 128 + constants.signals[signal!];
      resolve(ended === EXIT_CODES.SIGUSR1 ? (EXIT_CODES[signals.first() ?? ""] ?? ended) : ended);
    });
  });
}

const MISSING =
  "`mpirun` is not there. Install Open MPI (`apt-get install openmpi-bin`), or load your cluster's module for it.";

/**
 * mpirun takes SIGINT and SIGTERM as its own end, and hands SIGUSR1 on to the ranks, which then save and stop. A second
 * signal is meant for mpirun.
 */
function passSignals(send: (signal: NodeJS.Signals) => void): { first(): string | undefined; stop(): void } {
  let first: { readonly signal: string; readonly at: number } | undefined;
  const undo = Object.keys(EXIT_CODES).map((signal) => {
    const handler = (): void => {
      if (!first) {
        first = { signal, at: performance.now() };
        send("SIGUSR1");
      } else if (performance.now() - first.at > ECHO_MS) send("SIGTERM");
    };
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return { first: () => first?.signal, stop: () => undo.forEach((each) => each()) };
}
