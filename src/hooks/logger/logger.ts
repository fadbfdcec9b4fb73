// logger: sends what each boundary logs to any number of backends. One that fails does not take the others with it.
import { checkCadence, type Cadence } from "../../core/cadence.ts";
import type { ContextOf } from "../../core/context.types.ts";
import { OptionError } from "../../core/errors.ts";
import type { Hook } from "../../core/hook.ts";
import { is, oneOrList, show, type Json } from "../../core/options.ts";
import type { HeldLock } from "../../core/saving.ts";
import { component } from "../../core/component.ts";
import { didYouMean } from "../../core/names.ts";
import type { LoggerBackend } from "../../loggers/backend.ts";
import type { LastRecord, RunEvent } from "../../runs/types.ts";
import { BackendGuard } from "./backend-guard.ts";
import { endsLater, weightsStep } from "./experiment-run.ts";
import { Rates, RunEvents } from "./since-last-record.ts";
import { redact, secretsOfEnvironment } from "../../platform/redact.ts";
import { about, defaultHparams, withoutSecrets } from "./run-facts.ts";
import { warnUser } from "../../platform/print.ts";

/** Backends by name, made with their defaults. Each is loaded when it is used. */
const BACKENDS = {
  console: async () => (await import("../../loggers/console/console.ts")).consoleLog(),
  jsonl: async () => (await import("../../loggers/jsonl.ts")).jsonl(),
  csv: async () => (await import("../../loggers/csv.ts")).csv(),
  tensorboard: async () => (await import("../../loggers/tensorboard/tensorboard.ts")).tensorboard(),
  wandb: async () => (await import("../../loggers/wandb/wandb.ts")).wandb(),
  mlflow: async () => (await import("../../loggers/mlflow/mlflow.ts")).mlflow(),
} as const satisfies Record<string, () => Promise<LoggerBackend>>;

/** The backends that need no options. */
export type BackendName = keyof typeof BACKENDS;
/** A backend by its name, or one that you have made. */
export type BackendSpec = BackendName | LoggerBackend;

/** Options of `logger`. */
export interface LoggerOptions {
  readonly name?: string;
  /** When a record is written, whatever the trainer's `logEvery` says; what comes in between is kept for the next one. Default: whenever the trainer logs. */
  readonly every?: Cadence;
  /** Seconds after which what is buffered is handed to the system. Default 2; also before each checkpoint. */
  readonly flushEvery?: number;
  /** Put before every metric's name. */
  readonly prefix?: string;
  /** What the run is called. Default: the last part of `runDir`. */
  readonly run?: string;
  /** Values to be shown as hyper-parameters, or the names of those to be taken; default: the trainer's plain options and the optimizers' rates. */
  readonly hparams?: Readonly<Record<string, Json>> | readonly string[];
}

type Opening = ContextOf<"trainBegin"> | ContextOf<"evalEnd">;

/** What a checkpoint keeps of a logger. */
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
    takes: () => ({
      args: { backends: { ...is.anything, holds: oneOrList("logger") } },
      options: {
        name: is.name,
        every: is.cadence,
        flushEvery: is.nonNegative,
        prefix: is.string,
        run: is.name,
        hparams: is.or(is.arrayOf(is.name), is.object),
      },
    }),
  },
  makeLogger,
);

function makeLogger(backends: BackendSpec | readonly BackendSpec[], options: LoggerOptions = {}): Hook {
  const specs = (Array.isArray(backends) ? backends : [backends]) as readonly BackendSpec[];
  for (const spec of specs) checkBackend(spec);
  const { name = "logger", every, flushEvery = 2, prefix = "" } = options;
  if (every !== undefined) checkCadence("logger", every);
  const rates = new Rates();
  const events = new RunEvents();
  let guards: BackendGuard[] | undefined;
  let held: HeldLock | undefined;
  let secrets: readonly string[] = [];
  let id = "";
  /** The newest record; undefined after a checkpoint that does not say. */
  let last: LastRecord | undefined = NO_RECORD;
  /** Whether the files end where this logger left them. */
  let isContinued = false;
  let flushedAt = 0;
  let scalars: Record<string, number> = {};
  let media: Record<string, ContextOf<"log">["media"][string]> = {};

  async function open(ctx: Opening): Promise<void> {
    secrets = secretsOfEnvironment();
    const { config, totalSteps, step } = ctx;
    const resumedAt = step > 0 ? step : undefined;
    // Of an older checkpoint: everything up to its step stays.
    last = resumedAt === undefined ? NO_RECORD : (last ?? { step, count: Infinity });
    if (resumedAt === undefined) [scalars, media, isContinued] = [{}, {}, false];
    const dir = typeof config.runDir === "string" ? config.runDir : undefined;
    id ||= globalThis.crypto.randomUUID().slice(0, 8);
    const warn = (message: string): void => warnUser(config, redact(`${name}: ${message}`, secrets));
    const made = await Promise.all(specs.map(async (spec) => (typeof spec === "string" ? BACKENDS[spec]() : spec)));
    held?.release();
    held = await ctx.checkpoints.lock();
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
      lock: held && { file: held.file, text: held.text },
    };
    guards = made.map((backend) => new BackendGuard(backend, warn));
    // A backend that cannot be opened is an error of the program's: better known now.
    for (const guard of guards) await guard.open(facts);
    isContinued = true;
    flushedAt = performance.now();
  }

  function tell(event: RunEvent): void {
    const clean = { ...event, details: (withoutSecrets(event.details, secrets) ?? {}) as Record<string, Json> };
    for (const guard of guards ?? []) guard.event(clean);
  }

  async function flush(): Promise<void> {
    flushedAt = performance.now();
    await Promise.all((guards ?? []).map((guard) => guard.flush()));
  }

  /** In loops: this may be done at every step, and copies of objects take several times as long. */
  function gather(ctx: Pick<ContextOf<"log">, "logged" | "media">): void {
    const { logged, media: shown } = ctx;
    // The record says the epoch by itself.
    for (const metric of Object.keys(logged)) if (metric !== "epoch") scalars[metric] = logged[metric]!;
    for (const title in shown) {
      const each = shown[title]!;
      media[title] = each.kind === "text" ? { ...each, text: redact(each.text, secrets) } : each;
    }
  }

  function write(ctx: Pick<ContextOf<"log">, "step" | "epoch" | "elapsed">, ofWeights?: number): void {
    const record = {
      step: ctx.step,
      ...(ofWeights !== undefined && { weightsStep: ofWeights }),
      epoch: ctx.epoch,
      time: Date.now(),
      elapsed: ctx.elapsed,
      scalars: prefix === "" ? scalars : prefixed(scalars, prefix),
      media: prefix === "" ? media : prefixed(media, prefix),
    };
    scalars = {};
    media = {};
    last = { step: ctx.step, count: ctx.step === last?.step ? last.count + 1 : 1 };
    for (const guard of guards ?? []) guard.log(record);
  }

  /** The end, as it stands now. */
  function endOf(ctx: ContextOf<"close">): () => Promise<void> {
    const { step, elapsed, compileSeconds, metrics } = ctx;
    const last = {
      status: (ended?.status ?? "completed") as "completed",
      reason: redact(ended?.reason ?? "", secrets),
      step,
      elapsed,
      ...(compileSeconds !== undefined && { compileSeconds }),
      metrics: { ...metrics },
    };
    return async () => {
      const open = guards ?? [];
      guards = undefined;
      await Promise.all(open.map((guard) => guard.close({ ...last, time: Date.now() })));
      held?.release();
      held = undefined;
    };
  }

  let ended: { status: string; reason: string } | undefined;
  return {
    name,
    stage: "logger",
    // Backends that fail are kept apart; what is left are mistakes in the program.
    onError: "throw",
    ranks: "main",
    ...(every !== undefined && { logEvery: every }),
    async onTrainBegin(ctx) {
      // Of an earlier training, which was left open for an evaluation.
      await ctx.shared.get(endsLater)?.get(name)?.();
      ctx.shared.delete(weightsStep);
      ended = undefined;
      rates.begin(ctx);
      events.begin();
      await open(ctx);
      tell({ type: "start", step: ctx.step, time: Date.now(), details: { totalSteps: ctx.totalSteps ?? null } });
    },
    onEvalBegin: () => rates.pause(),
    async onEvalEnd(ctx) {
      rates.resume();
      // On its own, after or without a training run: its metrics belong to where that run stands.
      if (ctx.phase !== "standalone") return;
      if (!guards) await open(ctx);
      scalars = { ...ctx.evalMetrics };
      write(ctx, ctx.shared.get(weightsStep));
    },
    onLog(ctx) {
      if (!guards) return undefined;
      const lost = guards.find((guard) => guard.lost)?.lost;
      if (lost) throw lost;
      gather(ctx);
      if (every !== undefined && !ctx.due(every)) return undefined;
      const now = performance.now();
      rates.addTo(scalars, ctx, now);
      write(ctx);
      for (const event of events.news(ctx)) tell(event);
      if (now - flushedAt > flushEvery * 1000) void flush();
      return undefined;
    },
    // What is logged up to a checkpoint must not be lost when the run goes on from it.
    onBeforeSave: () => flush(),
    onAfterSave: ({ saved, step }) => {
      const { name: checkpoint, reason, step: of, dir = "" } = saved;
      tell({ type: "save", step, time: Date.now(), details: { name: checkpoint, reason, step: of, dir } });
    },
    onSaveError: ({ failedSave, step }) => {
      const { name: checkpoint, reason, error } = failedSave;
      tell({ type: "saveError", step, time: Date.now(), details: { name: checkpoint, reason, error: error.message } });
    },
    onAfterLoad: ({ loaded, step }) => {
      const { from, why, restored, missing, orphaned } = loaded;
      tell({ type: "load", step, time: Date.now(), details: { from, why, restored, missing, orphaned } });
    },
    onTrainEnd(ctx) {
      const { status, reason, requestedBy } = ctx;
      ended = { status, reason };
      for (const event of events.news(ctx)) tell(event);
      gather(ctx);
      if (Object.keys(scalars).length + Object.keys(media).length > 0) write(ctx);
      tell({ type: "end", step: ctx.step, time: Date.now(), details: { status, reason, requestedBy } });
    },
    async onClose(ctx) {
      if (!guards) return;
      const end = endOf(ctx);
      const later = ctx.shared.get(endsLater);
      if (!later) return end();
      later.set(name, end);
      // Whoever comes now may want to read it.
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

/** One of one's own may be plain JavaScript, which no compiler has looked at. */
function checkBackend(spec: BackendSpec): void {
  const known = Object.keys(BACKENDS);
  const isNamed = typeof spec === "string";
  if (isNamed ? !known.includes(spec) : typeof spec?.log !== "function") {
    const near = isNamed ? didYouMean(spec, known) : "";
    throw new OptionError(
      `logger: Expected a backend (${known.join(", ")}, or one such as tensorboard({ dir })), got ${show(spec)}.${near}`,
    );
  }
  if (isNamed) return;
  const missing = (["open", "close"] as const).find((method) => typeof spec[method] !== "function");
  if (missing === undefined) return;
  throw new OptionError(`logger: the backend \`${spec.name}\` has no \`${missing}\`; it needs open, log and close.`);
}

function hparamsOf(ctx: Opening, wanted: LoggerOptions["hparams"]): Record<string, Json> {
  const all = defaultHparams(ctx);
  if (wanted === undefined) return all;
  if (!Array.isArray(wanted)) return wanted as Record<string, Json>;
  const missing = (wanted as readonly string[]).find((key) => !Object.hasOwn(all, key));
  if (missing !== undefined)
    throw new OptionError(
      `logger: there is no hyper-parameter \`${missing}\`.${didYouMean(missing, Object.keys(all))}`,
    );
  return Object.fromEntries((wanted as readonly string[]).map((key) => [key, all[key]!]));
}

const prefixed = <T>(values: Readonly<Record<string, T>>, prefix: string): Record<string, T> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));
