// The commands of live control, one row each: their arguments, and what a resumed run and a study make of them. To add
// one, add a row and carry it out in src/hooks/control/.
import { didYouMean } from "../../core/names.ts";
import { type Check, is, show } from "../../core/options.ts";
import { ControlError } from "./control-error.ts";
import type { Bounds, Command, CommandArgs, ControlHello } from "./types.ts";

interface CommandInfo {
  readonly does: string;
  readonly args: Readonly<Record<string, Check>>;
  readonly required?: readonly string[];
  /** Which directories accept it. Default `run`. */
  readonly of?: "run" | "study" | "both";
  /** Whether a resumed or repeated run carries it out again. */
  readonly replays?: boolean;
  /** Whether a trial changed by it no longer shows what its parameters alone lead to. */
  readonly touches?: boolean;
  /** What is wrong with arguments that are fine one by one. */
  readonly problem?: (args: CommandArgs) => string | undefined;
}

const MOST_STEPS = 1_000_000_000;
const LONGEST_NOTE = 1000;

const note: Check = {
  expected: `a text of up to ${LONGEST_NOTE} characters`,
  test: (value) => typeof value === "string" && value !== "" && value.length <= LONGEST_NOTE,
};

/** The commands of live control by name, with their arguments. */
export const COMMANDS = {
  pause: { does: "waits after the current step", args: {}, of: "both" },
  continue: { does: "ends a pause", args: {}, of: "both" },
  step: { does: "trains for `n` more steps, then pauses", args: { n: is.between(1, MOST_STEPS) } },
  setLr: {
    does: "another learning rate `lr`, or the current one times `factor`; of all groups, or of `group`",
    args: { lr: is.positive, factor: is.positive, group: is.or(is.name, is.wholeFrom(0)) },
    replays: true,
    touches: true,
    problem: ({ lr, factor }) =>
      (lr === undefined) === (factor === undefined) ? "give either `lr` or `factor`" : undefined,
  },
  setAccumulate: {
    does: "`n` micro-batches make a step",
    args: { n: is.wholeFrom(1) },
    required: ["n"],
    replays: true,
    touches: true,
  },
  setTrainable: {
    does: "trains only the parameters that `match`",
    args: { match: is.or(is.name, is.arrayOf(is.name)) },
    required: ["match"],
    replays: true,
    touches: true,
  },
  hook: {
    does: "switches hook `name` on or off",
    args: { name: is.name, enabled: is.boolean },
    required: ["name", "enabled"],
    replays: true,
    touches: true,
  },
  save: { does: "a checkpoint now, named `name`", args: { name: is.name }, replays: true },
  eval: { does: "an evaluation now", args: {}, replays: true },
  rollback: {
    does: "returns to the newest checkpoint, or to the one named `to`",
    args: { to: is.name },
    replays: true,
    touches: true,
  },
  stop: { does: "ends the run, after a checkpoint unless `save` is false", args: { save: is.boolean }, of: "both" },
  note: { does: "adds a remark to the record of interventions", args: { text: note }, required: ["text"] },
  prune: { does: "ends trial `trial` early", args: { trial: is.wholeFrom(0) }, required: ["trial"], of: "study" },
  enqueue: { does: "adds a trial with these `params`", args: { params: is.object }, required: ["params"], of: "study" },
  setConcurrency: { does: "`n` trials at a time", args: { n: is.wholeFrom(1) }, required: ["n"], of: "study" },
  setTrials: { does: "`n` trials in all", args: { n: is.wholeFrom(1) }, required: ["n"], of: "study" },
} satisfies Record<string, CommandInfo>;

/** The name of a command of live control. */
export type CommandName = keyof typeof COMMANDS;

const ROWS: Readonly<Record<string, CommandInfo>> = COMMANDS;

/** The commands that a run, or a study, understands. */
export const commandsOf = (owner: "run" | "study"): CommandName[] =>
  (Object.keys(COMMANDS) as CommandName[]).filter((name) => ["both", owner].includes(ROWS[name]!.of ?? "run"));

/** Whether a resumed or repeated run carries the command out again. A command of the user's own is. */
export const replays = (verb: string): boolean => !Object.hasOwn(ROWS, verb) || ROWS[verb]!.replays === true;

/** Whether a command makes the result of a trial one that its parameters alone do not lead to. */
export const touches = (verb: string): boolean => !Object.hasOwn(ROWS, verb) || ROWS[verb]!.touches === true;

const ID = /^[0-9A-Za-z-]{8,64}$/;
const LONGEST_TEXT = 2000;
const text: Check = {
  expected: `a string of up to ${LONGEST_TEXT} characters`,
  test: (value) => typeof value === "string" && value.length <= LONGEST_TEXT,
};
const at: Check = {
  expected: "{ step: a whole number ≥ 1 }",
  test: (value) => is.object.test(value) && is.wholeFrom(1).test((value as { step?: unknown }).step),
};

const FIELDS: Readonly<Record<string, Check>> = {
  v: { expected: "1", test: (value) => value === 1 },
  id: {
    expected: "8 to 64 letters, digits and dashes",
    test: (value) => typeof value === "string" && ID.test(value),
  },
  run: is.name,
  part: is.positive,
  verb: is.name,
  args: is.object,
  by: text,
  via: text,
  sentAt: is.nonNegative,
  expires: is.positive,
};
const OPTIONAL: Readonly<Record<string, Check>> = { why: text, at };

/** Checks the form of a command, but not whether a run accepts it. */
export function checkCommand(value: unknown): Command {
  if (!is.object.test(value)) throw new ControlError("bad-command", `A command is an object, got ${show(value)}.`);
  const given = value as Readonly<Record<string, unknown>>;
  for (const [field, check] of Object.entries({ ...FIELDS, ...OPTIONAL })) {
    if (given[field] === undefined && Object.hasOwn(OPTIONAL, field)) continue;
    if (!check.test(given[field]))
      throw new ControlError(
        "bad-command",
        `A command's \`${field}\` must be ${check.expected}, got ${show(given[field])}.`,
      );
  }
  return value as Command;
}

/** Throws where a run with this hello would not carry out the command: unknown, not allowed, wrong or out of bounds. */
export function checkArgs(verb: string, args: CommandArgs, hello: Pick<ControlHello, "allow" | "bounds">): void {
  const { allow, bounds } = hello;
  if (!allow.includes(verb)) {
    const known = Object.hasOwn(ROWS, verb) ? ` \`allow\` of control() decides.` : didYouMean(verb, allow);
    throw new ControlError(
      "not-allowed",
      `This run does not accept \`${verb}\`.${known} It accepts ${allow.join(", ")}.`,
    );
  }
  if (!Object.hasOwn(ROWS, verb)) return;
  const { args: checks, required = [], problem } = ROWS[verb]!;
  const wrong = (what: string): ControlError => new ControlError("bad-command", `\`${verb}\`: ${what}.`);
  for (const name of Object.keys(args)) {
    const known = Object.keys(checks);
    if (!known.includes(name))
      throw wrong(`unknown argument \`${name}\`.${didYouMean(name, known)} Known: ${known.join(", ") || "none"}`);
  }
  for (const [name, check] of Object.entries(checks)) {
    if (args[name] === undefined ? required.includes(name) : !check.test(args[name]))
      throw wrong(`expected \`${name}\` to be ${check.expected}, got ${show(args[name])}`);
  }
  const together = problem?.(args);
  if (together !== undefined) throw wrong(together);
  if (verb === "setAccumulate") checkBound("accumulate", args["n"] as number, bounds);
}

/** Throws where a number is out of the range that the run's `bounds` allow. */
export function checkBound(name: string, value: number, bounds: Bounds, unit = ""): void {
  const range = bounds[name];
  if (!range || (value >= range[0] && value <= range[1])) return;
  throw new ControlError(
    "bounds",
    `\`${name}\` is ${value}${unit}, out of the bounds of this run: ${range[0]} to ${range[1]}${unit}.`,
  );
}

/** Throws where new rates are out of bounds, which are factors on what the schedule alone would make of each. */
export function checkRates(rates: readonly number[], scheduled: readonly number[], bounds: Bounds): void {
  rates.forEach((rate, i) => {
    const base = scheduled[i] ?? 0;
    if (base > 0) checkBound("lr", rate / base, bounds, " × the schedule's rate");
  });
}
