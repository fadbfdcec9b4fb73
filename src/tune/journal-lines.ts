// The text of a study's journal: one JSON object per line, each with a checksum that covers the line and, through the
// checksum before it, everything above. So a line that was changed, removed, repeated or moved is found where it is.
import { parseExact, stringifyExact } from "../runs/exact-json.ts";
import { crc32 } from "../platform/crc32.ts";
import { wrongEntry } from "./journal-check.ts";
import type { JournalLine } from "./journal-entry.ts";
import { StudyError } from "./study-error.ts";

/** Version 1, up to hookline 0.1.0, had no checksums and no id. Such journals are continued with checksums. */
export const JOURNAL_VERSION = 2;

const NEWLINE = 10;
/** The last field of a line. */
const SEAL = /^(.*),"crc":"([0-9a-f]{8})"\}$/s;

const checksum = (before: string, text: string): string =>
  crc32(new TextEncoder().encode(before + text))
    .toString(16)
    .padStart(8, "0");

export interface SealedLine {
  /** With its line break. */
  readonly text: string;
  readonly crc: string;
}

/** @param before the checksum of the line above; "" for the first line */
export function sealLine(line: JournalLine, before: string): SealedLine {
  const open = stringifyExact(line).slice(0, -1);
  const crc = checksum(before, open);
  return { text: `${open},"crc":"${crc}"}\n`, crc };
}

export interface ReadLines {
  readonly lines: readonly JournalLine[];
  /** Of the last line, for the one that comes next. */
  readonly crc: string;
  /** Bytes up to the last line break. Anything after it was being written when the controller was killed. */
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
  /** Of version 1, before the first line with a checksum: covered by that one. */
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
    const sealed = SEAL.exec(text);
    if (sealed) this.#checkSeal(sealed[1]!, sealed[2]!);
    const line = this.#parse(text);
    if (!sealed) this.#acceptUnsealed(line, text);
    const wrong = wrongEntry(line, this.lines.length, this.#trials);
    if (wrong !== undefined) this.#fail(wrong);
    if (line.type === "suggested") this.#trials++;
    this.lines.push(line);
  }

  /** What follows the last line break: nothing, or the beginning of a line. */
  checkTail(bytes: Uint8Array): void {
    if (this.lines.length === 0) this.#fail(bytes.length === 0 ? "the file is empty" : "it has no header of a study");
    // A file system may have grown the file and not yet written to it.
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
