// Starts train-child.ts and reads its notes as they come.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ChildOptions, Note } from "./train-child.ts";

const script = fileURLToPath(new URL("./train-child.ts", import.meta.url));

export interface Child {
  /** The next note of that kind; notes of other kinds before it are kept in `notes` only. */
  until(note: Note["note"]): Promise<Note>;
  readonly notes: readonly Note[];
  /** Sends a signal and returns the time. */
  signal(name: "SIGINT" | "SIGTERM" | "SIGKILL"): number;
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null; readonly at: number }>;
}

export function startChild(options: ChildOptions): Child {
  const child = spawn(process.execPath, ["--import", "tsx", script, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const notes: Note[] = [];
  let errors = "";
  let wake = (): void => {};
  let read = 0;
  let over = false;
  createInterface({ input: child.stdout }).on("line", (line) => {
    notes.push(JSON.parse(line) as Note);
    wake();
  });
  child.stderr.on("data", (chunk) => (errors += String(chunk)));
  const exit = new Promise<{ code: number | null; signal: string | null; at: number }>((resolve) => {
    child.on("close", (code, signal) => {
      over = true;
      wake();
      resolve({ code, signal, at: Date.now() });
    });
  });
  return {
    notes,
    exit,
    async until(wanted) {
      for (;;) {
        while (read < notes.length) {
          const note = notes[read++]!;
          if (note.note === wanted) return note;
        }
        if (over) throw new Error(`The child ended before it wrote "${wanted}". ${errors}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    signal(name) {
      const at = Date.now();
      child.kill(name);
      return at;
    },
  };
}
