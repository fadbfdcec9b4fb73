// Where a launcher has started this command several times: one of them speaks and keeps the run's files, the main rank.
import { setTimeout as sleep } from "node:timers/promises";
import { launchedRank } from "../distributed/environment.ts";
import { LAUNCH_VARIABLE } from "./output.ts";

/** Long enough for the launcher to end this process, where the main rank has failed too. */
const TURN_MS = 5000;

/** mpirun takes SIGINT and SIGTERM as its own end. These it hands on to the ranks: `launch` sends them instead. */
export const STAND_INS: Readonly<Record<string, NodeJS.Signals>> = {
  SIGINT: "SIGUSR2",
  SIGTERM: "SIGALRM",
  SIGUSR1: "SIGUSR1",
};

const rank = (): number => launchedRank(process.env, process.pid);

export const isMainRank = (): boolean => rank() === 0;

/** What all would say, the main rank says for all; what another rank alone has to say comes a little later, with its number. */
export async function myTurn(): Promise<string> {
  if (isMainRank()) return "";
  await sleep(TURN_MS);
  return `rank ${rank()}: `;
}

/** In a process that `launch` has started, a stand-in becomes the signal that it stands for. */
export function hearStandIns(): void {
  if (process.env[LAUNCH_VARIABLE] === undefined) return;
  for (const [signal, standIn] of Object.entries(STAND_INS))
    if (standIn !== signal) process.on(standIn, () => void process.kill(process.pid, signal));
}
