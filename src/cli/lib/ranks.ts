// Where a launcher has started this command several times: one of them speaks and keeps the run's files, the main rank.
import { setTimeout as sleep } from "node:timers/promises";
import { launchedRank } from "../../distributed/environment.ts";

/** Long enough for the launcher to end this process, where the main rank has failed too. */
const TURN_MS = 5000;

const rank = (): number => launchedRank(process.env, process.pid);

export const isMainRank = (): boolean => rank() === 0;

/** What all would say, the main rank says for all; what another rank alone has to say comes a little later, with its number. */
export async function myTurn(): Promise<string> {
  if (isMainRank()) return "";
  await sleep(TURN_MS);
  return `rank ${rank()}: `;
}
