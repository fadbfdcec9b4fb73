// What one can ask of a running study.
import { useSignal } from "@preact/signals";
import type { StudyPage } from "../../wire.ts";
import { Confirm, type Question } from "../run/confirm.tsx";
import { EnqueueDialog } from "./enqueue-dialog.tsx";
import { allowedOf, trialsText, type AskStudy } from "./study-commands.ts";

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

export function StudyBar({ study, ask, said }: { study: StudyPage; ask: AskStudy; said: string }) {
  const question = useSignal<Question | null>(null);
  const isAdding = useSignal(false);
  const { row, example } = study;
  const allowed = allowedOf(study);
  if (allowed.length === 0) return null;
  const stop = (): void => {
    question.value = {
      title: "Stop the study",
      text: "Trials that are running are interrupted. The study can be resumed.",
      action: "Stop",
      needsReason: true,
      onYes: (why) => ask({ verb: "stop", args: {}, why }),
    };
  };
  const paused = row.state === "paused";
  return (
    <div class="bar">
      {allowed.includes(paused ? "continue" : "pause") && (
        <button type="button" onClick={() => ask({ verb: paused ? "continue" : "pause", args: {} })}>
          {paused ? "Continue" : "Pause: no new trials"}
        </button>
      )}
      {allowed.includes("enqueue") && (
        <button type="button" onClick={() => (isAdding.value = true)}>
          Add a trial…
        </button>
      )}
      {allowed.includes("setConcurrency") && (
        <NumberForm label="trials at once" set={(n) => ask({ verb: "setConcurrency", args: { n } })} />
      )}
      {allowed.includes("setTrials") && (
        <NumberForm label="trials in all" set={(n) => ask({ verb: "setTrials", args: { n } })} />
      )}
      {allowed.includes("stop") && (
        <button type="button" class="danger" onClick={stop}>
          Stop…
        </button>
      )}
      <span role="status" class="soft">
        {said}
      </span>
      {isAdding.value && (
        <EnqueueDialog
          example={example ?? {}}
          enqueue={(params) => ask({ verb: "enqueue", args: { params } })}
          onClose={() => (isAdding.value = false)}
        />
      )}
      {question.value && (
        <Confirm question={question.value} of={row.name} at={trialsText(row)} onClose={() => (question.value = null)} />
      )}
    </div>
  );
}
