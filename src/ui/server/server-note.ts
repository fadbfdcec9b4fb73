// The note that a server leaves in its directory, so that a second `hookline ui` there finds it instead of starting
// another one. Only its user can read it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isAlive, thisProcess, type ProcessMark } from "../../runs/liveness.ts";
import { hostname } from "node:os";
import type { RunningServer } from "./server.ts";

const FOLDER = ".hookline-ui";
const pathIn = (dir: string): string => `${dir}/${FOLDER}/server.json`;

interface Note extends ProcessMark {
  readonly url: string;
  readonly token: string;
}

/** Returns what removes the note. A directory that cannot be written gets none. */
export function leaveNote(dir: string, { url, token }: RunningServer): () => void {
  const note: Note = { ...thisProcess(), url, token };
  try {
    mkdirSync(`${dir}/${FOLDER}`, { recursive: true, mode: 0o700 });
    rmSync(pathIn(dir), { force: true });
    writeFileSync(pathIn(dir), JSON.stringify(note), { flag: "wx", mode: 0o600 });
  } catch {
    return () => undefined;
  }
  return () => {
    if (readNote(dir)?.token === token) rmSync(pathIn(dir), { force: true });
  };
}

function readNote(dir: string): Note | undefined {
  try {
    return JSON.parse(readFileSync(pathIn(dir), "utf8")) as Note;
  } catch {
    return undefined;
  }
}

/** The server that shows the directory already, with a new link; undefined when there is none on this machine. */
export async function findServer(dir: string): Promise<{ readonly url: string; readonly link: string } | undefined> {
  const note = readNote(dir);
  if (!note || note.host !== hostname() || !isAlive(note)) return undefined;
  try {
    const { url, token } = note;
    const answer = await fetch(`${url}api/v1/link`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "x-hookline": "1" },
      body: "{}",
      redirect: "error",
      signal: AbortSignal.timeout(2000),
    });
    const { url: link } = (await answer.json()) as { readonly url?: unknown };
    return typeof link === "string" ? { url, link } : undefined;
  } catch {
    return undefined;
  }
}
