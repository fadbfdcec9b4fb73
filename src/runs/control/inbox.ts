// The listener's side of live control: says hello, and takes commands out of the inbox.
import { OptionError } from "../../core/errors.ts";
import { codeOf, guardedLog } from "../../platform/file-errors.ts";
import { thisProcess } from "../liveness.ts";
import { checkCommand } from "./commands.ts";
import {
  controlDirectory,
  helloFile,
  inboxDirectory,
  listInbox,
  MOST_WAITING,
  nodeFs,
  putFile,
  readSmallJson,
  type Fs,
} from "./control-files.ts";
import type { Command, ControlHello } from "./types.ts";

/** A command in the inbox. */
export interface Received {
  readonly command: Command;
  /** The name of its file. */
  readonly name: string;
}

export type Hello = Omit<ControlHello, "pid" | "host" | "started" | "boot" | "namespaces">;

export class ControlInbox {
  readonly #fs: Fs = nodeFs();
  readonly #dir: string;
  readonly #process = thisProcess();
  readonly #warn: (message: string) => void;

  /** Makes `control/inbox/`, which only this user may write to. */
  constructor(dir: string, warn: (message: string) => void) {
    this.#dir = dir;
    this.#warn = warn;
    for (const made of [controlDirectory(dir), inboxDirectory(dir)]) {
      guardedLog(made, () => void this.#fs.mkdirSync(made, { recursive: true, mode: 0o700 }));
      if (!this.#fs.lstatSync(made).isDirectory())
        throw new OptionError(`control: ${made} is a link, which may lead anywhere. Remove it.`);
    }
  }

  get path(): string {
    return inboxDirectory(this.#dir);
  }

  /** Replaces hello.json. */
  sayHello(hello: Hello): void {
    putFile(this.#fs, helloFile(this.#dir), `${JSON.stringify({ ...hello, ...this.#process })}\n`);
  }

  /** The oldest commands that wait; files that are among `known` are not read again. What is not a command is removed, with a warning. */
  list(known: readonly Received[] = []): Received[] {
    const problems: string[] = [];
    const names = listInbox(this.#fs, this.#dir).slice(0, MOST_WAITING);
    const received = names.flatMap(({ name, id }) => {
      const before = known.find((each) => each.name === name);
      if (before) return [before];
      try {
        const found = readSmallJson(this.#fs, this.#pathOf(name));
        if (found === undefined) return [];
        const command = checkCommand(found);
        if (command.id !== id) throw new Error("its id is not the one in its name");
        return [{ command, name }];
      } catch (error) {
        problems.push(`${name} is not a command (${(error as Error).message.replace(/\.$/, "")})`);
        this.remove(name);
        return [];
      }
    });
    const more = problems.length > 1 ? `, nor are ${problems.length - 1} others` : "";
    if (problems.length > 0) this.#warn(`${this.path}: ${problems[0]}${more}: removed.`);
    return received;
  }

  /** From now on the command cannot be cancelled. Returns the new name of its file; undefined if it was cancelled. */
  take(name: string): string | undefined {
    if (name.endsWith(".taken")) return name;
    const taken = name.replace(/\.json$/, ".taken");
    try {
      this.#fs.renameSync(this.#pathOf(name), this.#pathOf(taken));
      return taken;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  remove(name: string): void {
    this.#fs.rmSync(this.#pathOf(name), { force: true, recursive: true });
  }

  #pathOf(name: string): string {
    return `${inboxDirectory(this.#dir)}/${name}`;
  }
}
