// Commands to running trainings: checked, put into the run's inbox, listed with what became of them, and taken back.
import { hostname, userInfo } from "node:os";
import { lstatSync } from "node:fs";
import { checkOptions, is, type Json } from "../../core/options.ts";
import { ControlError, type ControlCode } from "../../runs/control/control-error.ts";
import { inboxDirectory, journalFile } from "../../runs/control/control-files.ts";
import { readControl } from "../../runs/control/read-control.ts";
import { cancelCommand, sendCommand } from "../../runs/control/send-command.ts";
import type { CommandRequest, CommandRow } from "../wire.ts";
import { type Answer, gone, json, Refusal } from "./answer.ts";
import { checked } from "./requests.ts";

const LONGEST_NAME = 100;

const REQUEST = {
  verb: is.name,
  args: is.object,
  why: is.string,
  at: is.object,
  part: is.positive,
  says: {
    expected: `a text of up to ${LONGEST_NAME} characters`,
    test: (value: unknown) => typeof value === "string" && value.length <= LONGEST_NAME,
  },
};

const STATUSES: Readonly<Record<ControlCode, number>> = {
  "bad-command": 400,
  "not-allowed": 422,
  bounds: 422,
  "not-controllable": 409,
  "part-over": 410,
  full: 429,
};

/** Commands of this server, to all runs together: a page that has run wild must not fill inboxes. */
const MOST_A_MINUTE = 20;
const MINUTE = 60_000;

export class CommandSender {
  readonly #readOnly: boolean;
  /** When the latest commands were sent. */
  #sentAt: number[] = [];

  constructor(readOnly: boolean) {
    this.#readOnly = readOnly;
  }

  /** Puts a command into the inbox of the run or study in a directory. */
  async send(dir: string, body: unknown): Promise<Answer> {
    checked(() => checkOptions("commands", body, REQUEST, ["verb"]));
    const { verb, args = {}, why, at, part, says } = body as CommandRequest;
    this.#checkAllowed();
    return translated(async () => {
      const by = `${thisUser()}@${hostname()}`;
      const { id } = await sendCommand(dir, {
        verb,
        args: args as Readonly<Record<string, Json>>,
        // Anybody can type any name into a page.
        by: says === undefined || says === "" ? by : `${says} (says), ${by}`,
        via: "ui",
        ...(why !== undefined && { why }),
        ...(at && { at }),
        ...(part !== undefined && { part }),
      });
      return json({ id }, 202);
    });
  }

  #checkAllowed(): void {
    if (this.#readOnly)
      throw new Refusal(409, "not-controllable", "This server is read-only.", {
        hint: "Start it without --read-only.",
      });
    const now = performance.now();
    this.#sentAt = this.#sentAt.filter((time) => now - time < MINUTE);
    if (this.#sentAt.length >= MOST_A_MINUTE) {
      const wait = Math.ceil((this.#sentAt[0]! + MINUTE - now) / 1000);
      throw new Refusal(429, "too-many", `This server sends ${MOST_A_MINUTE} commands a minute at most.`, {
        hint: `Wait for ${wait} s, or use \`npx hookline ctl\`.`,
        headers: { "retry-after": String(wait) },
      });
    }
    this.#sentAt.push(now);
  }

  async cancel(dir: string, id: string): Promise<Answer> {
    if (this.#readOnly) this.#checkAllowed();
    if (await cancelCommand(dir, id)) return json({ id });
    throw gone("waiting command of this id");
  }
}

export const listCommands = async (dir: string): Promise<CommandRow[]> =>
  translated(async () => [...(await readControl(dir)).commands]);

async function translated<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw error instanceof ControlError ? new Refusal(STATUSES[error.code], error.code, error.message) : error;
  }
}

export function thisUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user without a name.
    return "unknown";
  }
}

/** Tells which commands of a run have a new state. */
export class CommandNews {
  #stamp = "";
  #known: Set<string> | undefined;

  /** None at the first call: pages ask for the list when they open. */
  async since(dir: string): Promise<CommandRow[]> {
    const stamp = [journalFile(dir), inboxDirectory(dir)]
      .map((path) => lstatSync(path, { throwIfNoEntry: false }))
      .map((found) => (found ? `${found.size}:${found.mtimeMs}` : ""))
      .join(" ");
    if (stamp === this.#stamp) return [];
    this.#stamp = stamp;
    const commands = await listCommands(dir);
    const before = this.#known;
    this.#known = new Set(commands.map(({ id, state }) => `${id} ${state}`));
    return before ? commands.filter(({ id, state }) => !before.has(`${id} ${state}`)) : [];
  }
}
