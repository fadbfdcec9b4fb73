// What one can ask of a running study.
import { useSignal } from "@preact/signals";
import type { CommandRequest, CommandRow, StudyPage } from "../../wire.ts";
import { explain, get, post } from "../data/api.ts";
import { hello } from "../data/runs.ts";
import { Confirm, type Question } from "../run/confirm.tsx";

const ASK_AGAIN = 500;

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

function NumberForm({ label, set }: { label: string; set: (n: number) => void }) {
  const typed = useSignal("");
  const n = Number(typed.value);
  const isWhole = typed.value !== "" && Number.isSafeInteger(n) && n >= 1;
  return (
    <form
      class="rate"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isWhole) return;
        set(n);
        typed.value = "";
      }}
    >
      <label>
        {label}{" "}
        <input
          inputMode="numeric"
          size={4}
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={!isWhole}>
        Set
      </button>
    </form>
  );
}

export function StudyBar({ study }: { study: StudyPage }) {
  const question = useSignal<Question | null>(null);
  const said = useSignal("");
  const { row, allow } = study;
  if (allow.length === 0 || hello.value?.readOnly === true) return null;
  const ask = async (command: CommandRequest): Promise<void> => {
    said.value = `${command.verb}: sending…`;
    try {
      const { id } = await post<{ readonly id: string }>(`studies/${row.id}/commands`, command);
      said.value = `${command.verb}: waiting until the study takes it`;
      const { state, reason } = await decided(row.id, id);
      said.value = `${command.verb}: ${state}${reason === undefined ? "" : `: ${reason}`}`;
    } catch (error) {
      said.value = `${command.verb}: ${explain(error)}`;
    }
  };
  const stop = (): void => {
    question.value = {
      title: "Stop the study",
      text: "Trials that are running are interrupted. The study can be resumed.",
      action: "Stop",
      needsReason: true,
      onYes: (why) => void ask({ verb: "stop", args: {}, why }),
    };
  };
  const paused = row.state === "paused";
  return (
    <div class="bar">
      {allow.includes(paused ? "continue" : "pause") && (
        <button type="button" onClick={() => void ask({ verb: paused ? "continue" : "pause", args: {} })}>
          {paused ? "Continue" : "Pause: no new trials"}
        </button>
      )}
      {allow.includes("setConcurrency") && (
        <NumberForm label="trials at once" set={(n) => void ask({ verb: "setConcurrency", args: { n } })} />
      )}
      {allow.includes("setTrials") && (
        <NumberForm label="trials in all" set={(n) => void ask({ verb: "setTrials", args: { n } })} />
      )}
      {allow.includes("stop") && (
        <button type="button" class="danger" onClick={stop}>
          Stop…
        </button>
      )}
      <span role="status" class="soft">
        {said.value}
      </span>
      {question.value && (
        <Confirm question={question.value} run={row.name} step={row.done} onClose={() => (question.value = null)} />
      )}
    </div>
  );
}
