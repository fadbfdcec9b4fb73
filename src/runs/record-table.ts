// The records of a log as columns of numbers, taken line by line.
import { Columns } from "./columns.ts";
import { numberFromJson } from "./exact-json.ts";
import { parseLine } from "./follow.ts";
import { isHeader } from "./log-lines.ts";
import { LineScanner } from "./scan-line.ts";

export class RecordTable {
  readonly columns: Columns = new Columns();
  readonly #scanner = new LineScanner(this.columns);
  readonly #path: string;
  /** How many lines are neither records nor headers. */
  problems = 0;

  /** @param path of the log, for messages */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The bytes of a line without its newline, which must follow them. Returns the parsed line if it has more than numbers:
   * texts or images.
   */
  take(bytes: Buffer, from: number, to: number): Readonly<Record<string, unknown>> | undefined {
    if (to === from || this.#scanner.scan(bytes, from, to)) return undefined;
    const parsed = parseLine(bytes, from, to);
    if (parsed && this.#takeOther(parsed)) return parsed;
    this.problems++;
    return undefined;
  }

  /** A record of another shape than our writer's plain ones, or a header. */
  #takeOther(parsed: Readonly<Record<string, unknown>>): boolean {
    if (typeof parsed["schema"] === "string") return isHeader(this.#path, parsed);
    let count = 0;
    for (const [key, value] of Object.entries(parsed)) {
      const number = numberFromJson(value);
      if (number !== undefined) this.columns.note(count++, this.columns.place(key), number);
    }
    return this.columns.commit(count);
  }
}
