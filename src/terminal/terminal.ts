// The terminal that progress bars and console logs share: live lines at its bottom, all other output above them.
import { builtinOrNone } from "../platform/builtin.ts";
import { printable } from "../platform/print.ts";
import { type GuardedProcess, Region, type Writable, type Write, guard, patchWrite } from "./live-region.ts";

const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";

/** Others' output comes in bursts: the live lines come back at once, but not more often than this (milliseconds). */
const LEAST_GAP = 15;
const COME_BACK = 50;

/** What is used of Node's stdout. */
interface TerminalStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

interface TerminalProcess extends GuardedProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: TerminalStream;
  readonly stderr: TerminalStream;
}

/** Lines of one owner, at the bottom of the terminal until it closes them. */
export interface Live {
  draw(): void;
  /** Ends them; `last` stays, above the lines of others. */
  close(last?: readonly string[]): void;
}

type Render = () => readonly string[];

export class Terminal {
  readonly #process: TerminalProcess;
  #region = new Region();
  readonly #renders = new Set<Render>();
  readonly #held = new Set<() => void>();
  #original: Write | undefined;
  #undo: (() => void)[] = [];
  #columns = 0;
  #drawnAt = 0;
  #comeBack: ReturnType<typeof setTimeout> | undefined;
  /** How many progress bars will say how the run ended. */
  #closers = 0;

  constructor(process: TerminalProcess) {
    this.#process = process;
  }

  /** A terminal that does not know its width says 0. */
  get columns(): number {
    const { stdout, env } = this.#process;
    return stdout.columns || Number(env.COLUMNS) || 80;
  }

  /** Someone says how the run ended, from now on until the undo. */
  announce(): () => void {
    let open = true;
    this.#closers++;
    return () => {
      if (open) this.#closers--;
      open = false;
    };
  }

  get isAnnounced(): boolean {
    return this.#closers > 0;
  }

  /** Calls `flush` before live lines end, so that what was held back does not come after their last word. */
  beforeLast(flush: () => void): () => void {
    this.#held.add(flush);
    return () => void this.#held.delete(flush);
  }

  /** Writes above the live lines. A reader that has gone away is no reason for a run to fail. */
  print(text: string): void {
    const { stdout } = this.#process;
    // What others have left unfinished is no place for a line of ours.
    const safe = printable(text, true);
    stdout.write(this.#region.hasPartial ? `\n${safe}` : safe, ignoreErrors(stdout));
  }

  /** Draws what `render` returns at the bottom, now and whenever it is asked to or the width changes. */
  open(render: Render): Live {
    if (this.#renders.size === 0) this.#take();
    this.#renders.add(render);
    this.#draw();
    return {
      draw: () => {
        if (this.#renders.has(render)) this.#draw();
      },
      close: (last = []) => {
        if (!this.#renders.has(render)) return;
        for (const flush of this.#held) flush();
        this.#renders.delete(render);
        const text = this.#region.erase(this.#columns) + this.#region.endPartial();
        this.#write(`${text}${last.map((line) => `${printable(line, true)}\n`).join("")}`);
        if (this.#renders.size === 0) this.#giveBack();
        else this.#draw();
      },
    };
  }

  #write(text: string): void {
    if (text !== "") this.#original?.(text, ignoreErrors(this.#process.stdout));
  }

  #draw(): void {
    clearTimeout(this.#comeBack);
    this.#comeBack = undefined;
    this.#columns = this.columns;
    this.#drawnAt = performance.now();
    this.#write(
      this.#region.draw([...this.#renders].flatMap((render) => render()).map((line) => printable(line, true))),
    );
  }

  /** What to write instead of others' output. */
  #around(text: string): string {
    const now = performance.now();
    const written = this.#region.above(text, this.#columns);
    if (now - this.#drawnAt >= LEAST_GAP) {
      this.#drawnAt = now;
      return written + this.#region.draw();
    }
    this.#comeBack ??= setTimeout(() => this.#draw(), COME_BACK);
    this.#comeBack.unref?.();
    return written;
  }

  #take(): void {
    const { stdout, stderr } = this.#process;
    const around = (text: string): string => (text === "" ? text : this.#around(text));
    const { original, undo } = patchWrite(stdout, around);
    this.#original = original;
    this.#undo.push(undo);
    if (sameTerminal(stderr)) this.#undo.push(patchWrite(stderr, around).undo);
    const redraw = (): void => this.#draw();
    stdout.on("resize", redraw);
    this.#undo.push(
      () => stdout.off("resize", redraw),
      guard(this.#process, () => this.#giveBack()),
    );
    this.#write(HIDE_CURSOR);
  }

  /** As it was: no live lines, a cursor, and streams that nobody listens to. */
  #giveBack(): void {
    if (this.#original === undefined) return;
    clearTimeout(this.#comeBack);
    this.#comeBack = undefined;
    // What was last drawn stays where it is, without the ^C that a terminal may have put over it; what comes next begins below.
    const { isDrawn, height } = this.#region;
    const leave = isDrawn ? this.#region.draw() + "\n".repeat(height) : this.#region.endPartial();
    this.#write(`${leave}${SHOW_CURSOR}`);
    for (const undo of this.#undo) undo();
    this.#undo = [];
    this.#renders.clear();
    this.#region = new Region();
    this.#original = undefined;
  }
}

/** Both streams of a program mostly show on one terminal; where each has its own, stderr needs no care. */
function sameTerminal(stderr: TerminalStream): boolean {
  if (!stderr.isTTY) return false;
  const fs = builtinOrNone("node:fs");
  try {
    return fs !== undefined && fs.fstatSync(1).rdev === fs.fstatSync(2).rdev;
  } catch {
    return false;
  }
}

const failed = new WeakSet<TerminalStream>();

/** For the callback of a write: one that fails must not come back as an `error` event that nobody handles. */
function ignoreErrors(stream: TerminalStream): (error?: Error | null) => void {
  return (error) => {
    // Other listeners may stop listening when it happens, as a pipe does.
    if (!error || failed.has(stream)) return;
    failed.add(stream);
    stream.on("error", () => undefined);
  };
}

let shared: Terminal | undefined;

/** The one of this process; undefined in a browser. */
export function terminal(): Terminal | undefined {
  const { process } = globalThis as { process?: TerminalProcess & { readonly versions?: { readonly node?: string } } };
  if (!process?.versions?.node) return undefined;
  return (shared ??= new Terminal(process));
}
