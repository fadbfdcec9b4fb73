// hookline ctl: sends a command to a running training or study, and tells what became of it.
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command as Program } from "commander";
import { didYouMean } from "../core/names.ts";
import type { Json } from "../core/options.ts";
import { ControlError } from "../runs/control/control-error.ts";
import { findListener, readControl } from "../runs/control/read-control.ts";
import { sendCommand } from "../runs/control/send-command.ts";
import type { Command, CommandRow } from "../runs/control/types.ts";
import { type CommandDescription, jsonFlag, wholeFrom } from "./command.ts";
import { EXIT, noDirectory, reportError, UsageError } from "./errors.ts";
import { print, printJson, shownPath, typed } from "./output.ts";

export const command: CommandDescription = {
  examples: `ctl runs/digits pause
ctl runs/digits step 10
ctl runs/digits set-lr x0.5 --why "plateau" --wait
ctl runs/digits hook ema off --at 5000
ctl runs/digits stop --why "good enough" --wait --json`,
  flags: (program: Program) =>
    program
      .argument("<dir>", "the directory of the run or the study")
      .argument("<command>", `what to do: ${Object.keys(WORDS).join(", ")}, or a command of your own`)
      .argument("[values...]", "its values, as in the examples")
      .option("--why <text>", "the reason, which the record of interventions keeps")
      .option("--at <step>", "wait for the end of this step", wholeFrom(1))
      .option("--group <name>", "of set-lr: only this parameter group")
      .option("--no-save", "of stop: without a checkpoint")
      .option("--expires <seconds>", "seconds after which it is no longer carried out (60)", wholeFrom(1))
      .option("--wait", "until it is carried out or refused")
      .addOption(jsonFlag()),
};

interface Flags {
  readonly why?: string;
  readonly at?: number;
  readonly group?: string;
  readonly save: boolean;
  readonly expires?: number;
  readonly wait?: boolean;
  readonly json?: boolean;
}

interface Asked {
  readonly verb: string;
  readonly args: Readonly<Record<string, Json>>;
}

type Word = (values: readonly string[], flags: Flags) => Asked;

const plain =
  (verb: string): Word =>
  () => ({ verb, args: {} });
const whole =
  (verb: string, name: string): Word =>
  ([value]) => ({ verb, args: { [name]: number(verb, value) } });
const optional =
  (verb: string, name: string): Word =>
  ([value]) => ({
    verb,
    args: value === undefined ? {} : { [name]: value },
  });

/** The words of the command line, each with the command that it becomes. */
const WORDS: Readonly<Record<string, Word>> = {
  pause: plain("pause"),
  continue: plain("continue"),
  step: ([n = "1"]) => ({ verb: "step", args: { n: number("step", n) } }),
  "set-lr": setLr,
  accumulate: whole("setAccumulate", "n"),
  trainable: (match) => ({ verb: "setTrainable", args: { match } }),
  hook: setHook,
  save: optional("save", "name"),
  eval: plain("eval"),
  rollback: optional("rollback", "to"),
  stop: (_values, { save }) => ({ verb: "stop", args: { save } }),
  note: (words) => ({ verb: "note", args: { text: words.join(" ") } }),
  prune: whole("prune", "trial"),
  enqueue: ([params]) => ({ verb: "enqueue", args: { params: json("enqueue", params) } }),
  concurrency: whole("setConcurrency", "n"),
  trials: whole("setTrials", "n"),
};

function number(verb: string, text: string | undefined): number {
  const value = Number(text);
  if (text !== undefined && text.trim() !== "" && Number.isFinite(value)) return value;
  throw new UsageError(`${verb}: expected a number, got ${text === undefined ? "nothing" : `\`${text}\``}.`);
}

function json(verb: string, text: string | undefined): Json {
  try {
    return JSON.parse(text ?? "") as Json;
  } catch {
    throw new UsageError(
      `${verb}: expected JSON such as '{"lr":0.001}', got ${text === undefined ? "nothing" : `\`${text}\``}.`,
    );
  }
}

/** `1e-4` is a rate, `x0.5` a factor on the current one. */
function setLr([text]: readonly string[], { group }: Flags): Asked {
  const isFactor = /^[x×*]/.test(text ?? "");
  const value = number("set-lr", isFactor ? text!.slice(1) : text);
  return { verb: "setLr", args: { [isFactor ? "factor" : "lr"]: value, ...(group !== undefined && { group }) } };
}

function setHook([name, to]: readonly string[]): Asked {
  if (name === undefined || (to !== "on" && to !== "off"))
    throw new UsageError(`hook: expected a name, and on or off: \`${typed("ctl <dir> hook ema off")}\`.`);
  return { verb: "hook", args: { name, enabled: to === "on" } };
}

/** Nobody reads the inbox: the run has ended, was killed, or has no `control()`. */
const NOBODY = 3;
const LOOK_MS = 100;

export async function run(given: string, word: string, values: readonly string[], flags: Flags): Promise<number> {
  const dir = shownPath(given);
  if (!existsSync(dir)) throw noDirectory(dir, `\`${typed("runs")}\` lists runs.`);
  try {
    const { verb, args } = asked(dir, word, values, flags);
    const { why, at, expires, wait, json: asJson } = flags;
    const sent = await sendCommand(dir, {
      verb,
      args,
      via: "ctl",
      ...(why !== undefined && { why }),
      ...(at !== undefined && { at: { step: at } }),
      ...(expires !== undefined && { expires }),
    });
    const row: CommandRow = wait ? await outcome(dir, sent) : { ...sent, state: "waiting" };
    if (asJson) printJson(row);
    else print(describe(row));
    return row.state === "applied" || row.state === "waiting" ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (!(error instanceof ControlError) || error.code !== "not-controllable") throw error;
    reportError(error);
    return NOBODY;
  }
}

function asked(dir: string, word: string, values: readonly string[], flags: Flags): Asked {
  if (Object.hasOwn(WORDS, word)) return WORDS[word]!(values, flags);
  const { allow } = findListener(dir);
  if (allow.includes(word)) return { verb: word, args: json(word, values[0] ?? "{}") as Asked["args"] };
  throw new UsageError(`There is no command \`${word}\`.${didYouMean(word, [...Object.keys(WORDS), ...allow])}`);
}

/** Waits until the journal has the command. Throws where the run ends before. */
async function outcome(dir: string, { id }: Command): Promise<CommandRow> {
  for (;;) {
    const { commands, listener } = await readControl(dir);
    const row = commands.find((each) => each.id === id);
    if (row && row.state !== "waiting") return row;
    if (!row) throw new UsageError("The command was cancelled.");
    if (listener === "dead")
      throw new ControlError("not-controllable", `${dir}: the run ended before it read the command.`);
    await sleep(LOOK_MS);
  }
}

function describe({ verb, state, step, reason, id }: CommandRow): string {
  if (state === "waiting") return `${verb} was sent (${id}); the run does it at the end of a step`;
  return `${verb} ${state} after step ${step}${reason === undefined ? "" : `: ${reason}`}`;
}
