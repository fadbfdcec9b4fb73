// The data in the files of live control. Only types: pages and programs without Node import them too.
import type { Json } from "../../core/options.ts";

/** The arguments of a command. */
export type CommandArgs = Readonly<Record<string, Json>>;

/** What a person, a script or a page asks of a running training or study: one file in `control/inbox/`. */
export interface Command {
  readonly v: 1;
  /** Unique: a command is carried out once, however often it is sent. */
  readonly id: string;
  /** The run, and the part of it, that the command is for. */
  readonly run: string;
  readonly part: number;
  /** A row of COMMANDS, or a command of the user's own. */
  readonly verb: string;
  readonly args: CommandArgs;
  /** Who sent it: `user@host`. */
  readonly by: string;
  /** How it was sent: `ui`, `ctl`, `program`. */
  readonly via: string;
  readonly why?: string;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** Seconds after which it is no longer carried out. A command with `at` expires with its part of the run instead. */
  readonly expires: number;
  /** Waits for the end of this step. */
  readonly at?: { readonly step: number };
}

/** How a command ended. */
export type CommandOutcome = "applied" | "refused" | "expired";

/** A line of control.jsonl about a command: the command, and what became of it. */
export interface JournalLine extends Command {
  readonly state: CommandOutcome;
  /** The step after which it was decided, and its epoch from 0. */
  readonly step: number;
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Set when the step's evaluation, log and save were done: during a pause. A replay pauses there too. */
  readonly settled?: true;
  /** What was applied, resolved: rates instead of a factor, the name of a checkpoint. A replay uses this. */
  readonly ask?: CommandArgs;
  /** Why it was refused, or is over. */
  readonly reason?: string;
  /** The id of the command that a resumed or repeated run carries out again. */
  readonly replayOf?: string;
}

/** A line of control.jsonl: a part of the run begins. */
export interface PartLine {
  readonly state: "part";
  readonly part: number;
  /** The step at which it begins. */
  readonly step: number;
  /** The id of the last command that its checkpoint contains; null without one. */
  readonly after: string | null;
  /** Whether the later commands of earlier parts are carried out again. */
  readonly replay: boolean;
}

/** Contents of `control/hello.json`: who reads the inbox, and what it accepts. */
export interface ControlHello {
  readonly run: string;
  /** When this part of the run started: commands for another part are refused. */
  readonly part: number;
  readonly pid: number;
  readonly host: string;
  /** These tell whether the process is alive. */
  readonly started: string;
  readonly boot?: string;
  readonly namespaces?: string;
  readonly worldSize: number;
  readonly state: "running" | "paused" | "ended";
  /** What takes a while just now. */
  readonly doing?: "evaluating" | "saving";
  readonly step: number;
  /** The rate of every parameter group, and what the schedule alone would make it. */
  readonly lr: readonly number[];
  readonly scheduledLr: readonly number[];
  readonly accumulate: number;
  /** Names of the commands that are accepted. */
  readonly allow: readonly string[];
  /** `lr` is a range of factors on the schedule's rate, `accumulate` one of micro-batches, `pause` one of seconds. */
  readonly bounds: Bounds;
  readonly hooks: readonly { readonly name: string; readonly stage: string; readonly enabled: boolean }[];
  /** The hooks that keep a checkpoint which would otherwise be removed, by its name: an upload, say. */
  readonly held?: Readonly<Record<string, readonly string[]>>;
  /** Whether the run can save, and whether it can evaluate. */
  readonly checkpoints: boolean;
  readonly evals: boolean;
  /** Of a study: how many trials it will have in all; absent where that is not known. */
  readonly totalTrials?: number;
}

/** Ranges that a command's numbers must be in. */
export type Bounds = Readonly<Record<string, readonly [min: number, max: number]>>;

/** A command with its state, as readers show it. */
export interface CommandRow extends Omit<Command, "v" | "run" | "part"> {
  readonly state: CommandOutcome | "waiting";
  /** Where it was decided. */
  readonly step?: number;
  readonly epoch?: number;
  /** When, in milliseconds since 1970. */
  readonly time?: number;
  readonly ask?: CommandArgs;
  readonly reason?: string;
  readonly replayOf?: string;
}
