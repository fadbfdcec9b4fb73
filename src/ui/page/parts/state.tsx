// The state of a run: a word, and a shape beside it, so that it is not told by colour alone.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { RunState } from "../../wire.ts";

const SIGNS: Readonly<Record<RunState, string>> = {
  starting: "◌",
  running: "●",
  evaluating: "●",
  saving: "●",
  paused: "❚❚",
  stale: "◍",
  killed: "✕",
  elsewhere: "◍",
  completed: "✓",
  stopped: "■",
  interrupted: "■",
  error: "✕",
};

/** What the word does not say. */
const STATE_HINTS: Readonly<Record<RunState, string>> = {
  starting: "No record yet: the engine compiles, or the first step is under way",
  running: "",
  evaluating: "An evaluation is under way: the next step waits for it",
  saving: "A checkpoint is being written: the next step waits for it",
  paused: "Waits at the end of a step until someone continues it",
  stale: "Its process is alive, but nothing was logged for a long time",
  killed: "Its process is gone, and it did not say why",
  elsewhere: "Runs on another host, which gives no sign of life",
  completed: "",
  stopped: "",
  interrupted: "Ended by a signal",
  error: "",
};

export function StateBadge({ state, short }: { state: RunState; short?: boolean }) {
  return (
    <span class={`state ${state}`} title={STATE_HINTS[state] || undefined}>
      <span aria-hidden="true">{SIGNS[state]}</span>
      <span class={short ? "hidden" : undefined}> {state}</span>
    </span>
  );
}

const ANNOUNCED_MS = 5000;

/** Tells a screen reader when the text changes, at most once in five seconds: then what it is by now. */
export function Announced({ text }: { text: string }) {
  const told = useSignal("");
  const at = useRef(-Infinity);
  useEffect(() => {
    const timer = setTimeout(
      () => {
        at.current = performance.now();
        told.value = text;
      },
      Math.max(0, at.current + ANNOUNCED_MS - performance.now()),
    );
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <span class="hidden" aria-live="polite">
      {told.value}
    </span>
  );
}

export const isOver = (state: RunState): boolean =>
  state === "completed" || state === "stopped" || state === "interrupted" || state === "error" || state === "killed";

/** The time, changing once a second while something shows it. */
const now = signal(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): number {
  useEffect(() => {
    if (watchers++ === 0) timer = setInterval(() => (now.value = Date.now()), 1000);
    return () => {
      if (--watchers === 0) clearInterval(timer);
    };
  }, []);
  return now.value;
}
