// A terminal to look at: tmux shows a program's screen as a person would see it, at any size.
import { execFileSync, spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

export const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

export interface ScreenOptions {
  readonly columns: number;
  readonly rows: number;
  /** Over those of this process; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

let count = 0;

export class Screen {
  readonly #socket = `hookline-${process.pid}-${count++}`;

  constructor(command: readonly string[], { columns, rows, env = {} }: ScreenOptions) {
    const all = Object.entries({ LANG: "C.UTF-8", LC_ALL: "C.UTF-8", ...NEUTRAL, ...env });
    const unset = all.flatMap(([name, value]) => (value === undefined ? ["-u", name] : []));
    const set = all.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
    const quoted = ["env", ...unset, ...set, ...command].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
    // What a shell does afterwards: its prompt shows where the program left the cursor.
    const shell = `trap : INT; ${quoted.join(" ")}; printf '[exit %s] $ ' $?; sleep 600`;
    this.#tmux("new-session", "-d", "-x", String(columns), "-y", String(rows), shell);
    this.#tmux("set-option", "-g", "status", "off");
    this.resize(columns, rows);
  }

  #tmux(...args: string[]): string {
    // Its own server, without anyone's settings.
    return execFileSync("tmux", ["-u", "-L", this.#socket, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, LC_ALL: "C.UTF-8", TMUX: "" },
    });
  }

  resize(columns: number, rows: number): void {
    this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  keys(...keys: string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  /** The text on the screen now; with `colors` as escape codes. */
  text({ colors = false } = {}): string {
    return this.#tmux("capture-pane", "-p", ...(colors ? ["-e"] : [])).trimEnd();
  }

  get cursorShown(): boolean {
    return this.#tmux("display-message", "-p", "#{cursor_flag}").trim() === "1";
  }

  /** The screen once it holds still. */
  async settled(): Promise<string> {
    let [last, same] = [this.text(), 0];
    // A busy machine may take a moment to bring what the program has written to the screen.
    while (same < 5) {
      await sleep(100);
      const now = this.text();
      same = now === last ? same + 1 : 0;
      last = now;
    }
    return last;
  }

  /** Waits until the screen shows this. */
  async until(pattern: RegExp, seconds = 120): Promise<void> {
    for (let tries = 0; !pattern.test(this.text()); tries++) {
      if (tries > seconds * 20) throw new Error(`${pattern} did not come. The screen:\n${this.text()}`);
      await sleep(50);
    }
  }

  close(): void {
    spawnSync("tmux", ["-L", this.#socket, "kill-server"]);
  }
}

/** What the surroundings of the tests must not decide. */
const NEUTRAL = {
  CI: undefined,
  NO_COLOR: undefined,
  FORCE_COLOR: undefined,
  COLUMNS: undefined,
  HOOKLINE_QUIET: undefined,
} as const;
