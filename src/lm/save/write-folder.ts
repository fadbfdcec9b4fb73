// A folder that appears whole or not at all: it is written beside its name and renamed.
import { type Builtin, builtin } from "../../platform/builtin.ts";
import { codeOf } from "../../platform/file-errors.ts";
import { CheckpointError } from "../../core/errors.ts";
import { writeAtomically } from "../../runs/atomic-write.ts";

const OWNER = "saveModel";

/** Which files tell a folder that saveModel, PEFT or transformers has written. */
const MODEL_FILES = ["config.json", "adapter_config.json"];

export interface NewFolder {
  /** Where the files are until it is done. */
  readonly path: string;
  write(name: string, parts: string | readonly Uint8Array[]): Promise<void>;
  /** Gives the folder its name. Returns the sizes of its files. */
  finish(): Promise<Readonly<Record<string, number>>>;
  discard(): Promise<void>;
}

/** Throws if `to` has files already, unless it is a model that may be replaced; it is never the folder `base`. */
export async function newFolder(to: string, base: string | undefined, overwrite: boolean): Promise<NewFolder> {
  const fs = builtin(OWNER, "node:fs/promises");
  const { resolve } = builtin(OWNER, "node:path");
  const target = resolve(to);
  if (base !== undefined && (await isSame(fs, target, resolve(base))))
    throw new CheckpointError(to, "it is the folder of the model's own base", "Save to another folder.");
  await checkTarget(fs, target, to, overwrite);
  const path = `${target}.${crypto.randomUUID()}.tmp`;
  await fs.mkdir(path, { recursive: true });
  return {
    path,
    write: (name, parts) => writeAtomically(`${path}/${name}`, parts, OWNER),
    async finish() {
      await checkTarget(fs, target, to, overwrite);
      const old = `${path}.old`;
      const replaced = await fs.rename(target, old).then(
        () => true,
        () => false,
      );
      await fs.rename(path, target);
      if (replaced) await fs.rm(old, { recursive: true, force: true });
      const names = (await fs.readdir(target, { recursive: true })).sort();
      const all = await Promise.all(names.map(async (name) => [name, await fs.stat(`${target}/${name}`)] as const));
      return Object.fromEntries(all.flatMap(([name, stats]) => (stats.isFile() ? [[name, stats.size]] : [])));
    },
    discard: () => fs.rm(path, { recursive: true, force: true }),
  };
}

type Fs = Builtin<"node:fs/promises">;

/** Links lead to the same folder by other names. */
async function isSame(fs: Fs, a: string, b: string): Promise<boolean> {
  const real = (path: string): Promise<string> => fs.realpath(path).catch(() => path);
  return (await real(a)) === (await real(b));
}

async function checkTarget(fs: Fs, target: string, shown: string, overwrite: boolean): Promise<void> {
  const names = await fs.readdir(target).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw new CheckpointError(shown, "it is no folder", "Choose another place.", { cause: error });
  });
  if (names.length === 0) return;
  const isModel = names.some((name) => MODEL_FILES.includes(name));
  if (isModel && overwrite) return;
  throw new CheckpointError(
    shown,
    isModel ? "it has a model already" : "it has other files in it",
    isModel ? "Choose another folder, or use overwrite: true (--overwrite)." : "Choose a new folder.",
  );
}
