// hookline convert: weights from one kind of file into another.
import { convertCheckpoint, type ConvertOptions } from "../checkpoint/weights/write-weights.ts";
import { UsageError } from "./lib/exit.ts";
import { checkNewFile } from "./lib/new-file.ts";
import { print, printJson } from "./lib/output.ts";
import { shownPath } from "./lib/shown-path.ts";

interface Flags extends Pick<ConvertOptions, "dtype" | "prefix" | "key" | "overwrite"> {
  readonly averaged?: string;
  readonly raw?: boolean;
  readonly json?: boolean;
}

export async function run(from: string, to: string, flags: Flags): Promise<void> {
  const { dtype, prefix, key, overwrite, raw, averaged, json } = flags;
  if (raw && averaged !== undefined) throw new UsageError("--raw and --averaged contradict each other: give one.");
  checkNewFile(to, overwrite);
  const weights = { averaged: raw ? false : averaged, key, prefix };
  const converted = await convertCheckpoint(from, to, { ...weights, dtype, overwrite });
  if (json) return printJson(converted);
  print(`${shownPath(converted.path)}: ${converted.tensors} tensors, ${converted.bytes.toLocaleString("en-US")} bytes`);
}
