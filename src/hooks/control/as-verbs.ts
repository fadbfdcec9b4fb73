// Commands as verbs: what a command asks is resolved first (rates instead of a factor), so that the journal has what a
// replay needs, and carried out then.
import type { ContextOf } from "../../core/context.ts";
import { didYouMean } from "../../core/names.ts";
import { checkBound, checkRates } from "../../runs/control/commands.ts";
import { ControlError } from "../../runs/control/control-error.ts";
import type { Bounds, Command, CommandArgs } from "../../runs/control/types.ts";

export type CommandContext = ContextOf<"command">;

/** Hooks that only `hook:<name>` in `allow` lets a command switch. */
const PROTECTED = ["control", "logger", "modelCheckpoint"];

interface Rules {
  readonly allow: readonly string[];
  readonly bounds: Bounds;
}

const refuse = (why: string): never => {
  throw new ControlError("not-allowed", why);
};

/** What the command comes to in this run. Throws a ControlError where it cannot be carried out. */
export function resolveCommand(ctx: CommandContext, { verb, args }: Command, rules: Rules): CommandArgs {
  switch (verb) {
    case "continue":
      return ctx.settled ? {} : refuse("The run is not paused.");
    case "setLr":
      return { rates: newRates(ctx, args, rules.bounds) };
    case "setAccumulate":
      checkBound("accumulate", args["n"] as number, rules.bounds);
      return args;
    case "hook":
      return switchedHook(ctx, args, rules.allow);
    case "save":
      return ctx.checkpoints.enabled ? args : refuse("The run has no place for checkpoints: give it a `runDir`.");
    case "eval":
      return ctx.config["eval"] === undefined ? refuse("The run has no evaluation data.") : args;
    case "rollback":
      return { to: rollbackTarget(ctx, args["to"] as string | undefined) };
    default:
      return args;
  }
}

/** The new rate of every group; null for those that are left as they are. */
function newRates(ctx: CommandContext, { lr, factor, group }: CommandArgs, bounds: Bounds): (number | null)[] {
  const groups = ctx.optimizers.flatMap((optimizer) => optimizer.groups);
  const isMeant = (name: string, i: number): boolean => group === undefined || group === name || group === i;
  if (!groups.some(({ name }, i) => isMeant(name, i))) {
    const names = groups.map(({ name }) => name);
    const asked = typeof group === "string" ? group : JSON.stringify(group);
    refuse(`There is no parameter group \`${asked}\`.${didYouMean(asked, names)} Groups: ${names.join(", ")}.`);
  }
  const rates = groups.map(({ name, lr: current }, i) =>
    isMeant(name, i) ? ((lr as number | undefined) ?? current * (factor as number)) : null,
  );
  checkRates(
    rates.map((rate, i) => rate ?? groups[i]!.scheduledLr),
    groups.map(({ scheduledLr }) => scheduledLr),
    bounds,
  );
  return rates;
}

function switchedHook(ctx: CommandContext, args: CommandArgs, allow: readonly string[]): CommandArgs {
  const name = args["name"] as string;
  const known = ctx.hooks.list().map((hook) => hook.name);
  if (!known.includes(name))
    refuse(`No hook is named \`${name}\`.${didYouMean(name, known)} Registered: ${known.join(", ")}.`);
  if (PROTECTED.includes(name) && !allow.includes(`hook:${name}`))
    refuse(`\`${name}\` cannot be switched by a command, unless \`allow\` of control() has \`hook:${name}\`.`);
  return args;
}

function rollbackTarget(ctx: CommandContext, to: string | undefined): string {
  const names = ctx.checkpoints.list().map(({ name }) => name);
  const newest = names.at(-1) ?? refuse("The run has no checkpoint yet.");
  if (to === undefined) return newest;
  if (!names.includes(to)) refuse(`There is no checkpoint \`${to}\`.${didYouMean(to, names)} The newest is ${newest}.`);
  return to;
}

/** What carrying out `step` leaves to be done. */
export interface Steps {
  /** Pauses again after this step. */
  pauseAt(step: number): void;
}

/** Calls the verbs of a resolved command. A promise only where a hook of the user's own does its command. */
export function carryOut(
  ctx: CommandContext,
  command: Pick<Command, "verb" | "by" | "why">,
  ask: CommandArgs,
  steps: Steps,
): void | Promise<void> {
  const { verb, by, why = `asked for by ${by}` } = command;
  switch (verb) {
    case "pause":
      return ctx.pause(why);
    case "continue":
      return ctx.continue(why);
    case "step":
      steps.pauseAt(ctx.step + ((ask["n"] as number | undefined) ?? 1));
      return ctx.settled ? ctx.continue(why) : undefined;
    case "setLr":
      return setRates(ctx, ask["rates"] as readonly (number | null)[], why);
    case "setAccumulate":
      return ctx.setAccumulate(ask["n"] as number, why);
    case "setTrainable":
      return ctx.setTrainable(ask["match"] as string | string[], why);
    case "hook":
      return ctx.setHook(ask["name"] as string, ask["enabled"] as boolean, why);
    case "save":
      return ctx.requestSave("request", ask["name"] === undefined ? {} : { name: ask["name"] as string });
    case "eval":
      return ctx.requestEval(why);
    case "rollback":
      return ctx.rollback(ask["to"] as string, why);
    case "stop":
      if (ask["save"] !== false && ctx.checkpoints.enabled) ctx.requestSave("request");
      return ctx.stop(why);
    case "note":
      return ctx.remark(ask["text"] as string);
    default:
      return ctx.hooks.fireCustom(verb, ask);
  }
}

function setRates(ctx: CommandContext, rates: readonly (number | null)[], why: string): void {
  const left = rates.values();
  if (rates.every((rate) => rate !== null)) return ctx.setLr(() => left.next().value!, why);
  for (const { groups } of ctx.optimizers) {
    for (const group of groups) {
      const rate = left.next().value;
      if (rate !== null && rate !== undefined) group.lr = rate;
    }
  }
  return undefined;
}
