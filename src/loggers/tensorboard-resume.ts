// A run goes on: earlier parts lose their end, since TensorBoard believes the first that it reads, and would call a run failed
// or over that has been taken up again.
import { builtin } from "../platform/builtin.ts";
import type { Warn } from "./backend.ts";
import { lastRecord } from "./formats/record.ts";
import { SESSION_END } from "./tensorboard-hparams.ts";

type FsPromises = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;
type FileHandle = Awaited<ReturnType<FsPromises["open"]>>;
type Path = ReturnType<typeof process.getBuiltinModule<"node:path">>;

/** An end is the last record of its file, and shorter than this. */
const LONGEST_END = 256;

export async function dropSessionEnds(owner: string, folder: string, warn: Warn): Promise<void> {
  const fs = builtin<FsPromises>(owner, "node:fs/promises");
  const { join } = builtin<Path>(owner, "node:path");
  const entries = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const { name } of entries.filter((entry) => entry.isFile() && entry.name.includes("tfevents"))) {
    const path = join(folder, name);
    try {
      const file = await fs.open(path, "r+");
      await dropEnd(file).finally(() => file.close());
    } catch (error) {
      warn(
        `${path} says how the run ended before it went on, and could not be changed: ${(error as Error).message}. TensorBoard's HPARAMS may show that status.`,
      );
    }
  }
}

async function dropEnd(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  const tail = new Uint8Array(Math.min(size, LONGEST_END));
  const start = size - tail.length;
  await file.read(tail, 0, tail.length, start);
  const at = lastRecord(tail);
  if (at === undefined || !new TextDecoder("latin1").decode(tail.subarray(at)).includes(SESSION_END)) return;
  await file.truncate(start + at);
}
