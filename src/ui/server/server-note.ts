// The note that a server leaves in its directory, so that a second `hookline ui` there finds it instead of starting
// another one. Only its user can read it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isAlive, thisProcess, type ProcessMark } from "../../runs/liveness.ts";
import { hostname, networkInterfaces } from "node:os";
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

/** A directory that came from elsewhere may have a note that leads elsewhere. */
function isOfThisMachine(url: unknown): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { protocol, hostname: name } = new URL(url);
  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  const names = ["localhost", "127.0.0.1", "::1", "0.0.0.0", "::", hostname(), ...addresses];
  return protocol === "http:" && names.includes(name.replace(/^\[|\]$/g, ""));
}

/** The server that shows the directory already, with a new link; undefined when there is none on this machine. */
export async function findServer(dir: string): Promise<{ readonly url: string; readonly link: string } | undefined> {
  const note = readNote(dir);
  if (!note || note.host !== hostname() || !isAlive(note) || !isOfThisMachine(note.url)) return undefined;
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
    return typeof link === "string" && new URL(link).origin === new URL(url).origin ? { url, link } : undefined;
  } catch {
    return undefined;
  }
}
