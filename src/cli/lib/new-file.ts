// A file that a command is told to write: never over another one unasked.
import { existsSync } from "node:fs";
import { UsageError } from "./exit.ts";

export function checkNewFile(path: string, overwrite = false): void {
  if (!overwrite && existsSync(path))
    throw new UsageError(`${path} is there already. Choose another name, or use --overwrite.`);
}
