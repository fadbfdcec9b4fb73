// The format of a study's journal: one JSON object per line, each with a checksum of the line and of the checksum before
// it. A line that was changed, removed, repeated or moved is therefore found where it is.
import { type Json, is } from "../core/options.ts";
import type { TrialCheckpoint, TrialFailure } from "../core/outer-events.ts";
import { crc32 } from "../platform/crc.ts";
import { parseExact, stringifyExact } from "../runs/exact-json.ts";
import type { Command, CommandOutcome } from "../runs/control/types.ts";
import { FORMATS } from "../runs/layout.ts";
import { failure, isRecord, numbers, shaped, wrongField, type Fields } from "./data-checks.ts";
import { StudyError } from "./study-errors.ts";
import type { Decision, Objective, Params, Result } from "./types.ts";

/** Journals of version 1, which have no checksums and no id, are continued with checksums. */
const JOURNAL_VERSION = FORMATS.journal.version;

type Stash = Readonly<Record<string, Json>>;

/** The first line: what the study is, so that another study does not write to its journal. */
export interface StudyEntry {
  readonly type: "study";
  /** Of the journal's format. */
  readonly version: number;
  /** Random: it makes the checksums of all lines specific to this study. Absent in version 1. */
  readonly id?: string;
  readonly name: string;
  readonly space: Json;
  readonly objectives: readonly Objective[];
  readonly seed: number;
  readonly sampler: string;
  readonly scheduler: string;
}

type TrialEntry =
  | { readonly type: "suggested"; readonly trial: number; readonly params: Params }
  | { readonly type: "started"; readonly trial: number; readonly resume?: TrialCheckpoint }
  | {
      readonly type: "report";
      readonly trial: number;
      readonly step: number;
      readonly values: Result;
      readonly decision: Decision;
      /** Of an exploit: the checkpoint to continue from. */
      readonly checkpoint?: TrialCheckpoint;
      readonly stash?: Stash;
    }
  | { readonly type: "checkpoint"; readonly trial: number; readonly path: string; readonly stash?: Stash }
  | { readonly type: "completed"; readonly trial: number; readonly result: Result; readonly stash?: Stash }
  /** The trial has ended as the decision on its last report said. */
  | { readonly type: "left"; readonly trial: number; readonly stash?: Stash }
  /** The scheduler resumes a paused trial. */
  | { readonly type: "resumed"; readonly trial: number }
  /** The scheduler will never resume it. */
  | { readonly type: "dropped"; readonly trial: number }
  /** A person has changed its training: its result is not one of its parameters alone. */
  | { readonly type: "touched"; readonly trial: number }
  | {
      readonly type: "failed";
      readonly trial: number;
      readonly error: TrialFailure;
      readonly retry: boolean;
      /** The machine failed, which does not count against the trial. */
      readonly lost?: true;
    };

/** What a person asked for, and what became of it. */
export interface CommandEntry extends Omit<Command, "v" | "run" | "part" | "at"> {
  readonly type: "command";
  readonly state: CommandOutcome;
  /** Why it was refused, or is over. */
  readonly reason?: string;
}

/** The last line of a controller that was not killed. */
export interface EndedEntry {
  readonly type: "ended";
  readonly status: "completed" | "stopped" | "interrupted" | "error";
  readonly reason: string;
}

export type JournalEntry = StudyEntry | TrialEntry | CommandEntry | EndedEntry;

/** An entry as it is written: with the seconds that the study has run so far. */
export type JournalLine = JournalEntry & { readonly at: number };

const checkpoint = shaped({ path: is.string, trial: is.wholeFrom(0) });
const objective = shaped({ metric: is.name, mode: is.oneOf("min", "max") });
const reason = { reason: is.string };
const decision = is.or(
  shaped({ kind: is.oneOf("continue", "prune", "pause") }, reason),
  shaped({ kind: is.oneOf("exploit"), from: is.wholeFrom(0), params: is.object }, reason),
);
const stash = { stash: is.object };

const SHAPES: Readonly<Record<JournalEntry["type"], { readonly fields: Fields; readonly optional?: Fields }>> = {
  study: {
    fields: {
      version: is.wholeFrom(1),
      name: is.string,
      objectives: is.arrayOf(objective),
      seed: is.finite,
    },
    // A user's own sampler or scheduler may have no name.
    optional: { id: is.name, sampler: is.string, scheduler: is.string },
  },
  suggested: { fields: { params: is.object } },
  started: { fields: {}, optional: { resume: checkpoint } },
  report: { fields: { step: is.finite, values: numbers, decision }, optional: { checkpoint, ...stash } },
  checkpoint: { fields: { path: is.string }, optional: stash },
  completed: { fields: { result: numbers }, optional: stash },
  left: { fields: {}, optional: stash },
  resumed: { fields: {} },
  dropped: { fields: {} },
  touched: { fields: {} },
  command: {
    fields: {
      id: is.name,
      verb: is.name,
      args: is.object,
      by: is.string,
      via: is.string,
      sentAt: is.nonNegative,
      expires: is.positive,
      state: is.oneOf("applied", "refused", "expired"),
    },
    optional: { why: is.string, reason: is.string },
  },
  failed: { fields: { error: failure, retry: is.boolean }, optional: { lost: is.boolean } },
  ended: { fields: { status: is.oneOf("completed", "stopped", "interrupted", "error"), reason: is.string } },
};

/**
 * What is wrong with a line, or undefined.
 * @param above how many lines come before it
 * @param trials how many trials those suggest
 */
function wrongEntry(line: unknown, above: number, trials: number): string | undefined {
  if (!isRecord(line) || typeof line["type"] !== "string" || !Object.hasOwn(SHAPES, line["type"]))
    return above === 0 ? "it is not the header of a study" : "it is not a line of a study's journal";
  const type = line["type"] as JournalLine["type"];
  if ((type === "study") !== (above === 0))
    return above === 0 ? "the header of the study is missing" : "a second study begins here";
  const { fields, optional = {} } = SHAPES[type];
  const wrong = wrongField(line, { ...fields, at: is.nonNegative }, optional);
  if (wrong !== undefined) return `its \`${wrong}\` is not one of a line \`${type}\``;
  if (type === "study" || type === "command" || type === "ended") return undefined;
  const trial = line["trial"];
  const isKnown = type === "suggested" ? trial === trials : is.wholeFrom(0).test(trial) && (trial as number) < trials;
  return isKnown ? undefined : `there is no trial ${JSON.stringify(trial)} at this point`;
}

const NEWLINE = 10;
/** The checksum is the last field of a line. */
const SEALED = /^(.*),"crc":"([0-9a-f]{8})"\}$/s;

const checksum = (before: string, text: string): string =>
  crc32(new TextEncoder().encode(before + text))
    .toString(16)
    .padStart(8, "0");

/**
 * The text of a line, with its checksum and line break.
 * @param before the checksum of the line above; "" for the first line
 */
export function sealLine(line: JournalLine, before: string): { readonly text: string; readonly crc: string } {
  const open = stringifyExact(line).slice(0, -1);
  const crc = checksum(before, open);
  return { text: `${open},"crc":"${crc}"}\n`, crc };
}

export interface ReadLines {
  readonly lines: readonly JournalLine[];
  /** The checksum of the last line. */
  readonly crc: string;
  /** Bytes up to the last line break. The rest was being written when the controller was killed. */
  readonly length: number;
}

/** @param file for messages */
export function readLines(bytes: Uint8Array, file: string): ReadLines {
  const length = bytes.lastIndexOf(NEWLINE) + 1;
  const reader = new LineReader(file);
  for (let start = 0; start < length;) {
    const end = bytes.indexOf(NEWLINE, start);
    reader.read(bytes.subarray(start, end));
    start = end + 1;
  }
  reader.checkTail(bytes.subarray(length));
  return { lines: reader.lines, crc: reader.crc, length };
}

class LineReader {
  readonly lines: JournalLine[] = [];
  readonly #file: string;
  /** Lines of version 1 before the first line with a checksum, which covers them. */
  #unsealed = "";
  #crc = "";
  #trials = 0;

  constructor(file: string) {
    this.#file = file;
  }

  get crc(): string {
    return this.#unsealed === "" ? this.#crc : checksum("", this.#unsealed);
  }

  read(bytes: Uint8Array): void {
    const text = this.#decode(bytes);
    const sealed = SEALED.exec(text);
    if (sealed) this.#checkSeal(sealed[1]!, sealed[2]!);
    const line = this.#parse(text);
    if (!sealed) this.#acceptUnsealed(line, text);
    const wrong = wrongEntry(line, this.lines.length, this.#trials);
    if (wrong !== undefined) this.#fail(wrong);
    if (line.type === "suggested") this.#trials++;
    this.lines.push(line);
  }

  /** Checks what follows the last line break: nothing, or the beginning of a line. */
  checkTail(bytes: Uint8Array): void {
    if (this.lines.length === 0) this.#fail(bytes.length === 0 ? "the file is empty" : "it has no header of a study");
    // A file system may have grown the file before the data was written: the rest is zeros.
    const written = bytes.subarray(0, bytes.indexOf(0) === -1 ? bytes.length : bytes.indexOf(0));
    const text = new TextDecoder().decode(written);
    const isBeginning =
      '{"type":"'.startsWith(text.slice(0, 9)) && bytes.subarray(written.length).every((b) => b === 0);
    if (!isBeginning || /,"crc":"[0-9a-f]{8}"\}./s.test(text)) this.#fail("it is not the beginning of a line");
  }

  #decode(bytes: Uint8Array): string {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (cause) {
      return this.#fail("it is not text", cause);
    }
  }

  #checkSeal(open: string, crc: string): void {
    if (checksum(this.crc, open) !== crc) {
      const above = this.#unsealed === "" ? "a line before it is missing" : "a line above it was changed or is missing";
      this.#fail(`its checksum is wrong: it was changed or moved, or ${above}`);
    }
    this.#unsealed = "";
    this.#crc = crc;
  }

  #parse(text: string): JournalLine {
    try {
      return parseExact(text) as JournalLine;
    } catch (cause) {
      return this.#fail("it is not JSON", cause);
    }
  }

  #acceptUnsealed(line: JournalLine, text: string): void {
    const version = this.lines.length === 0 ? (line as { version?: unknown } | null)?.version : undefined;
    if (typeof version === "number" && version > JOURNAL_VERSION) this.#refuseNewer(version);
    const isOld = this.lines.length === 0 ? version === 1 : this.#unsealed !== "";
    if (!isOld) this.#fail(this.lines.length === 0 ? "it is not the header of a study" : "it has no checksum");
    this.#unsealed += `${text}\n`;
  }

  #refuseNewer(version: number): never {
    throw new StudyError(
      `Study: ${this.#file}:1 was written by a newer hookline (journal format ${version}; this one reads up to ${JOURNAL_VERSION}). Update hookline, or give the study another \`dir\`.`,
    );
  }

  #fail(what: string, cause?: unknown): never {
    throw new StudyError(
      `Study: ${this.#file}:${this.lines.length + 1} is damaged: ${what}. Restore the file from a copy, or give the study another \`dir\`.`,
      { cause },
    );
  }
}
