// One part of a run under control: reads the inbox beside the training, and carries out its commands when the loop asks.
import type { ContextOf } from "../../core/context.ts";
import { OptionError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { builtin } from "../../platform/builtin.ts";
import { checkArgs } from "../../runs/control/commands.ts";
import { ControlError } from "../../runs/control/control-error.ts";
import { ControlInbox, type Received } from "../../runs/control/inbox.ts";
import { ControlJournal } from "../../runs/control/journal.ts";
import type { Bounds, Command, ControlHello, JournalLine } from "../../runs/control/types.ts";
import { carryOut, type CommandContext, resolveCommand } from "./as-verbs.ts";
import { readScript, Replay } from "./replay.ts";

export interface DeskSettings {
  readonly allow: readonly string[];
  readonly bounds: Bounds;
  readonly own: readonly string[];
  readonly maxPause: number | undefined;
  readonly look: number;
  readonly replay: boolean;
  readonly script: string | readonly JournalLine[] | undefined;
}

export interface DeskState {
  readonly run: string;
  readonly last: string | null;
}

const HELLO_MS = 5000;
/** Evaluations and saves that take longer are shown. */
const LONG_MS = 1000;

export class ControlDesk {
  readonly #ctx: ContextOf<"trainBegin">;
  readonly #settings: DeskSettings;
  readonly #warn: (message: string) => void;
  readonly #run: string;
  readonly #part = Date.now();
  readonly #inbox: ControlInbox | undefined;
  readonly #saved: DeskState | undefined;
  #journal: ControlJournal | undefined;
  #replay: Replay;
  #last: string | null;
  #waiting: Received[] = [];
  readonly #known = new Set<string>();
  #state: ControlHello["state"] = "running";
  /** Pauses after this step, for the command `step`. */
  #pauseAt = Infinity;
  /** The pause is over as soon as what it is for is done: it was only to repeat what was done in one, or is too long. */
  #pauseEnds = false;
  #doing: ControlHello["doing"];
  #doingTimer: ReturnType<typeof setTimeout> | undefined;
  #timers: { close(): void }[] = [];
  #pauseTimer: ReturnType<typeof setTimeout> | undefined;

  /** `saved` is the state of the checkpoint that the run is resumed from, if any. */
  constructor(
    ctx: ContextOf<"trainBegin">,
    settings: DeskSettings,
    saved: DeskState | undefined,
    warn: (message: string) => void,
  ) {
    this.#ctx = ctx;
    this.#settings = settings;
    this.#warn = warn;
    this.#run = ctx.checkpoints.runId;
    // A branch begins its own journal, and repeats nothing.
    this.#saved = saved?.run === this.#run ? saved : undefined;
    this.#last = this.#saved?.last ?? null;
    const script = settings.script === undefined ? [] : readScript(settings.script);
    this.#replay = new Replay([], script, { last: null, step: ctx.step });
    const dir = ctx.config["runDir"];
    if (typeof dir === "string") this.#inbox = new ControlInbox(dir, warn);
    else if (settings.script === undefined)
      throw new OptionError(`control: commands come through files: give the trainer \`runDir: "runs/digits"\`.`);
  }

  get state(): DeskState {
    return { run: this.#run, last: this.#last };
  }

  async open(ctx: ContextOf<"trainBegin">): Promise<void> {
    if (this.#inbox) await this.#openFiles(ctx, this.#inbox);
    ctx.wake(this.#replay.nextStep);
    if (this.#replay.nextStep > ctx.step || ctx.step === 0) return;
    this.#pauseEnds = true;
    ctx.pause("to repeat what was done during a pause");
  }

  async #openFiles(ctx: ContextOf<"trainBegin">, inbox: ControlInbox): Promise<void> {
    const { replay, script, look } = this.#settings;
    const lock = await ctx.checkpoints.lock();
    if (lock) this.#timers.push({ close: () => lock.release() });
    const journal = new ControlJournal(ctx.config["runDir"] as string, this.#run, this.#part, lock);
    this.#journal = journal;
    this.#timers.push(journal);
    for (const line of journal.lines) if (line.state !== "part") this.#known.add(line.id);
    const part = { state: "part", part: this.#part, step: ctx.step, after: this.#last, replay } as const;
    const lines = replay ? journal.lines : [];
    const others = script === undefined ? [] : readScript(script);
    this.#replay = new Replay(lines, others, { last: this.#last, step: ctx.step });
    journal.append(part);
    const watching = ctx.hooks.watchInterventions(({ command, refused, step, epoch }) => {
      if (command !== undefined && refused !== undefined) this.#refusedLater(command, refused, step, epoch);
    });
    this.#timers.push({ close: watching });
    this.#sayHello();
    const looking = setInterval(() => this.#look(), look);
    const greeting = setInterval(() => this.#sayHello(), HELLO_MS);
    for (const timer of [looking, greeting]) {
      timer.unref();
      this.#timers.push({ close: () => clearInterval(timer) });
    }
    this.#watch(inbox.path);
  }

  /** Only to be sooner than the timer: not every file system reports new files. */
  #watch(path: string): void {
    try {
      const watcher = builtin("control", "node:fs").watch(path, { persistent: false }, () => this.#look());
      watcher.on("error", () => watcher.close());
      this.#timers.push(watcher);
    } catch {
      // The timer looks.
    }
  }

  #look(): void {
    if (!this.#inbox) return;
    try {
      const before = this.#waiting;
      this.#waiting = this.#inbox.list(before);
      for (const each of this.#waiting) if (!before.includes(each)) this.#ctx.wake(each.command.at?.step ?? 0);
    } catch (error) {
      this.#warn(`the inbox could not be read: ${messageOf(error)}`);
    }
  }

  #sayHello(): void {
    if (!this.#inbox) return;
    const { allow, bounds } = this.#settings;
    const { step, worldSize, hooks, optimizers, checkpoints, config } = this.#ctx;
    const groups = optimizers.flatMap((optimizer) => optimizer.groups);
    try {
      this.#inbox.sayHello({
        run: this.#run,
        part: this.#part,
        worldSize,
        state: this.#state,
        ...(this.#doing && { doing: this.#doing }),
        step,
        lr: groups.map(({ lr }) => lr),
        scheduledLr: groups.map(({ scheduledLr }) => scheduledLr),
        accumulate: this.#ctx.accumulate,
        allow,
        bounds,
        hooks: hooks.list().map(({ name, stage, enabled }) => ({ name, stage, enabled })),
        held: checkpoints.holders(),
        checkpoints: checkpoints.enabled,
        evals: config["eval"] !== undefined,
      });
    } catch (error) {
      this.#warn(`hello.json was not written: ${messageOf(error)}`);
    }
  }

  paused(ctx: ContextOf<"pause">): void {
    this.#state = "paused";
    this.#sayHello();
    const { maxPause } = this.#settings;
    if (maxPause !== undefined) this.#pauseTimer = setTimeout(() => this.#endPause(), maxPause * 1000);
    if (this.#replay.nextStep <= ctx.step || this.#waiting.length > 0) ctx.wake();
  }

  #endPause(): void {
    this.#pauseTimer = undefined;
    this.#pauseEnds = true;
    this.#ctx.wake();
  }

  continued(): void {
    clearTimeout(this.#pauseTimer);
    this.#pauseEnds = false;
    this.#state = "running";
    this.#sayHello();
  }

  /** An evaluation or a save has begun: worth a word only where it takes long. */
  begins(doing: NonNullable<ControlHello["doing"]>): void {
    clearTimeout(this.#doingTimer);
    this.#doingTimer = setTimeout(() => {
      this.#doing = doing;
      this.#sayHello();
    }, LONG_MS);
    this.#doingTimer.unref();
  }

  /** It is done. */
  ends(): void {
    clearTimeout(this.#doingTimer);
    if (this.#doing === undefined) return;
    this.#doing = undefined;
    this.#sayHello();
  }

  async command(ctx: CommandContext): Promise<void> {
    const { step, settled } = ctx;
    for (let line = this.#replay.take(step, settled); line; line = this.#replay.take(step, settled))
      await this.#repeat(ctx, line);
    if (settled && this.#pauseEnds) {
      this.#pauseEnds = false;
      ctx.continue("the pause is over");
    } else if (!settled && this.#replay.nextStep <= step) {
      this.#pauseEnds = true;
      ctx.pause("to repeat what was done during a pause");
    }
    if (step >= this.#pauseAt && !settled) {
      this.#pauseAt = Infinity;
      ctx.pause("the steps that were asked for are done");
    }
    const due = this.#waiting.filter(({ command }) => (command.at?.step ?? 0) <= step);
    for (const received of due) await this.#decide(ctx, received);
    if (due.length > 0) this.#sayHello();
    const later = this.#waiting.map(({ command }) => command.at!.step);
    ctx.wake(Math.min(this.#replay.nextStep, this.#pauseAt, ...later));
  }

  /** Journals a command and carries it out, or refuses it. */
  async #decide(ctx: CommandContext, { command, name }: Received): Promise<void> {
    const inbox = this.#inbox!;
    this.#waiting = this.#waiting.filter((each) => each.name !== name);
    const { run, part, id, verb, args, at, sentAt, expires } = command;
    // It was sent twice, or the process ended before its file was removed.
    if (this.#known.has(id)) return inbox.remove(name);
    const taken = inbox.take(name);
    if (taken === undefined) return;
    if (run !== this.#run || part !== this.#part)
      this.#journalize(ctx, command, { state: "expired", reason: "It was sent to another part of the run." });
    else if (!at && Date.now() > sentAt + expires * 1000)
      this.#journalize(ctx, command, { state: "expired", reason: `It waited for more than ${expires} s.` });
    else {
      try {
        checkArgs(verb, args, this.#settings);
        const ask = resolveCommand(ctx, command, this.#settings);
        this.#journalize(ctx, command, { state: "applied", ask });
        await this.#carryOut(ctx, command, ask, { by: command.by, command: id });
      } catch (error) {
        this.#journalize(ctx, command, { state: "refused", reason: messageOf(error) });
        if (!(error instanceof ControlError)) this.#warn(`${verb}: ${messageOf(error)}`);
      }
    }
    inbox.remove(taken);
  }

  async #repeat(ctx: CommandContext, line: JournalLine): Promise<void> {
    const {
      ask = {},
      state: _state,
      step: _step,
      epoch: _epoch,
      time: _time,
      replayOf: _before,
      settled: _s,
      ...command
    } = line;
    const replayOf = line.id;
    try {
      this.#journalize(ctx, command, { state: "applied", ask, replayOf });
      await this.#carryOut(ctx, command, ask, { by: line.by, command: line.id, replayOf });
    } catch (error) {
      this.#journalize(ctx, command, { state: "refused", reason: messageOf(error), replayOf });
      this.#warn(`\`${line.verb}\` of step ${line.step} could not be repeated: ${messageOf(error)}`);
    }
  }

  /** The last command of a checkpoint is one that was carried out. */
  async #carryOut(
    ctx: CommandContext,
    command: Command,
    ask: NonNullable<JournalLine["ask"]>,
    behalf: Parameters<CommandContext["onBehalf"]>[0],
  ): Promise<void> {
    const doing: Promise<void>[] = [];
    const steps = { pauseAt: (step: number) => void (this.#pauseAt = step) };
    ctx.onBehalf(behalf, () => void doing.push(Promise.resolve(carryOut(ctx, command, ask, steps))));
    await Promise.all(doing);
    this.#last = command.id;
  }

  #journalize(
    ctx: CommandContext,
    command: Command,
    outcome: Pick<JournalLine, "state" | "ask" | "reason" | "replayOf">,
  ): void {
    const { step, epoch, settled } = ctx;
    this.#known.add(command.id);
    this.#journal?.append({ ...command, step, epoch, time: Date.now(), ...(settled && { settled }), ...outcome });
    this.#decided.set(command.id, command);
  }

  readonly #decided = new Map<string, Command>();

  #refusedLater(id: string, reason: string, step: number, epoch: number): void {
    const command = this.#decided.get(id);
    if (command) this.#journal?.append({ ...command, state: "refused", step, epoch, time: Date.now(), reason });
  }

  /** The training is over. */
  end(): void {
    this.#state = "ended";
    this.#sayHello();
  }

  close(): void {
    clearTimeout(this.#pauseTimer);
    clearTimeout(this.#doingTimer);
    for (const timer of this.#timers.splice(0).toReversed()) timer.close();
    this.#journal = undefined;
  }
}
