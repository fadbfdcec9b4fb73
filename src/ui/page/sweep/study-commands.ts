// Commands to a study, and in words how far it is and what became of the latest one.
import type { Signal } from "@preact/signals";
import type { CommandRequest, CommandRow, StudyPage, StudyRow } from "../../wire.ts";
import { explain, get, post } from "../data/api.ts";
import { hello } from "../data/runs.ts";
import * as format from "../format.ts";

const ASK_AGAIN = 500;

export type AskStudy = (command: CommandRequest) => void;

/** The commands that the study takes from this page: none when nobody listens, or the server only shows. */
export const allowedOf = ({ allow }: StudyPage): readonly string[] => (hello.value?.readOnly === true ? [] : allow);

/** `5 of 40 trials`: of as many as there will be, where that is known. */
export const trialsText = ({ done, trials, planned }: StudyRow): string =>
  `${format.integer(done)} of ${format.count(Math.max(trials, planned ?? 0), "trial")}`;

export async function askStudy(study: string, command: CommandRequest, said: Signal<string>): Promise<void> {
  said.value = `${command.verb}: sending…`;
  try {
    const { id } = await post<{ readonly id: string }>(`studies/${study}/commands`, command);
    said.value = `${command.verb}: waiting until the study takes it`;
    const { state, reason } = await decided(study, id);
    said.value = `${command.verb}: ${state}${reason === undefined ? "" : `: ${reason}`}`;
  } catch (error) {
    said.value = `${command.verb}: ${explain(error)}`;
  }
}

/** Once the study has decided on a command. */
async function decided(study: string, id: string): Promise<Pick<CommandRow, "state" | "reason">> {
  for (;;) {
    const commands = await get<readonly CommandRow[]>(`studies/${study}/commands`);
    const found = commands.find((each) => each.id === id);
    if (!found) return { state: "expired" };
    if (found.state !== "waiting") return found;
    await new Promise((resolve) => void setTimeout(resolve, ASK_AGAIN));
  }
}
