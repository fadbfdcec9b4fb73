// The dialog before a command that cannot be taken back: it names the run and the step, and asks why.
import { useSignal } from "@preact/signals";
import * as format from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";

export interface Question {
  /** `Stop` */
  readonly title: string;
  /** What will happen. */
  readonly text: string;
  readonly action: string;
  /** Stopping wants a reason; for others it may be empty. */
  readonly needsReason: boolean;
  readonly onYes: (why: string) => void;
}

export const atStep = (step: number): string => `step ${format.integer(step)}`;

export function Confirm({
  question,
  of,
  at,
  onClose,
}: {
  question: Question;
  /** The run or the study. */
  of: string;
  /** How far it is. */
  at: string;
  onClose: () => void;
}) {
  const why = useSignal("");
  const missing = question.needsReason && why.value.trim() === "";
  return (
    <Dialog title={question.title} onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (missing) return;
          question.onYes(why.value.trim());
          onClose();
        }}
      >
        <p>
          <strong>{of}</strong> is at {at}. {question.text}
        </p>
        <label class="field">
          Why{question.needsReason ? "" : " (may be empty)"}
          <input value={why.value} maxLength={300} onInput={(event) => (why.value = event.currentTarget.value)} />
        </label>
        <p class="soft">It is kept in the run's journal and shown on the curve.</p>
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="danger" disabled={missing}>
            {question.action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
