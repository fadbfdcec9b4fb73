// The files of live control in a directory: names, and reading them without following links or reading what is too large.
import { type Builtin, builtin } from "../../platform/builtin.ts";
import { codeOf } from "../../platform/file-errors.ts";
import { FORMATS } from "../layout.ts";
import { readRange } from "../files.ts";

export type Fs = Builtin<"node:fs">;
export const nodeFs = (): Fs => builtin("Live control", "node:fs");

/** Bytes of a command at most, and commands that may wait. */
export const MOST_BYTES = 16 * 1024;
export const MOST_WAITING = 100;

export const controlDirectory = (dir: string): string => `${dir}/control`;
export const inboxDirectory = (dir: string): string => `${controlDirectory(dir)}/inbox`;
export const helloFile = (dir: string): string => `${controlDirectory(dir)}/hello.json`;
/** Touched by a dashboard that shows the run. */
export const watchFile = (dir: string): string => `${controlDirectory(dir)}/watch`;
export const journalFile = (dir: string): string => `${dir}/${FORMATS.control.file}`;

/** `<ms>-<id>.json`; `.taken` once the run has begun to carry it out, so that it can no longer be cancelled. */
const NAME = /^(\d{13})-([0-9A-Za-z-]{8,64})\.(json|taken)$/;

export interface InboxName {
  readonly name: string;
  readonly id: string;
  readonly isTaken: boolean;
}

export const inboxName = (ms: number, id: string): string => `${String(ms).padStart(13, "0")}-${id}.json`;

/** The commands in an inbox in the order of their names, which is that of sending. Other files are left out. */
export function listInbox(fs: Fs, dir: string): InboxName[] {
  let names: string[];
  try {
    names = fs.readdirSync(inboxDirectory(dir));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return [];
    throw error;
  }
  return names.sort().flatMap((name) => {
    const found = NAME.exec(name);
    return found ? [{ name, id: found[2]!, isTaken: found[3] === "taken" }] : [];
  });
}

/** The JSON in a small plain file; undefined where there is none. Throws on links, on large files and on other text. */
export function readSmallJson(fs: Fs, path: string, mostBytes = MOST_BYTES): unknown {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  let fd: number;
  try {
    fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new Error(codeOf(error) === "ELOOP" ? "it is a link" : (error as Error).message, { cause: error });
  }
  try {
    const found = fs.fstatSync(fd);
    if (!found.isFile()) throw new Error("it is not a plain file");
    if (found.size > mostBytes) throw new Error(`it has ${found.size} bytes, more than ${mostBytes}`);
    return JSON.parse(new TextDecoder().decode(readRange(fs, fd, 0, found.size)));
  } finally {
    fs.closeSync(fd);
  }
}

/** Writes a file as a whole: a reader finds the old content, the new one or none. Not synced: it is of no use after a crash. */
export function putFile(fs: Fs, path: string, text: string): void {
  const beside = `${path}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  fs.writeFileSync(beside, text, { flag: "wx", mode: 0o600 });
  try {
    fs.renameSync(beside, path);
  } catch (error) {
    fs.rmSync(beside, { force: true });
    throw error;
  }
}
