// A backend that sends records to a service through a queue, and the options that services share.
import { type Check, type Json, is } from "../../core/options.ts";
import type { LogRecord, RunFacts } from "../../runs/types.ts";
import { type LoggerBackend, type Warn, inTimer } from "../backend.ts";
import { DiskQueue } from "./disk-queue.ts";
import { MemoryQueue, type Queue } from "./memory-queue.ts";
import { endLine, RecordLines } from "./record-lines.ts";
import { Sender, type Courier } from "./sender.ts";
import { Service, type ServiceOptions } from "./service.ts";
import { OptionError } from "../../core/errors.ts";
import { secretsOfEnvironment } from "../../platform/redact.ts";

export interface RemoteOptions {
  /** Milliseconds between two requests, each of which sends many steps. Default 5000. */
  readonly sendEvery?: number;
  /** Milliseconds without progress after which an attempt is aborted. Default 10000. */
  readonly timeout?: number;
  /** Milliseconds before the first retry; doubled each time, up to a minute. Default 1000. */
  readonly backoff?: number;
  /** Bytes that may wait on disk while the service is down; beyond it, the oldest records are dropped. Default 256 MiB. */
  readonly queueBytes?: number;
  /** Allow plain http to other machines. Default false. */
  readonly allowHttp?: boolean;
  /** Where warnings go. Default: where the trainer's go. */
  readonly warn?: (message: string) => void;
}

export const REMOTE_CHECKS: Readonly<Record<keyof RemoteOptions, Check>> = {
  sendEvery: is.nonNegative,
  timeout: is.positive,
  backoff: is.nonNegative,
  queueBytes: is.wholeFrom(1),
  allowHttp: is.boolean,
  warn: is.function,
};

/** Its settings for one run, as plain data. */
export interface RemoteSettings {
  readonly service: ServiceOptions;
  /** What another process needs to send these lines; without secrets. */
  readonly head: Json;
  readonly sendEvery: number | undefined;
  readonly backoff: number | undefined;
  readonly queueBytes: number | undefined;
}

/** What a service provides. */
interface Kind {
  /** Does it take histograms, texts and images? */
  readonly media: boolean;
  readonly courier: (service: Service, state: Json | undefined, warn: Warn) => Courier;
}

const QUEUE_BYTES = 256 << 20;
/** The limit of a queue in memory. */
const MEMORY_BYTES = 16 << 20;
/** Records are queued when there are this many, or after `WRITE_EVERY` milliseconds. */
const MOST_RECORDS = 256;
const WRITE_EVERY = 500;

/** The backend of one run. */
export function remoteBackend(settings: RemoteSettings, say: Warn, { media, courier }: Kind): LoggerBackend {
  const { head, sendEvery = 5000, backoff = 1000, queueBytes = QUEUE_BYTES } = settings;
  const name = settings.service.owner;
  const service = new Service(settings.service);
  const warn = (message: string): void => say(service.scrub(message));
  const lines = new RecordLines({ media });
  let running: { queue: Queue; sender: Sender; timer: ReturnType<typeof setInterval> } | undefined;
  let saidMedia = false;

  const write = (all: boolean): void => running?.queue.append(lines.take(all));

  const writeInTimer = inTimer(
    () => write(false),
    (problem) => warn(`what was logged is lost: ${problem}`),
  );

  function noteMedia(record: LogRecord): void {
    const [unsent] = Object.entries(record.media);
    if (media || !unsent) return;
    saidMedia = true;
    warn(`${unsent[1].kind} \`${unsent[0]}\` and others of its kind are not sent.`);
  }

  return {
    name,
    open(run) {
      const queue = openQueue(name, run, queueBytes, warn);
      const carrier = courier(service, queue.state, warn);
      const sender = new Sender({ queue, courier: carrier, sendEvery, backoff, warn, shown: service.shown });
      queue.begin(head);
      const timer = setInterval(writeInTimer, WRITE_EVERY);
      running = { queue, sender, timer };
      sender.start();
    },
    log(record) {
      lines.add(record);
      if (!saidMedia) noteMedia(record);
      if (lines.length >= MOST_RECORDS) write(false);
    },
    flush: () => write(true),
    async close(end) {
      if (!running) return;
      const { queue, sender, timer } = running;
      clearInterval(timer);
      queue.append([...lines.take(true), endLine({ ...end, reason: service.scrub(end.reason) })]);
      running = undefined;
      await sender.finish();
      service.close();
      const { waiting, dropped, dir } = queue;
      queue.close();
      if (dropped > 0) warn(`${dropped} records were dropped, since the queue was full.`);
      if (sender.refused > 0) warn(`${sender.refused} records were refused: ${sender.lastError}`);
      if (waiting === 0) return;
      const rest = dir === undefined ? "They are lost" : `They wait in ${dir}, and go out at the next start`;
      warn(`${waiting} records could not be sent before the end. ${rest}.`);
    },
  };
}

function openQueue(name: string, { dir }: RunFacts, limit: number, warn: (message: string) => void): Queue {
  if (dir === undefined) {
    warn("there is no run directory, so that what cannot be sent waits in memory, and is lost with the process.");
    return new MemoryQueue(Math.min(limit, MEMORY_BYTES));
  }
  try {
    return new DiskQueue({ dir: `${dir}/.queue/${name}`, limit, warn });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    warn(`its queue cannot be used, so that what cannot be sent waits in memory: ${reason}`);
    return new MemoryQueue(Math.min(limit, MEMORY_BYTES));
  }
}

/** The environment as it is now; empty in a browser. */
export function environment(): Record<string, string | undefined> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}

/** Texts that must never be shown: the service's keys, and the secrets in the environment. */
export const allSecrets = (...own: readonly string[]): string[] =>
  [...own, ...secretsOfEnvironment()].filter((secret) => secret !== "");

export const stringsOf: Check = {
  expected: "an object of strings",
  schema: { type: "object", additionalProperties: { type: "string" } },
  test: (v) => is.object.test(v) && Object.values(v as object).every((value) => typeof value === "string"),
};

/** The message of `checkOptions` would show the value. */
export function checkSecrets(owner: string, options: object, names: readonly string[]): void {
  for (const [name, value] of Object.entries(options)) {
    if (!names.includes(name) || value === undefined || (typeof value === "string" && value !== "")) continue;
    throw new OptionError(`${owner}: Expected \`${name}\` to be a non-empty string (it is not shown).`);
  }
}

/** The same data with every text changed. */
export function mapTexts<T extends Json>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => mapTexts(each, change)) as Json as T;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mapTexts(each, change)])) as T;
}
