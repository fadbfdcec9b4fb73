// Commands of a person: which ones need a confirmation, and what is known of those that were sent.
import { signal } from "@preact/signals";
import type { CommandRequest, CommandRow, ControlHello, RunPage } from "../../wire.ts";
import { explain } from "../data/api.ts";
import type { LiveRun } from "../data/run.ts";
import { hello } from "../data/runs.ts";
import * as format from "../format.ts";
import { isOver } from "../parts/state.tsx";

/** A command that the server has not answered to, or has refused itself. */
export interface Outgoing {
  readonly verb: string;
  readonly state: "sending" | "failed";
  readonly message?: string;
}

export const outgoing = signal<Outgoing | null>(null);

export async function send(run: LiveRun, command: CommandRequest): Promise<void> {
  outgoing.value = { verb: command.verb, state: "sending" };
  try {
    await run.send(command);
    outgoing.value = null;
  } catch (error) {
    outgoing.value = { verb: command.verb, state: "failed", message: explain(error) };
  }
}

/** Whether the run listens, and accepts this command. */
export const mayAsk = ({ row, control }: RunPage, verb: string): boolean =>
  control !== null &&
  control.state !== "ended" &&
  !isOver(row.state) &&
  hello.value?.readOnly !== true &&
  control.allow.includes(verb);

/** One for a later step does not keep anybody from asking for the same now. */
export const waitingOf = (commands: readonly CommandRow[], verb: string): CommandRow | undefined =>
  commands.find((command) => command.verb === verb && command.state === "waiting" && !command.at);

/** `setLr lr=0.0005` */
export function commandText({ verb, args }: Pick<CommandRow, "verb" | "args">): string {
  const listed = Object.entries(args).map(([name, value]) => `${name}=${format.value(value)}`);
  return [verb, ...listed].join(" ");
}

export function stateText(command: CommandRow): string {
  switch (command.state) {
    case "waiting":
      return `waiting: at the end of ${command.at ? `step ${format.integer(command.at.step)}` : "this step"}`;
    case "applied":
      return `applied at step ${format.integer(command.step ?? 0)}`;
    case "refused":
      return `refused${command.reason === undefined ? "" : `: ${command.reason}`}`;
    default:
      return "expired: nobody took it in time";
  }
}

/** The rate, or the one that the next step will have: what is set during a pause holds from then on. */
export function rateNow({ step, lr }: ControlHello, commands: readonly CommandRow[]): number | undefined {
  const set = commands.find((each) => each.verb === "setLr" && each.state === "applied" && each.step === step);
  const rate = set?.args["lr"];
  return typeof rate === "number" && set?.args["group"] === undefined ? rate : lr[0];
}

/** A rate that is more than three times, or less than a third of, the present one. */
export const isLargeChange = (control: ControlHello, lr: number): boolean => {
  const [now] = control.lr;
  return now !== undefined && now > 0 && (lr / now > 3 || lr / now < 1 / 3);
};
