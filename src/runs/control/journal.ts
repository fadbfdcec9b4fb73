// control.jsonl: what became of every command. A line is on the disk before its command is carried out, so that a run that
// is killed and resumed does the same again.
import { guardedLog } from "../../platform/file-errors.ts";
import { Fence } from "../fence.ts";
import { LinesFromEnd, setAside } from "../files.ts";
import { FORMATS } from "../layout.ts";
import type { LockMark } from "../../core/saving.ts";
import { type Fs, journalFile, nodeFs } from "./control-files.ts";
import type { JournalLine, PartLine } from "./types.ts";

export type ControlLine = JournalLine | PartLine;

interface Header {
  readonly schema: string;
  readonly version: number;
  readonly run: string;
  readonly startedAt: number;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed = JSON.parse(line) as unknown;
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const isLine = (parsed: Readonly<Record<string, unknown>>): boolean =>
  parsed["state"] === "part"
    ? typeof parsed["part"] === "number"
    : typeof parsed["id"] === "string" && "state" in parsed;

/** The whole lines of a journal, oldest first; one that was being written when the process was killed is left out. */
export function readRecords(path: string): Readonly<Record<string, unknown>>[] {
  const fs = nodeFs();
  return guardedLog(path, () => {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
    if (!fs.existsSync(path)) return [];
    const fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const text = fs.readFileSync(fd, "utf8");
      const whole = text.slice(0, text.lastIndexOf("\n") + 1);
      return whole
        .split("\n")
        .map(parse)
        .filter((line) => line !== undefined);
    } finally {
      fs.closeSync(fd);
    }
  });
}

/** The lines of the journal at this path, and whose they are; none where there is no such file. */
export function readJournal(path: string): { readonly run: string | undefined; readonly lines: ControlLine[] } {
  const parsed = readRecords(path);
  const header = parsed[0]?.["schema"] === FORMATS.control.schema ? (parsed[0] as unknown as Header) : undefined;
  return { run: header?.run, lines: parsed.filter(isLine) as unknown as ControlLine[] };
}

/** The journal of a run, open for appending. */
export class ControlJournal {
  /** What was there when it was opened. */
  readonly lines: readonly ControlLine[];
  readonly #fs: Fs = nodeFs();
  readonly #path: string;
  readonly #fence: Fence | undefined;
  #fd: number | undefined;

  /** The journal of another run is renamed. `lock` is that of the run's directory. */
  constructor(dir: string, run: string, startedAt: number, lock?: LockMark) {
    this.#path = journalFile(dir);
    this.#fence = lock && new Fence(lock);
    const found = readJournal(this.#path);
    const isSame = found.run === run;
    if (!isSame) setAside(this.#fs, this.#path);
    this.lines = isSame ? found.lines : [];
    this.#fd = guardedLog(this.#path, () => this.#open());
    const { schema, version } = FORMATS.control;
    if (!isSame) this.#write({ schema, version, run, startedAt });
  }

  /** Durable when it returns. */
  append(line: ControlLine): void {
    this.#write(line);
  }

  close(): void {
    if (this.#fd !== undefined) this.#fs.closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Truncates a line without its end, which was never acted upon. */
  #open(): number {
    const fs = this.#fs;
    const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = fs.constants;
    const fd = fs.openSync(this.#path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o644);
    const { size } = fs.fstatSync(fd);
    const lines = new LinesFromEnd(fs, fd, size);
    if (size > 0 && !lines.endsInNewline(size)) fs.ftruncateSync(fd, lines.startOf(size));
    return fd;
  }

  #write(line: ControlLine | Header): void {
    this.#fence?.check();
    guardedLog(this.#path, () => {
      const fs = this.#fs;
      const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
      for (let done = 0; done < bytes.length;) done += fs.writeSync(this.#fd!, bytes, done);
      fs.fdatasyncSync(this.#fd!);
    });
  }
}

/**
 * The commands that were applied, in the order of the run's history: what a part repeated stands once, and what a part
 * that began earlier without repeating it left behind is gone.
 */
export function appliedHistory(lines: readonly ControlLine[]): JournalLine[] {
  let done: JournalLine[] = [];
  let pending: JournalLine[] = [];
  for (const line of lines) {
    if (line.state === "part") {
      const all = [...done, ...pending];
      const last = all.findIndex(({ id }) => id === line.after);
      done = all.slice(0, last + 1);
      // Where the checkpoint names a command that is not here, nobody knows what comes after it.
      pending = line.replay && (line.after === null || last >= 0) ? all.slice(last + 1) : [];
    } else if (line.state === "applied") {
      const { replayOf = line.id } = line;
      pending = pending.filter(({ id }) => id !== replayOf);
      done.push(line);
      // The run refused it after all.
    } else if (line.state === "refused") done = done.filter(({ id }) => id !== line.id);
  }
  return [...done, ...pending];
}
