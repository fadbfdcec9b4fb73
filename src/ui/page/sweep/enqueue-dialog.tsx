// A trial whose parameters a person chooses: those of the best one, to be changed.
import { useSignal } from "@preact/signals";
import { Dialog } from "../parts/dialog.tsx";

interface EnqueueProps {
  readonly example: object;
  readonly enqueue: (params: Readonly<Record<string, unknown>>) => void;
  readonly onClose: () => void;
}

export function EnqueueDialog({ example, enqueue, onClose }: EnqueueProps) {
  const text = useSignal(JSON.stringify(example, undefined, 2));
  const problem = useSignal("");
  return (
    <Dialog title="Add a trial" onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          const params = objectIn(text.value);
          if (!params) return void (problem.value = 'This is not a JSON object such as {"lr": 0.001}.');
          enqueue(params);
          onClose();
          return undefined;
        }}
      >
        <p>It is trained next, with these parameters. The study refuses what its space does not contain.</p>
        <label class="field">
          Parameters
          <textarea
            rows={Math.min(14, text.value.split("\n").length + 1)}
            spellcheck={false}
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </label>
        <p role="alert">{problem.value}</p>
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit">Add</button>
        </div>
      </form>
    </Dialog>
  );
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
