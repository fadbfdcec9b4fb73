// What the file of a command exports, and the flags that several commands share.
import { type Command, InvalidArgumentError, Option } from "commander";

/** Resolves to the exit code; undefined counts as 0. */
type Body = (...args: never[]) => Promise<number | void>;

/** The file of a command. */
export interface CommandModule {
  readonly command: CommandDescription;
  readonly run: Body;
  /** For `launch`: all checks that are possible before several processes are started. */
  readonly check?: Body;
}

export interface CommandDescription {
  /** Command lines without `hookline`, one in each line. */
  readonly examples: string;
  /** Adds arguments and flags. */
  readonly flags: (command: Command) => Command;
}

export const setFlag = (): Option =>
  new Option("--set <path=value>", "change a value of the config; may be given several times").argParser(
    (given: string, before: readonly string[] | undefined) => [...(before ?? []), given],
  );

export const jsonFlag = (): Option => new Option("--json", "one JSON document on stdout, everything else on stderr");

export const quietFlag = (): Option => new Option("--quiet", "suppress everything except errors and warnings");

export const checkpointFlag = (): Option =>
  new Option("--checkpoint <name>", "best, last, or a checkpoint's name").default("best");

export const modelFlag = (): Option => new Option("--model <name>", "which model, if the run has several");

/** Rejects an empty text: `--run-dir "$DIR"` with an unset variable would otherwise mean the current directory. */
export function nonEmpty(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It is empty.");
}

/** Takes whole numbers from `least` on. */
export function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Expected a whole number ≥ ${least}.`);
  };
}

export const LARGEST_PORT = 65_535;

/** Takes a port; 0 lets the system choose. */
export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= LARGEST_PORT) return Number(text);
  throw new InvalidArgumentError(`Expected a port from 0 to ${LARGEST_PORT}.`);
}
