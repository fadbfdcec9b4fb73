// Live control of a study: takes commands out of its inbox, checks them, and hands them to the controller, which writes
// them to the journal.
import { builtin } from "../platform/builtin.ts";
import { messageOf } from "../core/maybe.ts";
import { checkArgs, commandsOf, touches } from "../runs/control/commands.ts";
import { ControlError } from "../runs/control/control-error.ts";
import { journalFile } from "../runs/control/control-files.ts";
import { ControlInbox, type Received } from "../runs/control/inbox.ts";
import { appliedHistory, readJournal } from "../runs/control/journal.ts";
import type { Command } from "../runs/control/types.ts";
import type { CommandEntry } from "./journal-format.ts";
import type { StudyPlan } from "./study-options.ts";
import type { StudyStore } from "./study-store.ts";

interface DeskOptions {
  readonly dir: string;
  readonly plan: StudyPlan;
  readonly store: StudyStore;
  readonly warn: (message: string) => void;
}

const LOOK_MS = 250;
const HELLO_MS = 5000;
const ALLOW = commandsOf("study");
const ENDED = ["completed", "pruned", "failed"];

export class StudyDesk {
  readonly #options: DeskOptions;
  readonly #inbox: ControlInbox;
  readonly #part = Date.now();
  #waiting: Received[] = [];
  #hasEnded = false;
  #timers: { close(): void }[] = [];
  /** Sizes of the journals of trials at the last look. */
  readonly #sizes = new Map<string, number>();

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#inbox = new ControlInbox(options.dir, options.warn);
  }

  /** @param wake called while commands wait */
  open(wake: () => void): void {
    this.sayHello();
    const look = (): void => {
      try {
        this.#waiting = this.#inbox.list(this.#waiting);
      } catch (error) {
        this.#options.warn(`The inbox could not be read: ${messageOf(error)}`);
      }
      if (this.#waiting.length > 0) wake();
    };
    const timers = [setInterval(look, LOOK_MS), setInterval(() => this.sayHello(), HELLO_MS)];
    for (const timer of timers) timer.unref();
    this.#timers = timers.map((timer) => ({ close: () => clearInterval(timer) }));
    try {
      const watcher = builtin("Study", "node:fs").watch(this.#inbox.path, { persistent: false }, look);
      watcher.on("error", () => watcher.close());
      this.#timers.push(watcher);
    } catch {
      // The timer looks.
    }
  }

  /** Whether anybody wants something. */
  get hasNews(): boolean {
    return this.#waiting.length > 0;
  }

  /** Decides on the commands that wait. `write` puts the decision on the disk and carries it out. */
  decide(write: (entry: CommandEntry) => void): void {
    const received = this.#waiting;
    this.#waiting = [];
    for (const { command, name } of received) {
      const taken = this.#options.store.state.decided.has(command.id) ? name : this.#inbox.take(name);
      // It was cancelled just now.
      if (taken === undefined) continue;
      if (!this.#options.store.state.decided.has(command.id)) write(this.#decision(command));
      this.#inbox.remove(taken);
    }
    if (received.length > 0) this.sayHello();
  }

  #decision(command: Command): CommandEntry {
    const { id, verb, args, by, via, why, sentAt, expires } = command;
    const about = {
      type: "command",
      id,
      verb,
      args,
      by,
      via,
      sentAt,
      expires,
      ...(why !== undefined && { why }),
    } as const;
    const { study } = this.#options.store.state;
    if (command.run !== study?.id || command.part !== this.#part)
      return { ...about, state: "expired", reason: "It was sent to another controller of the study." };
    if (Date.now() > sentAt + expires * 1000)
      return { ...about, state: "expired", reason: `It waited for more than ${expires} s.` };
    try {
      checkArgs(verb, args, { allow: ALLOW, bounds: {} });
      const problem = this.#problem(command);
      return problem === undefined ? { ...about, state: "applied" } : { ...about, state: "refused", reason: problem };
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      return { ...about, state: "refused", reason: error.message };
    }
  }

  /** Why the study cannot do this. */
  #problem({ verb, args, at }: Command): string | undefined {
    const { plan, store } = this.#options;
    const { trials, paused } = store.state;
    if (at) return "A study has no steps: send it without `at`.";
    switch (verb) {
      case "continue":
        return paused ? undefined : "The study is not paused.";
      case "prune": {
        const trial = trials[args["trial"] as number];
        if (!trial) return `There is no trial ${args["trial"] as number}: the last one is ${trials.length - 1}.`;
        return ENDED.includes(trial.status) ? `Trial ${trial.number} has ended: ${trial.status}.` : undefined;
      }
      case "enqueue":
        return problemOf(() => plan.space.check(args["params"] as never));
      case "setConcurrency": {
        const { size = Infinity, name } = plan.runner;
        return (args["n"] as number) > size ? `${name} runs ${size} at once.` : undefined;
      }
      case "setTrials": {
        const { size = Infinity, name } = plan.sampler;
        const most = size + store.state.added;
        return (args["n"] as number) > most ? `${name} has ${most} trials in all.` : undefined;
      }
      default:
        return undefined;
    }
  }

  /** Whether a person has changed the training of the trial in this directory. */
  isTouched(runDir: string): boolean {
    const file = journalFile(runDir);
    const size = builtin("Study", "node:fs").lstatSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size === (this.#sizes.get(runDir) ?? 0)) return false;
    this.#sizes.set(runDir, size);
    return appliedHistory(readJournal(file).lines).some(({ verb }) => touches(verb));
  }

  /** Replaces hello.json. */
  sayHello(): void {
    const { totalTrials, state } = this.#options.store;
    const { study, paused, trials } = state;
    try {
      this.#inbox.sayHello({
        run: study!.id ?? "",
        part: this.#part,
        worldSize: 1,
        state: this.#hasEnded ? "ended" : paused ? "paused" : "running",
        step: trials.length,
        lr: [],
        scheduledLr: [],
        accumulate: 1,
        allow: ALLOW,
        bounds: {},
        hooks: [],
        checkpoints: false,
        evals: false,
        ...(totalTrials < Infinity && { totalTrials }),
      });
    } catch (error) {
      this.#options.warn(`hello.json was not written: ${messageOf(error)}`);
    }
  }

  close(): void {
    for (const timer of this.#timers.splice(0)) timer.close();
    this.#hasEnded = true;
    this.sayHello();
  }
}

function problemOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
