// logger: sends what each boundary logs to any number of backends. A backend that fails does not affect the others.
import { checkCadence } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.ts";
import { LockLostError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import type { Disposer } from "../../core/registry/registry.ts";
import { component } from "../../core/component.ts";
import type { Json } from "../../core/options.ts";
import { redact, secretsOfEnvironment } from "../../platform/redact.ts";
import { messageOf } from "../../core/maybe.ts";
import type { HeldLock } from "../../core/saving.ts";
import type { LoggerBackend } from "../../loggers/backend.ts";
import { BACKENDS, checkBackend, type BackendSpec } from "../../loggers/catalogue.ts";
import type { LastRecord, LogRecord, RunEnd, RunEvent, RunFacts } from "../../runs/types.ts";
import { warnUser } from "../../platform/print.ts";
import { HookNotes } from "./hook-notes.ts";
import { SOON_MS, Watched } from "./watched.ts";
import { endsLater, weightsStep } from "./experiment-run.ts";
import { loggerTakes, type LoggerOptions } from "./logger-options.ts";
import { Failures, interventionEvent } from "./run-events.ts";
import { about, hparamsOf, withoutSecrets } from "./run-facts.ts";

export type { LoggerOptions };

type Opening = ContextOf<"trainBegin"> | ContextOf<"evalEnd">;

/** A logger's part of a checkpoint. */
interface SavedLogger {
  /** The run's. */
  readonly id: string;
  /** Checkpoints of 0.1.0 have neither this nor `waiting`. */
  readonly last?: LastRecord;
  /** Scalars that wait for the next record of a logger with a cadence of its own. */
  readonly waiting?: Readonly<Record<string, number>>;
}

const NO_RECORD: LastRecord = { step: -1, count: 0 };

/**
 * @example
 * logger(["console", "jsonl", "tensorboard"])
 * logger(["console", wandb({ project: "digits" })], { hparams: { hidden: 256 } })
 */
export const logger = /* @__PURE__ */ component(
  {
    kind: "hook",
    name: "logger",
    takes: loggerTakes,
  },
  makeLogger,
);

function makeLogger(backends: BackendSpec | readonly BackendSpec[], options: LoggerOptions = {}): Hook {
  const specs = (Array.isArray(backends) ? backends : [backends]) as readonly BackendSpec[];
  for (const spec of specs) checkBackend(spec);
  const { name = "logger", every, flushEvery = 2, data = true, prefix = "" } = options;
  if (every !== undefined) checkCadence("logger", every);
  const rates = new Rates();
  const hookNotes = new HookNotes();
  const watched = new Watched();
  const failures = new Failures();
  let outputs: GuardedBackend[] | undefined;
  let lock: HeldLock | undefined;
  let secrets: readonly string[] = [];
  let id = "";
  /** The newest record; undefined after a checkpoint of 0.1.0. */
  let last: LastRecord | undefined = NO_RECORD;
  /** Whether the files end where this logger left them. */
  let isContinued = false;
  let flushedAt = 0;
  let scalars: Record<string, number> = {};
  let media: Record<string, ContextOf<"log">["media"][string]> = {};
  let ended: Pick<RunEnd, "status" | "reason"> | undefined;
  let watching: Disposer | undefined;

  async function open(ctx: Opening): Promise<void> {
    secrets = secretsOfEnvironment();
    const { config, totalSteps, step } = ctx;
    const resumedAt = step > 0 ? step : undefined;
    // After a checkpoint of 0.1.0, every record up to its step is kept.
    last = resumedAt === undefined ? NO_RECORD : (last ?? { step, count: Infinity });
    if (resumedAt === undefined) [scalars, media, isContinued] = [{}, {}, false];
    const dir = typeof config.runDir === "string" ? config.runDir : undefined;
    id ||= globalThis.crypto.randomUUID().slice(0, 8);
    const warn = (message: string): void => warnUser(config, redact(`${name}: ${message}`, secrets));
    const made = await Promise.all(
      specs.map(async (spec) => (typeof spec === "string" ? BACKENDS[spec].load() : spec)),
    );
    lock?.release();
    lock = await ctx.checkpoints.lock();
    const facts = {
      dir,
      name: redact(options.run ?? dir?.split(/[/\\]/).findLast(Boolean) ?? `run-${id}`, secrets),
      id,
      resumedAt,
      ...(resumedAt !== undefined && { lastRecord: last }),
      ...(isContinued && { continued: true }),
      startedAt: Date.now(),
      hparams: (withoutSecrets(hparamsOf(ctx, options.hparams), secrets) ?? {}) as Record<string, Json>,
      about: await about(ctx, secrets),
      totalSteps,
      lock: lock && { file: lock.file, text: lock.text },
    };
    outputs = made.map((backend) => new GuardedBackend(backend, warn));
    // A backend that cannot be opened is a mistake in the program, so it stops the run before the first step.
    for (const output of outputs) await output.open(facts);
    isContinued = true;
    watched.look(performance.now(), dir);
    flushedAt = performance.now();
  }

  /** The next log can be far away: the event is flushed within these milliseconds. */
  function emit(event: RunEvent, within = flushEvery * 1000): void {
    const clean = { ...event, details: (withoutSecrets(event.details, secrets) ?? {}) as Record<string, Json> };
    for (const output of outputs ?? []) output.event(clean);
    const now = performance.now();
    watched.flushAt(now + within, now, flush);
  }

  async function flush(): Promise<void> {
    watched.flushed();
    flushedAt = performance.now();
    await Promise.all((outputs ?? []).map((output) => output.flush()));
  }

  /** Loops, not spread: this may run at every step, and copies of objects take several times as long. */
  function gather(ctx: Pick<ContextOf<"log">, "logged" | "media">): void {
    const { logged, media: added } = ctx;
    // The record has a field for the epoch.
    for (const metric of Object.keys(logged)) if (metric !== "epoch") scalars[metric] = logged[metric]!;
    for (const title in added) {
      const each = added[title]!;
      media[title] = each.kind === "text" ? { ...each, text: redact(each.text, secrets) } : each;
    }
  }

  function write(ctx: Counters & Pick<ContextOf<"log">, "epoch" | "elapsed">, ofWeights?: number): void {
    const record = {
      step: ctx.step,
      ...(ofWeights !== undefined && { weightsStep: ofWeights }),
      epoch: ctx.epoch,
      time: Date.now(),
      elapsed: ctx.elapsed,
      ...(data && { samples: ctx.samplesSeen, tokens: ctx.tokensSeen }),
      scalars: prefix === "" ? scalars : prefixed(scalars, prefix),
      media: prefix === "" ? media : prefixed(media, prefix),
    };
    scalars = {};
    media = {};
    last = { step: ctx.step, count: ctx.step === last?.step ? last.count + 1 : 1 };
    for (const output of outputs ?? []) output.log(record);
  }

  /** Closes the backends with the state of the run as it is now, even when called later. */
  function closing(ctx: ContextOf<"close">): () => Promise<void> {
    const { step, elapsed, compileSeconds, metrics } = ctx;
    const end = {
      status: ended?.status ?? "completed",
      reason: redact(ended?.reason ?? "", secrets),
      step,
      elapsed,
      ...(compileSeconds !== undefined && { compileSeconds }),
      metrics: { ...metrics },
    };
    return async () => {
      const open = outputs ?? [];
      outputs = undefined;
      await Promise.all(open.map((output) => output.close({ ...end, time: Date.now() })));
      lock?.release();
      lock = undefined;
    };
  }

  return {
    name,
    stage: "logger",
    // Failures of backends are warnings; any other error is a mistake in the program.
    onError: "throw",
    ranks: "main",
    ...(every !== undefined && { logEvery: every }),
    async onTrainBegin(ctx) {
      // An earlier training may have been left open for its evaluation.
      await ctx.shared.get(endsLater)?.get(name)?.();
      ctx.shared.delete(weightsStep);
      ended = undefined;
      rates.begin(ctx);
      failures.begin();
      await open(ctx);
      emit({ type: "start", step: ctx.step, time: Date.now(), details: { totalSteps: ctx.totalSteps ?? null } });
      emit(hookNotes.event(ctx, performance.now()));
      watching?.();
      // Somebody may wait to see what they asked for.
      watching = ctx.hooks.watchInterventions((entry) => emit(interventionEvent(entry), SOON_MS));
      // What hooks did before the log was open.
      for (const entry of ctx.interventions) emit(interventionEvent(entry));
    },
    async onPause(ctx) {
      rates.pause();
      emit({ type: "pause", step: ctx.step, time: Date.now(), details: {} });
      await flush();
    },
    onContinue(ctx) {
      rates.resume();
      emit({ type: "continue", step: ctx.step, time: Date.now(), details: {} });
    },
    onEvalBegin: () => rates.pause(),
    async onEvalEnd(ctx) {
      rates.resume();
      // A standalone evaluation, after or without a training: its metrics belong to the step at which the run stands.
      if (ctx.phase !== "standalone") return;
      if (!outputs) await open(ctx);
      scalars = { ...ctx.evalMetrics };
      write(ctx, ctx.shared.get(weightsStep));
    },
    onLog(ctx) {
      if (!outputs) return undefined;
      const lost = outputs.find((output) => output.lost)?.lost;
      if (lost) throw lost;
      gather(ctx);
      if (every !== undefined && !ctx.due(every)) return undefined;
      const now = performance.now();
      rates.addTo(scalars, ctx, now);
      write(ctx);
      if (ctx.hooks.failures.length > failures.reported) for (const event of failures.since(ctx)) emit(event);
      if (ctx.hooks.version !== hookNotes.version || now > hookNotes.nextAt) emit(hookNotes.event(ctx, now));
      if (now > watched.nextLook) watched.look(now);
      const latest = flushedAt + flushEvery * 1000;
      const flushAt = watched.isWatched ? Math.min(latest, now + SOON_MS) : latest;
      if (now > latest) void flush();
      else if (flushAt < watched.at) watched.flushAt(flushAt, now, flush);
      return undefined;
    },
    // A resumed run does not log again what came before its checkpoint, so that must not be lost.
    onBeforeSave: () => flush(),
    onAfterSave: ({ saved, step }) => {
      const { name: checkpoint, reason, step: of, dir = "" } = saved;
      emit({ type: "save", step, time: Date.now(), details: { name: checkpoint, reason, step: of, dir } });
    },
    onSaveError: ({ failedSave, step }) => {
      const { name: checkpoint, reason, error } = failedSave;
      emit({ type: "saveError", step, time: Date.now(), details: { name: checkpoint, reason, error: error.message } });
    },
    onAfterLoad: ({ loaded, step }) => {
      const { from, why, restored, missing, orphaned } = loaded;
      emit({ type: "load", step, time: Date.now(), details: { from, why, restored, missing, orphaned } });
    },
    onTrainEnd(ctx) {
      const { status, reason, requestedBy } = ctx;
      ended = { status: status as RunEnd["status"], reason };
      for (const event of failures.since(ctx)) emit(event);
      gather(ctx);
      if (Object.keys(scalars).length + Object.keys(media).length > 0) write(ctx);
      emit(hookNotes.event(ctx, performance.now()));
      emit({ type: "end", step: ctx.step, time: Date.now(), details: { status, reason, requestedBy } });
    },
    async onClose(ctx) {
      watching?.();
      watching = undefined;
      watched.flushed();
      if (!outputs) return;
      const close = closing(ctx);
      const later = ctx.shared.get(endsLater);
      if (!later) return close();
      later.set(name, close);
      // The training is over, so someone may read its files now.
      await flush();
    },
    state: () => ({ json: { id, waiting: { ...scalars }, ...(last && { last: { ...last } }) } }),
    load({ json }) {
      const saved = json as unknown as SavedLogger;
      ({ id, last } = saved);
      scalars = { ...saved.waiting };
      media = {};
      isContinued = false;
    },
  };
}

const prefixed = <T>(values: Readonly<Record<string, T>>, prefix: string): Record<string, T> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));

type Counters = Pick<ContextOf<"log">, "step" | "samplesSeen" | "tokensSeen">;

/** Training speed between two records, without the time of evaluations and pauses. */
class Rates {
  #last = { step: 0, samplesSeen: 0, tokensSeen: 0 };
  #at = 0;
  #pausedAt = 0;
  /** An evaluation during a pause is part of it. */
  #pauses = 0;

  begin({ step, samplesSeen, tokensSeen }: Counters, now = performance.now()): void {
    this.#last = { step, samplesSeen, tokensSeen };
    this.#at = now;
  }

  pause(): void {
    if (this.#pauses++ === 0) this.#pausedAt = performance.now();
  }

  resume(): void {
    if (--this.#pauses === 0) this.#at += performance.now() - this.#pausedAt;
  }

  /** Adds steps, samples and tokens per second since the last call, unless a hook such as `throughput` has. */
  addTo(logged: Record<string, number>, ctx: Counters, now: number): void {
    const steps = ctx.step - this.#last.step;
    const samples = ctx.samplesSeen - this.#last.samplesSeen;
    const tokens = ctx.tokensSeen - this.#last.tokensSeen;
    const seconds = (now - this.#at) / 1000;
    if (steps === 0 || seconds <= 0) return;
    this.begin(ctx, now);
    if (Object.hasOwn(logged, "perf/stepsPerSec")) return;
    logged["perf/stepsPerSec"] = steps / seconds;
    logged["perf/samplesPerSec"] = samples / seconds;
    if (tokens > 0) logged["perf/tokensPerSec"] = tokens / seconds;
  }
}

/** Failures in a row after which a backend is no longer called. */
const MOST_FAILURES = 3;

/** A backend whose failures are warnings. */
class GuardedBackend {
  readonly #backend: LoggerBackend;
  readonly #warn: (message: string) => void;
  /** Another process writes to the run's directory: that fails the whole run, not only this backend. */
  lost: LockLostError | undefined;
  #failures = 0;
  #lastMessage = "";

  constructor(backend: LoggerBackend, warn: (message: string) => void) {
    this.#backend = backend;
    this.#warn = warn;
  }

  async open(run: RunFacts): Promise<void> {
    await this.#backend.open(run, (message) => this.#warn(`backend ${this.#backend.name}: ${message}`));
  }

  log(record: LogRecord): void {
    if (this.#failures >= MOST_FAILURES) return;
    try {
      this.#backend.log(record);
      this.#failures = 0;
    } catch (error) {
      this.#failed(error);
    }
  }

  event(event: RunEvent): void {
    if (this.#failures >= MOST_FAILURES) return;
    try {
      this.#backend.event?.(event);
    } catch (error) {
      this.#failed(error);
    }
  }

  async flush(): Promise<void> {
    if (this.#failures < MOST_FAILURES) await this.#attempt(() => this.#backend.flush?.());
  }

  async close(end: RunEnd): Promise<void> {
    await this.#attempt(() => this.#backend.close(end));
  }

  async #attempt(call: () => void | Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (error instanceof LockLostError) this.lost = error;
    this.#failures++;
    const message = messageOf(error);
    // A repeated failure is reported once.
    if (message !== this.#lastMessage) this.#warn(`backend ${this.#backend.name}: ${message}`);
    this.#lastMessage = message;
    if (this.#failures !== MOST_FAILURES) return;
    this.#warn(`backend ${this.#backend.name} is no longer used after ${MOST_FAILURES} failures in a row`);
  }
}
