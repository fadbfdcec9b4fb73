// Starts a program that prints notes, a JSON object a line, and reads them as they come.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

interface AnyNote {
  readonly note: string;
}

export interface NotingChild<N extends AnyNote> {
  /** The next note of that kind, or of one of those kinds; others before it are kept in `notes` only. */
  until(...wanted: readonly N["note"][]): Promise<N>;
  readonly notes: readonly N[];
  /** What it wrote to its other output. */
  errors(): string;
  /** Sends a signal and returns the time. */
  signal(name: NodeJS.Signals): number;
  readonly pid: number;
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null; readonly at: number }>;
}

export function startNoting<N extends AnyNote>(args: readonly string[], command = process.execPath): NotingChild<N> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const notes: N[] = [];
  let errors = "";
  let wake = (): void => {};
  let read = 0;
  let over = false;
  createInterface({ input: child.stdout }).on("line", (line) => {
    notes.push(JSON.parse(line) as N);
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
    pid: child.pid!,
    exit,
    errors: () => errors,
    async until(...wanted) {
      for (;;) {
        while (read < notes.length) {
          const note = notes[read++]!;
          if (wanted.includes(note.note)) return note;
        }
        if (over) throw new Error(`The child ended before it wrote "${wanted.join('" or "')}". ${errors}`);
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
