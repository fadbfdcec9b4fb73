// The bar above a run: its state, how far the page is behind, and what one can ask of it.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { CommandRow, ControlHello, RunPage } from "../../wire.ts";
import type { LiveRun } from "../data/run.ts";
import { hello } from "../data/runs.ts";
import * as format from "../format.ts";
import { CopyLine } from "../parts/empty.tsx";
import { addKeys } from "../parts/keys.tsx";
import { Announced, isOver, StateBadge, useNow } from "../parts/state.tsx";
import { commandText, isLargeChange, mayAsk, outgoing, rateNow, send, stateText, waitingOf } from "./commands.ts";
import { atStep, Confirm, type Question } from "./confirm.tsx";
import { ViewControls } from "./view-controls.tsx";

interface BarProps {
  readonly run: LiveRun;
  readonly page: RunPage;
}

/** @param hasCharts whether there are curves below that have an axis to choose */
export function ControlBar({ run, page, hasCharts }: BarProps & { readonly hasCharts: boolean }) {
  const { row, control } = page;
  const state = run.now.value?.state ?? row.state;
  const step = run.now.value?.step ?? row.step;
  const over = isOver(state);
  const becoming = over ? "" : becomes(run.commands.value);
  return (
    <div class="control" role="group" aria-label="State and control">
      <div class="control-line">
        <span class="where">
          <StateBadge state={state} />
          {becoming !== "" && <span class="soft"> {becoming}</span>}
          <Announced text={becoming === "" ? state : becoming} />
          <span class="numbers">
            {" · step "}
            {format.integer(step)}
            {row.totalSteps !== null && ` / ${format.integer(row.totalSteps)}`}
          </span>
          <Behind run={run} page={page} />
        </span>
        {!over && control !== null && control.state !== "ended" && hello.value?.readOnly !== true && (
          <Buttons run={run} page={page} control={control} paused={state === "paused"} />
        )}
        {!over && hello.value?.readOnly === true && (
          <span class="soft">This server only shows: it was started read-only.</span>
        )}
        {hasCharts && <ViewControls row={row} />}
      </div>
      {!over && control === null && hello.value?.readOnly !== true && (
        <p class="soft hint">
          To pause, step or change this run from here, give it the hook <CopyLine text="control()" />
        </p>
      )}
      <CommandStates run={run} />
    </div>
  );
}

/** What a command that waits will make of the run. */
const becomes = (commands: readonly CommandRow[]): string =>
  waitingOf(commands, "stop") ? "stopping…" : waitingOf(commands, "pause") ? "pausing…" : "";

function Behind({ run, page }: BarProps) {
  const time = useNow();
  const { state, elapsed } = page.row;
  const newsAt = run.now.value?.time ?? page.row.newsAt;
  if (isOver(state)) return <span class="soft"> · {format.duration(elapsed)}</span>;
  if (newsAt === null) return <span class="soft"> · started {format.ago(page.info.partStartedAt, time)}</span>;
  const behind = Math.max(0, time - newsAt) / 1000;
  return <span class="behind"> · {behind < 5 ? "live" : `last record ${format.duration(behind)} ago`}</span>;
}

function Buttons({ run, page, control, paused }: BarProps & { control: ControlHello; paused: boolean }) {
  const question = useSignal<Question | null>(null);
  const rate = useRef<HTMLInputElement>(null);
  const typed = useSignal<string | null>(null);
  const commands = run.commands.value;
  const current = rateNow(control, commands);
  const may = (verb: string): boolean => mayAsk(page, verb);
  const ask = (verb: string, args: Record<string, unknown> = {}, why?: string): void =>
    void send(run, { verb, args, ...(why !== undefined && why !== "" && { why }) });
  const pause = (): void => ask(paused ? "continue" : "pause");
  const setLr = (): void => {
    const lr = Number(typed.value);
    if (typed.value === null || typed.value.trim() === "" || !(lr > 0)) {
      rate.current?.focus();
      return;
    }
    const apply = (why?: string): void => {
      ask("setLr", { lr }, why);
      typed.value = null;
    };
    if (!isLargeChange(control, lr)) return apply();
    question.value = {
      title: "Set the learning rate",
      text: `Its rate is ${format.number(control.lr[0])}; ${format.number(lr)} is more than a factor of three away.`,
      action: `Set ${format.number(lr)}`,
      needsReason: false,
      onYes: apply,
    };
    return undefined;
  };
  const stop = (): void => {
    question.value = {
      title: "Stop the run",
      text: control.checkpoints
        ? "It saves a checkpoint and ends. It can be resumed from there."
        : "It ends without a checkpoint, since no hook saves any.",
      action: "Stop",
      needsReason: true,
      onYes: (why) => ask("stop", { save: control.checkpoints }, why),
    };
  };
  useLayoutEffect(() =>
    addKeys({
      "Shift+P": pause,
      "Shift+N": () => paused && ask("step", { n: 1 }),
      "Shift+S": () => control.checkpoints && ask("save"),
      "Shift+E": () => control.evals && ask("eval"),
      "Shift+L": () => rate.current?.select(),
      "Shift+X": stop,
    }),
  );
  const button = (verb: string, label: string, key: string, action: () => void, enabled = true) => {
    const waiting = waitingOf(commands, verb);
    return (
      <button
        type="button"
        disabled={!enabled || !may(verb) || waiting !== undefined}
        onClick={action}
        aria-keyshortcuts={`Shift+${key}`}
        title={`Shift+${key}`}
      >
        {waiting ? `${label}…` : label}
      </button>
    );
  };
  return (
    <span class="buttons">
      {paused ? button("continue", "Continue", "P", pause) : button("pause", "Pause", "P", pause)}
      {paused && button("step", "One step", "N", () => ask("step", { n: 1 }))}
      {button("save", "Save now", "S", () => ask("save"), control.checkpoints)}
      {button("eval", "Evaluate", "E", () => ask("eval"), control.evals)}
      <form
        class="rate"
        onSubmit={(event) => {
          event.preventDefault();
          setLr();
        }}
      >
        <label>
          lr{" "}
          <input
            ref={rate}
            inputMode="decimal"
            size={8}
            value={typed.value ?? (current === undefined ? "" : String(Number(current.toPrecision(4))))}
            disabled={!may("setLr")}
            onInput={(event) => (typed.value = event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
          />
        </label>
        <button type="submit" disabled={typed.value === null || !may("setLr")}>
          {waitingOf(commands, "setLr") ? "Set…" : "Set"}
        </button>
      </form>
      <button
        type="button"
        class="danger"
        disabled={!may("stop")}
        onClick={stop}
        aria-keyshortcuts="Shift+X"
        title="Shift+X"
      >
        {waitingOf(commands, "stop") ? "Stopping…" : "Stop…"}
      </button>
      {question.value && (
        <Confirm
          question={question.value}
          of={page.row.name}
          at={atStep(run.now.value?.step ?? page.row.step)}
          onClose={() => (question.value = null)}
        />
      )}
    </span>
  );
}

const RECENT = 20_000;

/** Commands that wait, and what became of those that were sent lately. */
function CommandStates({ run }: { run: LiveRun }) {
  const time = useNow();
  const recent = run.commands.value
    .filter(({ state, sentAt }) => state === "waiting" || time - sentAt < RECENT)
    .slice(0, 3);
  const own = outgoing.value;
  return (
    <div class="commands" role="status">
      {own && (
        <p class={own.state}>
          {own.verb}: {own.state === "sending" ? "sending…" : own.message}{" "}
          {own.state === "failed" && (
            <button type="button" class="link" onClick={() => (outgoing.value = null)}>
              dismiss
            </button>
          )}
        </p>
      )}
      {recent.map((command) => (
        <p key={command.id} class={command.state}>
          <strong>{commandText(command)}</strong> {stateText(command)}{" "}
          {command.state === "waiting" && (
            <button type="button" class="link" onClick={() => void run.cancel(command.id)}>
              cancel
            </button>
          )}
        </p>
      ))}
    </div>
  );
}
