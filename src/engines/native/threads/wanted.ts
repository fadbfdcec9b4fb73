// How many threads an engine is to have: as its option says, else the environment, else as the machine has cores.
import { OptionError } from "../../../core/errors.ts";
import { show } from "../../../core/options.ts";
import { coresOfRank } from "../../../distributed/cores.ts";
import { builtin } from "../../../platform/builtin.ts";

/** More than this many wait for each other more than they help. */
const MOST_BY_DEFAULT = 8;
const VARIABLE = "HOOKLINE_THREADS";

interface Wanted {
  readonly threads: number;
  /** Someone asked for this number. */
  readonly asked: boolean;
}

export function threadsWanted(option: number | undefined): Wanted {
  if (option !== undefined) return { threads: checked("NativeEngine: `threads`", option, option), asked: true };
  const { env } = builtin<{ env: Readonly<Record<string, string | undefined>> }>(`Engine "native"`, "node:process");
  const given = env[VARIABLE];
  if (given !== undefined && given !== "") return { threads: checked(VARIABLE, given, Number(given)), asked: true };
  const os = builtin<{ availableParallelism(): number; cpus(): unknown[] }>(`Engine "native"`, "node:os");
  const cores = coresOfRank(env, os.availableParallelism(), os.cpus().length);
  return { threads: Math.min(cores, MOST_BY_DEFAULT), asked: false };
}

function checked(what: string, given: unknown, threads: number): number {
  if (Number.isInteger(threads) && threads >= 1 && threads <= 256) return threads;
  throw new OptionError(`${what}: Expected a whole number from 1 to 256, got ${show(given)}`);
}
