// hookline/data: tables and their preprocessing; loaders over arrays, data sets and streams.
import "../core/ambient.ts";
export type { Arrays, DataSource, FieldValue, Sample } from "./source.ts";
export { DataLoader, type DataLoaderOptions } from "./data-loader.ts";
export { type Dataset } from "./indexed.ts";
export { type MixOptions, type MixStrategy } from "./mix.ts";
export { Rng } from "./random.ts";
export * from "./preprocess/index.ts";
export { split } from "./split.ts";
export { type StreamFactory } from "./stream.ts";
export type { Cell, Column, ColumnType, Schema } from "./table/column.ts";
export { type ColumnInput, Table } from "./table/table.ts";
export type { ByteStream, TableFile } from "./table/file.ts";
export type { ReadChunksOptions, ReadTableOptions, TableFormat } from "./table/read-options.ts";
export { readChunks, readTable } from "./table/read-table.ts";
export { workerLoader, type WorkerLoaderOptions } from "./worker-loader.ts";
export { type ArrayInput, type HostArray } from "../core/arrays.ts";
export type { HostBatch, Loader, LoaderState, Share } from "../core/model.ts";
