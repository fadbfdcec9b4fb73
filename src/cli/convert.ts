// hookline convert: weights from one kind of file into another.
import { Option } from "commander";
import { convertCheckpoint, type ConvertOptions } from "../checkpoint/weights/write-weights.ts";
import { UsageError, checkNewFile } from "./errors.ts";
import { print, printJson, shownPath } from "./output.ts";
import { type CommandDescription, jsonFlag } from "./command.ts";

export const command: CommandDescription = {
  examples: `convert runs/digits digits.safetensors
convert runs/digits/checkpoints/step-000500 digits.pt
convert pytorch_model.bin small.safetensors --dtype BF16 --prefix model.`,
  flags: (program) =>
    program
      .argument("<from>", "a run's directory, a checkpoint, a .safetensors or .pt file")
      .argument("<to>", "the new file: .safetensors, .pt, .pth, .bin or .ckpt")
      .addOption(new Option("--checkpoint <name>", "of a run: best, last, or a checkpoint's name; default: best"))
      .option("--dtype <type>", "the type of all floating-point tensors: F32, F16 or BF16")
      .option("--prefix <text>", "a prefix to remove from all names")
      .option("--averaged <name>", "which averaged weights (ema, swa), if there are several")
      .option("--raw", "the model's own weights, also if there are averaged ones")
      .option("--key <name>", "the part of a .pt file that has the weights")
      .option("--overwrite", "replace an existing file")
      .addOption(jsonFlag()),
};

interface Flags extends Pick<ConvertOptions, "dtype" | "prefix" | "key" | "overwrite" | "checkpoint"> {
  readonly averaged?: string;
  readonly raw?: boolean;
  readonly json?: boolean;
}

export async function run(from: string, to: string, flags: Flags): Promise<void> {
  const { dtype, prefix, key, overwrite, raw, averaged, json, checkpoint } = flags;
  if (raw && averaged !== undefined) throw new UsageError("--raw and --averaged contradict each other: give one.");
  checkNewFile(to, overwrite);
  const weights = { averaged: raw ? false : averaged, key, prefix, ...(checkpoint !== undefined && { checkpoint }) };
  const converted = await convertCheckpoint(from, to, { ...weights, dtype, overwrite });
  if (json) return printJson(converted);
  print(`${shownPath(converted.path)}: ${converted.tensors} tensors, ${converted.bytes.toLocaleString("en-US")} bytes`);
}
