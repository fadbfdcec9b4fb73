// The sender's side of live control: puts a command into a run's inbox, or takes one back that still waits.
import { checkOptions, is, type Json } from "../../core/options.ts";
import { builtin } from "../../platform/builtin.ts";
import { codeOf } from "../../platform/file-errors.ts";
import { checkArgs, checkCommand, checkRates } from "./commands.ts";
import { ControlError } from "./control-error.ts";
import { inboxDirectory, inboxName, listInbox, MOST_BYTES, MOST_WAITING, nodeFs, putFile } from "./control-files.ts";
import { findListener } from "./read-control.ts";
import type { Command, ControlHello } from "./types.ts";

/** What is asked; the rest of a command is filled in. */
export interface CommandRequest {
  readonly verb: string;
  readonly args?: Readonly<Record<string, Json>>;
  readonly why?: string;
  /** Carry it out at the end of this step, and not before. */
  readonly at?: { readonly step: number };
  /** Who asks. Default: the user of this process, as `user@host`. */
  readonly by?: string;
  /** How it is sent. Default `program`. */
  readonly via?: string;
  /** Seconds after which it is no longer carried out. Default 60. */
  readonly expires?: number;
  /** Default: a random one. A command that is sent twice with the same id is carried out once. */
  readonly id?: string;
  /** The part of the run that the sender means. Default: the current one. */
  readonly part?: number;
}

const EXPIRES = 60;

/** What the values must be, the command itself checks. */
const CHECKS = {
  verb: is.anything,
  args: is.anything,
  why: is.anything,
  at: is.anything,
  by: is.anything,
  via: is.anything,
  expires: is.anything,
  id: is.anything,
  part: is.anything,
};

/** Names of one sender's commands are in the order of sending. */
let lastMs = 0;

/**
 * Sends a command to the run or study in a directory, whose `control()` carries it out at the end of a step. Throws a
 * ControlError where it would be refused, or where nobody listens. `readControl` tells what became of it.
 * @example await sendCommand("runs/digits", { verb: "setLr", args: { factor: 0.5 }, why: "plateau" })
 */
export async function sendCommand(dir: string, request: CommandRequest): Promise<Command> {
  checkOptions("sendCommand", request, CHECKS);
  const { verb, args = {}, why, at, by = thisUser(), via = "program", expires = EXPIRES } = request;
  const hello = findListener(dir);
  if (request.part !== undefined && request.part !== hello.part)
    throw new ControlError("part-over", `${dir}: that part of the run is over; it was resumed since.`);
  const command = checkCommand({
    v: 1,
    id: request.id ?? crypto.randomUUID(),
    run: hello.run,
    part: hello.part,
    verb,
    args,
    by,
    via,
    ...(why !== undefined && why !== "" && { why }),
    sentAt: Date.now(),
    expires,
    ...(at && { at }),
  });
  checkArgs(verb, command.args, hello);
  checkNewRates(command, hello);
  const text = JSON.stringify(command);
  if (new TextEncoder().encode(text).length > MOST_BYTES)
    throw new ControlError("bad-command", `A command may have ${MOST_BYTES} bytes; this one is larger.`);
  const fs = nodeFs();
  if (listInbox(fs, dir).length >= MOST_WAITING)
    throw new ControlError("full", `${dir}: ${MOST_WAITING} commands are waiting already.`);
  lastMs = Math.max(lastMs + 1, command.sentAt);
  putFile(fs, `${inboxDirectory(dir)}/${inboxName(lastMs, command.id)}`, text);
  return command;
}

/** Takes back a command that still waits. False if it was carried out, refused or never there. */
export async function cancelCommand(dir: string, id: string): Promise<boolean> {
  const fs = nodeFs();
  const waiting = listInbox(fs, dir).filter((each) => each.id === id && !each.isTaken);
  let isCancelled = false;
  for (const { name } of waiting) {
    try {
      fs.unlinkSync(`${inboxDirectory(dir)}/${name}`);
      isCancelled = true;
    } catch (error) {
      // The run was faster.
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }
  return isCancelled;
}

/** A group is named by its index or its name: only the run knows names, so it alone checks those. */
function checkNewRates({ verb, args }: Command, { lr, scheduledLr, bounds }: ControlHello): void {
  if (verb !== "setLr" || args["group"] !== undefined) return;
  const rates = lr.map((rate) => (args["lr"] as number | undefined) ?? rate * (args["factor"] as number));
  checkRates(rates, scheduledLr, bounds);
}

function thisUser(): string {
  const os = builtin("Live control", "node:os");
  let user = "unknown";
  try {
    user = os.userInfo().username;
  } catch {
    // A container may run as a user without a name.
  }
  return `${user}@${os.hostname()}`;
}
