// What one can ask of a running study.
import { useSignal } from "@preact/signals";
import type { CommandRequest, StudyPage } from "../../wire.ts";
import { explain, post } from "../data/api.ts";
import { hello } from "../data/runs.ts";
import { Confirm, type Question } from "../run/confirm.tsx";

export function StudyBar({ study }: { study: StudyPage }) {
  const question = useSignal<Question | null>(null);
  const said = useSignal("");
  const { row, allow } = study;
  if (allow.length === 0 || hello.value?.readOnly === true) return null;
  const ask = async (command: CommandRequest): Promise<void> => {
    said.value = `${command.verb}: sending…`;
    try {
      await post(`studies/${row.id}/commands`, command);
      said.value = `${command.verb}: waiting until the study takes it`;
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
