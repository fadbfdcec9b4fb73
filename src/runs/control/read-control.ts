// The reader's side of live control: who listens, what waits, and what became of each command.
import { ControlError } from "./control-error.ts";
import { helloFile, inboxDirectory, journalFile, listInbox, nodeFs, readSmallJson } from "./control-files.ts";
import { checkCommand } from "./commands.ts";
import { FORMATS } from "../layout.ts";
import { readJournal, readRecords } from "./journal.ts";
import { livenessOf, type Liveness } from "../liveness.ts";
import type { CommandRow, ControlHello, JournalLine } from "./types.ts";

/** What is known of live control in a directory. */
export interface ControlState {
  /** What `control()` wrote last; undefined where it never ran. */
  readonly hello: ControlHello | undefined;
  /** Whether the process that wrote it is alive; `unknown` on another machine. */
  readonly listener: Liveness;
  /** Waiting and decided commands, newest first. */
  readonly commands: readonly CommandRow[];
}

/** A hello lists the hooks of a run, of which there may be many. */
const LARGEST_HELLO = 1024 * 1024;

/** The hello.json of a directory; undefined where there is none, or it is not one of ours. */
export function readHello(dir: string): ControlHello | undefined {
  try {
    const hello = readSmallJson(nodeFs(), helloFile(dir), LARGEST_HELLO) as ControlHello | undefined;
    const isOne = typeof hello?.run === "string" && typeof hello.part === "number" && Array.isArray(hello.allow);
    return isOne ? hello : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the process that wrote a hello is there to read the inbox. */
export const livenessOfHello = (hello: ControlHello): Liveness =>
  hello.state === "ended" ? "dead" : livenessOf(hello);

/** The hello of a run that listens. Throws a ControlError where nobody does. */
export function findListener(dir: string): ControlHello {
  const hello = readHello(dir);
  const nobody = (why: string): ControlError => new ControlError("not-controllable", `${dir}: ${why}`);
  if (!hello)
    throw nobody("no run listens here. Add the hook `control()`; `hookline train` does unless `control` is false.");
  if (hello.state === "ended") throw nobody("the run has ended.");
  if (livenessOfHello(hello) === "dead")
    throw nobody(`process ${hello.pid} on ${hello.host}, which listened here, is gone.`);
  return hello;
}

/**
 * Reads who listens in a directory and what became of the commands that were sent to it.
 * @example const { hello, commands } = await readControl("runs/digits");
 */
export async function readControl(dir: string): Promise<ControlState> {
  const hello = readHello(dir);
  // The inbox first: a command that is carried out meanwhile is then seen twice, not never.
  const waiting = readWaiting(dir);
  const decided = readDecided(dir);
  // Of a command that was repeated, or refused after all, the last line counts.
  const rows = new Map<string, CommandRow>();
  for (const row of [...decided, ...waiting.filter(({ id }) => !decided.some((line) => line.id === id))]) {
    rows.delete(row.id);
    rows.set(row.id, row);
  }
  return { hello, listener: hello ? livenessOfHello(hello) : "dead", commands: [...rows.values()].toReversed() };
}

function readWaiting(dir: string): CommandRow[] {
  const fs = nodeFs();
  return listInbox(fs, dir).flatMap(({ name }): CommandRow[] => {
    try {
      const {
        v: _v,
        run: _run,
        part: _part,
        ...command
      } = checkCommand(readSmallJson(fs, `${inboxDirectory(dir)}/${name}`));
      return [{ ...command, state: "waiting" }];
    } catch {
      // It was carried out just now, or is not a command.
      return [];
    }
  });
}

/** A study has its commands in its own journal, so that it is a function of that file alone. */
function readDecided(dir: string): CommandRow[] {
  const study = `${dir}/${FORMATS.journal.file}`;
  const lines = nodeFs().existsSync(study) ? readRecords(study) : readJournal(journalFile(dir)).lines;
  return lines.flatMap((line) => ("id" in line && "verb" in line ? [toRow(line as unknown as JournalLine)] : []));
}

const FOREIGN = ["v", "run", "part", "type", "at", "crc"];

/** Without what only the journals need. `at` is the time of a study's line. */
function toRow(line: JournalLine): CommandRow {
  const isOfStudy = "type" in line;
  return Object.fromEntries(
    Object.entries(line).filter(([key]) => !FOREIGN.includes(key) || (key === "at" && !isOfStudy)),
  ) as unknown as CommandRow;
}
