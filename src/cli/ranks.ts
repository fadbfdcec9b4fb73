// In a process group, only the main rank prints and writes the run's files.
import { setTimeout as sleep } from "node:timers/promises";
import { launchedRank } from "../distributed/environment.ts";
import { LAUNCH_VARIABLE } from "./output.ts";

/** Long enough for the launcher to end this process if the main rank has failed too. */
const TURN_MS = 5000;

/** SIGINT and SIGTERM end mpirun itself. It forwards these to the ranks, so `launch` sends them instead. */
export const STAND_INS: Readonly<Record<string, NodeJS.Signals>> = {
  SIGINT: "SIGUSR2",
  SIGTERM: "SIGALRM",
  SIGUSR1: "SIGUSR1",
};

const rank = (): number => launchedRank(process.env, process.pid);

export const isMainRank = (): boolean => rank() === 0;

/** The main rank reports for all. Another rank reports a little later, with its number. */
export async function myTurn(): Promise<string> {
  if (isMainRank()) return "";
  await sleep(TURN_MS);
  return `rank ${rank()}: `;
}

/** In a rank that `launch` started, turns a stand-in into the signal that it stands for. */
export function hearStandIns(): void {
  if (process.env[LAUNCH_VARIABLE] === undefined) return;
  for (const [signal, standIn] of Object.entries(STAND_INS))
    if (standIn !== signal) process.on(standIn, () => void process.kill(process.pid, signal));
}
