// What is shown where there is nothing yet: why, and the line to add, with a button that copies it.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

export function CopyLine({ text }: { text: string }) {
  const copied = useSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => (copied.value = false), 1500);
  };
  return (
    <span class="copy">
      <code>{text}</code>
      <button type="button" onClick={() => void copy()} aria-label={`Copy ${text}`}>
        {copied.value ? "copied" : "copy"}
      </button>
    </span>
  );
}

export function Empty({ title, line, children }: { title: string; line?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
      {line !== undefined && <CopyLine text={line} />}
    </div>
  );
}

export function ErrorNote({ message }: { message: string }) {
  return (
    <p class="chart-error" role="alert">
      {message}
    </p>
  );
}
