// A new run in the folder of another one: TensorBoard takes all event files of a folder for one run.
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/error-code.ts";

type FsPromises = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;

/** Moves the other run's event files to `<folder>.1`, or the first number that is free. */
export async function setEventFilesAside(owner: string, folder: string): Promise<void> {
  const fs = builtin<FsPromises>(owner, "node:fs/promises");
  const entries = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && entry.name.includes("tfevents"));
  if (files.length === 0) return;
  const aside = await newFolder(fs, folder);
  for (const { name } of files) await fs.rename(`${folder}/${name}`, `${aside}/${name}`);
}

async function newFolder(fs: FsPromises, folder: string): Promise<string> {
  for (let n = 1; ; n++) {
    const free = `${folder.replace(/[/\\]+$/, "")}.${n}`;
    try {
      await fs.mkdir(free);
      return free;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
}
