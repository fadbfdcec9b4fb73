// Where compiled programs are kept between processes, how much room they take, and how the oldest are removed.
import { builtin } from "../../../platform/builtin.ts";

const OWNER = 'Engine "xla"';

/** What the programs of a machine may take: a few thousand small ones, or some hundred of large models. */
const MOST_BYTES = 2 ** 30;
/** A file that is still being written is younger than this; an older one was left by a process that was killed. */
const ABANDONED_MS = 3_600_000;
const ENTRY = /^[\da-f]{64}\.program$/;
const UNFINISHED = /^[\da-f]{64}\.program\..*\.tmp$/;

type Environment = Readonly<Record<string, string | undefined>>;

/** `HOOKLINE_CACHE`, else the user's cache directory by XDG's rules. */
export function cacheFolder(env: Environment = process.env): string {
  const { join, resolve } = builtin(OWNER, "node:path");
  if (env.HOOKLINE_CACHE) return join(resolve(env.HOOKLINE_CACHE), "xla");
  const root = env.XDG_CACHE_HOME || join(builtin(OWNER, "node:os").homedir(), ".cache");
  return join(root, "hookline", "xla");
}

export const entryFile = (folder: string, key: string): string =>
  builtin(OWNER, "node:path").join(folder, `${key}.program`);

interface CachedFile {
  readonly path: string;
  readonly bytes: number;
  /** When it was last written or used. */
  readonly usedAt: number;
}

export interface CacheContents {
  readonly programs: number;
  readonly bytes: number;
}

export async function cacheContents(folder: string): Promise<CacheContents> {
  const files = await filesIn(folder, ENTRY);
  return { programs: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Removes every program, and returns what there was. Files of others in the folder stay. */
export async function clearCache(folder: string): Promise<CacheContents> {
  const contents = await cacheContents(folder);
  for (const { path } of [...(await filesIn(folder, ENTRY)), ...(await filesIn(folder, UNFINISHED))])
    await remove(path);
  return contents;
}

/** Removes what was unused for longest until the rest fits. Another process may do the same: a file that is gone is fine. */
export async function limitCache(folder: string, mostBytes = MOST_BYTES): Promise<void> {
  for (const { path, usedAt } of await filesIn(folder, UNFINISHED)) {
    if (Date.now() - usedAt > ABANDONED_MS) await remove(path);
  }
  const files = (await filesIn(folder, ENTRY)).sort((a, b) => a.usedAt - b.usedAt);
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { path, bytes } of files) {
    if (total <= mostBytes) return;
    await remove(path);
    total -= bytes;
  }
}

const remove = (path: string): Promise<void> => builtin(OWNER, "node:fs/promises").rm(path, { force: true });

/** None if there is no such folder. */
async function filesIn(folder: string, pattern: RegExp): Promise<CachedFile[]> {
  const { readdir, stat } = builtin(OWNER, "node:fs/promises");
  const { join } = builtin(OWNER, "node:path");
  const names = await readdir(folder).catch(() => []);
  const found = names
    .filter((name) => pattern.test(name))
    .map(async (name): Promise<CachedFile[]> => {
      const path = join(folder, name);
      // Another process may have removed it since.
      const stats = await stat(path).catch(() => undefined);
      return stats?.isFile() ? [{ path, bytes: stats.size, usedAt: stats.mtimeMs }] : [];
    });
  return (await Promise.all(found)).flat();
}
