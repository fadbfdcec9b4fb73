// JSON lines: an object on each line.
import { DataError } from "../../core/errors.ts";
import { is } from "../../core/options.ts";
import type { ColumnType } from "./column.ts";
import { dateOf } from "./dates.ts";
import { checkDeclared, DECLARE_IT, plannedType, type ReadSettings } from "./schema.ts";
import { Table } from "./table.ts";
import { typeOfValue, ValueColumn } from "./values.ts";

interface Line {
  readonly number: number;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Tables of up to `chunkRows` rows; at least one. */
export async function* jsonLineTables(
  blocks: AsyncIterable<Uint8Array>,
  settings: ReadSettings,
): AsyncGenerator<Table> {
  const lines = jsonLines(blocks, settings.source);
  const head: Line[] = [];
  try {
    let ended = false;
    while (head.length < settings.inferRows && !ended) {
      const { value, done } = await lines.next();
      if (done) ended = true;
      else head.push(value);
    }
    if (head.length === 0) throw new DataError(`${settings.source} is empty: it has no lines.`);
    const builder = new JsonTable(typesOf(head, settings), settings);
    let tables = 0;
    for await (const line of joined(head, lines)) {
      builder.add(line);
      if (builder.rowCount < settings.chunkRows) continue;
      yield builder.finish();
      tables++;
    }
    if (builder.rowCount > 0 || tables === 0) yield builder.finish();
  } finally {
    await lines.return(undefined);
  }
}

async function* joined(head: readonly Line[], rest: AsyncGenerator<Line>): AsyncGenerator<Line> {
  yield* head;
  yield* rest;
}

async function* jsonLines(blocks: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<Line> {
  let number = 0;
  for await (const texts of textLines(blocks, source)) {
    for (const text of texts) {
      number++;
      if (text.trim() === "") continue;
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (cause) {
        throw new DataError(`${source}:${number}: this line is not JSON: ${(cause as Error).message}`, { cause });
      }
      if (!is.object.test(value))
        throw new DataError(`${source}:${number}: expected an object such as {"age": 31} on each line.`);
      yield { number, value: value as Line["value"] };
    }
  }
}

/** Lines as they arrive, several at a time. */
export async function* textLines(blocks: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<string[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  // An incomplete line in parts: joining it with each block would be quadratic in its length.
  let rest: string[] = [];
  const decode = (block?: Uint8Array): string => {
    try {
      return block ? decoder.decode(block, { stream: true }) : decoder.decode();
    } catch (cause) {
      throw new DataError(`${source} is not UTF-8. Give the file's \`encoding\`, such as "windows-1252".`, { cause });
    }
  };
  for await (const block of blocks) {
    const lines = decode(block).split("\n");
    const last = lines.pop()!;
    if (lines.length === 0) rest.push(last);
    else {
      lines[0] = rest.join("") + lines[0]!;
      rest = [last];
      yield lines;
    }
  }
  yield [rest.join("") + decode()];
}

interface Typed {
  readonly name: string;
  readonly type: ColumnType;
  readonly inferred: boolean;
  /** Any value, as text. */
  readonly asText: boolean;
}

/** The columns: all keys of the first lines that are not left out. */
function typesOf(head: readonly Line[], settings: ReadSettings): readonly Typed[] {
  const names = [...new Set(head.flatMap(({ value }) => Object.keys(value)))];
  checkDeclared(names, settings);
  return names.flatMap((name): Typed[] => {
    const type = plannedType(name, settings);
    if (type === "skip") return [];
    const [isInferred, asText] = [type === "infer", !Object.hasOwn(settings.columns, name) && type === "string"];
    return [{ name, type: type === "infer" ? inferred(name, head) : type, inferred: isInferred, asText }];
  });
}

/** By the first value; texts that are all dates are dates. A value of another type is an error when it is read. */
function inferred(name: string, head: readonly Line[]): ColumnType {
  const values = head
    .map(({ value }) => (Object.hasOwn(value, name) ? value[name] : null))
    .filter((value) => value !== null);
  const type = typeOfValue(values[0]);
  if (type !== "string") return type ?? "number";
  return values.every((value) => typeof value === "string" && !Number.isNaN(dateOf(value))) ? "date" : "string";
}

/** Lines, collected into a table. */
class JsonTable {
  rowCount = 0;
  readonly #settings: ReadSettings;
  readonly #typed: readonly Typed[];
  readonly #names: ReadonlySet<string>;
  #columns: readonly ValueColumn[] = [];
  #lines: number[] = [];

  constructor(typed: readonly Typed[], settings: ReadSettings) {
    this.#settings = settings;
    this.#typed = typed;
    this.#names = new Set(typed.map(({ name }) => name));
    this.#start();
  }

  #start(): void {
    const { source, inferRows, chunkRows } = this.#settings;
    this.rowCount = 0;
    this.#lines = [];
    this.#columns = this.#typed.map(({ name, type, inferred: isInferred }) => {
      const what = (row: number): string => `${source}:${this.#lines[row]}: \`${name}\``;
      const capacity = Math.min(chunkRows, 1024);
      return new ValueColumn(type, capacity, what, isInferred ? DECLARE_IT(name, inferRows) : "");
    });
  }

  add({ number, value }: Line): void {
    const row = this.rowCount++;
    this.#lines.push(number);
    for (const [i, { name, asText }] of this.#typed.entries()) {
      const cell = Object.hasOwn(value, name) ? value[name] : null;
      const isText = cell === null || typeof cell === "string";
      this.#columns[i]!.set(row, asText && !isText ? JSON.stringify(cell) : cell);
    }
    if (this.#settings.rest === "skip") return;
    const unknown = Object.keys(value).find((key) => !this.#names.has(key));
    if (unknown === undefined) return;
    const { source, inferRows } = this.#settings;
    throw new DataError(
      `${source}:${number}: \`${unknown}\` is in none of the first ${inferRows} lines, which say what the columns are. Declare the columns and leave others out: columns: { … }, rest: "skip".`,
    );
  }

  finish(): Table {
    const columns = this.#columns.map((column, i) => [this.#typed[i]!.name, column.finish(this.rowCount)] as const);
    const table = Table.fromColumns(
      Object.fromEntries(columns),
      {},
      this.#settings.source,
      Uint32Array.from(this.#lines),
    );
    this.#start();
    return table;
  }
}
