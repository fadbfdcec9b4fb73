// The events of a run, from a byte of their file on.
import { open } from "node:fs/promises";
import { constants } from "node:fs";
import { codeOf } from "../../platform/file-errors.ts";
import { FORMATS } from "../../runs/layout.ts";
import type { RunEvent } from "../../runs/types.ts";
import type { EventsAnswer } from "../wire.ts";

/** How much of a file is answered at once. The client asks again until there is nothing more. */
const MOST_BYTES = 1024 * 1024;
const NEWLINE = 10;

/** The whole lines of a file from a byte on; from its beginning when the file has become shorter than that. */
export async function textAfter(path: string, after: number): Promise<{ text: string; next: number }> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { text: "", next: 0 };
    throw error;
  }
  try {
    const { size } = await file.stat();
    const start = after > size ? 0 : after;
    const bytes = Buffer.alloc(Math.min(MOST_BYTES, size - start));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    const end = bytes.lastIndexOf(NEWLINE, bytesRead - 1) + 1;
    // A line that is longer than all of this is not one of ours.
    if (end === 0 && bytesRead === MOST_BYTES) return { text: "", next: start + bytesRead };
    return { text: bytes.toString("utf8", 0, end), next: start + end };
  } finally {
    await file.close();
  }
}

export async function eventsAfter(dir: string, after: number): Promise<EventsAnswer> {
  const { text, next } = await textAfter(`${dir}/${FORMATS.events.file}`, after);
  return { events: text.split("\n").flatMap((line) => eventIn(line) ?? []), next };
}

function eventIn(line: string): RunEvent | undefined {
  try {
    const event = JSON.parse(line) as RunEvent | null;
    return typeof event?.type === "string" ? event : undefined;
  } catch {
    return undefined;
  }
}
