// Parquet, through hyparquet: one row group at a time, and of it only the columns that are read.
import { DataError, HooklineError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { optionalPackage } from "../../platform/optional-package.ts";
import type { ColumnType } from "./column.ts";
import { type OpenFile, type Parts, partsOf } from "./file.ts";
import type { ReadSettings } from "./schema.ts";
import type { Table } from "./table.ts";
import { type Batch, batchTables, chosenColumns, type FileColumn } from "./typed-batches.ts";

/** The part of hyparquet in use. Declared here, since its own types are missing where it is not installed. */
interface Hyparquet {
  parquetMetadataAsync(file: Parts): Promise<Metadata>;
  parquetSchema(metadata: Metadata): { readonly children: readonly SchemaNode[] };
  parquetRead(options: {
    readonly file: Parts;
    readonly metadata: Metadata;
    readonly columns: string[];
    readonly rowStart: number;
    readonly rowEnd: number;
    readonly compressors?: object;
    onChunk(chunk: { columnName: string; columnData: ArrayLike<unknown>; rowStart: number }): void;
  }): Promise<void>;
}

interface Metadata {
  readonly row_groups: readonly {
    readonly num_rows: bigint;
    readonly columns: readonly { readonly meta_data?: { readonly codec: string } }[];
  }[];
}

interface SchemaNode {
  readonly children: readonly SchemaNode[];
  readonly element: {
    readonly name: string;
    readonly type?: string;
    readonly repetition_type?: string;
    readonly converted_type?: string;
    readonly logical_type?: { readonly type: string };
  };
}

export async function* parquetTables(file: OpenFile, settings: ReadSettings): AsyncGenerator<Table> {
  const hyparquet = await optionalPackage<Hyparquet>("readTable of Parquet", "hyparquet");
  const parts = await (file.parts ? file.parts() : inMemory(file));
  try {
    const metadata = await hyparquet.parquetMetadataAsync(parts);
    const columns = chosenColumns(hyparquet.parquetSchema(metadata).children.map(columnOf), settings);
    const compressors = await compressorsFor(metadata);
    yield* batchTables(rowGroups(), columns, settings);

    async function* rowGroups(): AsyncGenerator<Batch> {
      let rowStart = 0;
      for (const group of metadata.row_groups) {
        const rows = Number(group.num_rows);
        const first = rowStart;
        rowStart += rows;
        yield {
          rows,
          async fill(set) {
            let failure: unknown;
            await hyparquet.parquetRead({
              file: parts,
              metadata,
              columns: [...columns.keys()],
              rowStart: first,
              rowEnd: first + rows,
              ...(compressors && { compressors }),
              // hyparquet drops what is thrown here.
              onChunk({ columnName, columnData, rowStart: at }) {
                try {
                  for (let i = 0; i < columnData.length; i++) set(columnName, at - first + i, columnData[i]);
                } catch (cause) {
                  failure ??= cause;
                }
              },
            });
            if (failure !== undefined) throw failure;
          },
        };
      }
    }
  } catch (cause) {
    if (cause instanceof HooklineError || cause instanceof RangeError) throw cause;
    throw new DataError(`${file.name} cannot be read as Parquet: ${messageOf(cause)}.`, { cause });
  } finally {
    await parts.close();
  }
}

/** The directory of a Parquet file is at its end, so that a stream must be read to it. */
async function inMemory(file: OpenFile): Promise<Parts> {
  const blocks: Uint8Array<ArrayBuffer>[] = [];
  for await (const block of file.blocks()) blocks.push(block as Uint8Array<ArrayBuffer>);
  return partsOf(new Blob(blocks));
}

/** hyparquet itself knows snappy, which pyarrow writes; Polars writes zstd. */
async function compressorsFor(metadata: Metadata): Promise<object | undefined> {
  const codecs = metadata.row_groups.flatMap(({ columns }) => columns.map((each) => each.meta_data?.codec));
  const other = codecs.find((codec) => codec !== undefined && codec !== "SNAPPY" && codec !== "UNCOMPRESSED");
  if (other === undefined) return undefined;
  const owner = `readTable of Parquet that is compressed with ${other}`;
  return (await optionalPackage<{ compressors: object }>(owner, "hyparquet-compressors")).compressors;
}

function columnOf({ children, element }: SchemaNode): FileColumn {
  const { name, type = "", repetition_type: repetition, converted_type: converted, logical_type: logical } = element;
  const isFlat = children.length === 0 && repetition !== "REPEATED";
  const fileType = isFlat ? `of type ${logical?.type ?? converted ?? type}` : "a list or a structure";
  return { name, fileType, type: isFlat ? typeOf(type, logical?.type ?? converted ?? "") : undefined };
}

/** The type of a table's column, by the physical type and the meaning. */
function typeOf(type: string, meaning: string): ColumnType | undefined {
  if (/^(?:DATE|TIMESTAMP)/.test(meaning) || type === "INT96") return "date";
  if (type === "BOOLEAN") return "boolean";
  if (/^(?:STRING|UTF8|ENUM|UUID)$/.test(meaning)) return "string";
  if (meaning === "DECIMAL" || meaning === "FLOAT16") return "number";
  if (/^(?:TIME|INTERVAL|JSON|BSON)/.test(meaning)) return undefined;
  return /^(?:INT32|INT64|FLOAT|DOUBLE)$/.test(type) ? "number" : undefined;
}
