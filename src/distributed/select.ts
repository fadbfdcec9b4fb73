// Which strategy a run has: by name, or as the launcher that started this process says.
import { OptionError } from "../core/errors.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/suggest.ts";
import { builtinOrNone } from "../platform/builtin.ts";
import { launchedSize, type Environment } from "./environment.ts";
import { single, type Strategy } from "./strategy.ts";

const STRATEGY_NAMES = ["auto", "single", "mpi"] as const;
export type StrategyName = (typeof STRATEGY_NAMES)[number];

export interface StrategyOptions {
  /** Seconds that a rank waits for the others before all end. Default: HOOKLINE_MPI_TIMEOUT, else 600. */
  readonly timeout?: number;
}

export function checkStrategy(strategy: unknown): void {
  if (typeof strategy === "object" && strategy !== null && typeof (strategy as Strategy).allReduce === "function")
    return;
  if (typeof strategy === "string" && (STRATEGY_NAMES as readonly string[]).includes(strategy)) return;
  const hint = typeof strategy === "string" ? didYouMean(strategy, STRATEGY_NAMES) : "";
  throw new OptionError(
    `Trainer: Expected \`strategy\` to be ${STRATEGY_NAMES.map((n) => `"${n}"`).join(", ")} or a Strategy, got ${show(strategy)}.${hint}`,
    { option: "strategy" },
  );
}

/** With "auto", processes of a launcher that cannot find each other are an error: each would train the whole, alone. */
export async function openStrategy(choice: StrategyName | Strategy, options: StrategyOptions = {}): Promise<Strategy> {
  if (typeof choice === "object") return choice;
  if (choice === "single" || (choice === "auto" && !startedByLauncher())) return single;
  // Loaded when it is used: browsers never download it.
  const { openMpi } = await import("./mpi.ts");
  return openMpi(options);
}

function startedByLauncher(): boolean {
  const process = builtinOrNone<{ readonly env: Environment; readonly pid: number }>("node:process");
  return process !== undefined && (launchedSize(process.env, process.pid) ?? 1) > 1;
}
