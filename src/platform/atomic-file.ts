// Replaces a small file as a whole: a reader finds the old content or the new, never half of it.
import { builtin } from "./builtin.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;
type Path = ReturnType<typeof process.getBuiltinModule<"node:path">>;

/** Writes beside the file, then renames. Makes the folder if there is none. */
export async function writeAtomically(owner: string, file: string, text: string): Promise<void> {
  const fs = builtin<Fs>(owner, "node:fs/promises");
  const { dirname } = builtin<Path>(owner, "node:path");
  const beside = `${file}.${crypto.randomUUID()}.tmp`;
  try {
    await fs.mkdir(dirname(file), { recursive: true });
    await fs.writeFile(beside, text);
    await fs.rename(beside, file);
  } catch (error) {
    await fs.rm(beside, { force: true });
    throw error;
  }
}
