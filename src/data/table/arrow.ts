// Arrow and Feather, through apache-arrow: one record batch at a time.
import { DataError, HooklineError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { optionalPackage } from "../../platform/optional-package.ts";
import type { ColumnType } from "./column.ts";
import type { OpenFile, Parts } from "./file.ts";
import type { ReadSettings } from "./schema.ts";
import type { Table } from "./table.ts";
import { type Batch, batchTables, chosenColumns, type FileColumn } from "./typed-batches.ts";

/** The part of apache-arrow in use. Declared here, since its own types are missing where it is not installed. */
interface Arrow {
  readonly RecordBatchReader: { from(source: AsyncIterable<Uint8Array> | FileHandle): Promise<Reader> };
  readonly DataType: Readonly<
    Record<
      "isBool" | "isDate" | "isTimestamp" | "isInt" | "isFloat" | "isUtf8" | "isLargeUtf8" | "isDictionary",
      (type: ArrowType) => boolean
    >
  >;
}

interface FileHandle {
  readonly fd: number;
  stat(): Promise<{ readonly size: number }>;
  read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number; buffer: Uint8Array }>;
  close(): Promise<void>;
}

interface ArrowType {
  toString(): string;
  readonly dictionary?: ArrowType;
}

interface Reader extends AsyncIterable<RecordBatch> {
  open(): Promise<unknown>;
  readonly schema: { readonly fields: readonly { readonly name: string; readonly type: ArrowType }[] };
}

interface RecordBatch {
  readonly numRows: number;
  getChild(name: string): { get(row: number): unknown } | null;
}

export async function* arrowTables(file: OpenFile, settings: ReadSettings): AsyncGenerator<Table> {
  const arrow = await optionalPackage<Arrow>("readTable of Arrow", "apache-arrow");
  const parts = await file.parts?.();
  try {
    const reader = await openReader(arrow, file, parts);
    await reader.open();
    const fields = reader.schema?.fields ?? [];
    if (fields.length === 0) throw new Error("it has no schema");
    const columns = chosenColumns(
      fields.map(({ name, type }): FileColumn => ({
        name,
        type: typeOf(arrow, type),
        fileType: `of type ${type.toString()}`,
      })),
      settings,
    );
    yield* batchTables(recordBatches(), columns, settings);

    async function* recordBatches(): AsyncGenerator<Batch> {
      for await (const batch of reader) {
        yield {
          rows: batch.numRows,
          fill(set) {
            for (const [name, type] of columns) {
              const values = batch.getChild(name)!;
              // Dates are milliseconds since 1970.
              const asDate = type === "date" || isDate(arrow, fields.find((field) => field.name === name)!.type);
              for (let row = 0; row < batch.numRows; row++) {
                const value = values.get(row);
                set(name, row, asDate && typeof value === "number" ? new Date(value) : value);
              }
            }
          },
        };
      }
    }
  } catch (cause) {
    if (cause instanceof HooklineError || cause instanceof RangeError) throw cause;
    const message = messageOf(cause);
    const why = message.includes("codec")
      ? "it is compressed. Write it without compression, or give apache-arrow a codec (compressionRegistry)"
      : message;
    throw new DataError(`${file.name} cannot be read as Arrow: ${why}.`, { cause });
  } finally {
    await parts?.close();
  }
}

/** ARROW1 */
const MAGIC = [65, 82, 82, 79, 87, 49];

/** A stream is read as it arrives. The directory of a file is at its end, so that it is read in parts. */
async function openReader({ RecordBatchReader }: Arrow, file: OpenFile, parts: Parts | undefined): Promise<Reader> {
  const head = await parts?.slice(0, Math.min(MAGIC.length, parts.byteLength));
  if (parts && isMagic(new Uint8Array(head!))) return RecordBatchReader.from(asHandle(parts));
  return RecordBatchReader.from(file.blocks());
}

const isMagic = (head: Uint8Array): boolean => MAGIC.every((byte, i) => head[i] === byte);

/** What apache-arrow takes for a file that is open in Node. */
function asHandle(parts: Parts): FileHandle {
  return {
    fd: -1,
    stat: async () => ({ size: parts.byteLength }),
    async read(buffer, offset, length, position) {
      const bytes = new Uint8Array(await parts.slice(position, position + length));
      buffer.set(bytes, offset);
      return { bytesRead: bytes.length, buffer };
    },
    // Closed by its owner, whether the reader comes to its end or not.
    close: async () => {},
  };
}

const isDate = ({ DataType }: Arrow, type: ArrowType): boolean => DataType.isDate(type) || DataType.isTimestamp(type);

function typeOf(arrow: Arrow, type: ArrowType): ColumnType | undefined {
  const { DataType } = arrow;
  if (DataType.isDictionary(type)) return typeOf(arrow, type.dictionary!);
  if (isDate(arrow, type)) return "date";
  if (DataType.isBool(type)) return "boolean";
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return "string";
  return DataType.isInt(type) || DataType.isFloat(type) ? "number" : undefined;
}
