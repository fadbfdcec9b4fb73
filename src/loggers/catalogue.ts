// The built-in backends by name. Each is loaded when it is used: by the logger hook, and again on the logging thread.
import { OptionError } from "../core/errors.ts";
import { show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import type { LoggerBackend } from "./backend.ts";
import type { MakeBackend } from "./threaded-backend.ts";

interface BuiltIn {
  /** The backend with its default options. */
  readonly load: () => Promise<LoggerBackend>;
  /** The part that formats, writes or sends, for backends that leave this to the logging thread. */
  readonly onThread?: () => Promise<MakeBackend<never>>;
}

export const BACKENDS = {
  console: { load: async () => (await import("./console/console.ts")).consoleLog() },
  jsonl: {
    load: async () => (await import("./jsonl.ts")).jsonl(),
    onThread: async () => (await import("./jsonl.ts")).jsonlFiles,
  },
  csv: {
    load: async () => (await import("./csv.ts")).csv(),
    onThread: async () => (await import("./csv.ts")).csvTable,
  },
  tensorboard: {
    load: async () => (await import("./tensorboard/tensorboard.ts")).tensorboard(),
    onThread: async () => (await import("./tensorboard/tensorboard.ts")).eventFiles,
  },
  wandb: {
    load: async () => (await import("./wandb/wandb.ts")).wandb(),
    onThread: async () => (await import("./wandb/wandb.ts")).wandbRun,
  },
  mlflow: {
    load: async () => (await import("./mlflow/mlflow.ts")).mlflow(),
    onThread: async () => (await import("./mlflow/sender.ts")).mlflowSender,
  },
} as const satisfies Readonly<Record<string, BuiltIn>>;

/** The part of a backend that works on the logging thread. */
export async function makerOf(kind: string): Promise<MakeBackend<object>> {
  const { onThread }: BuiltIn = BACKENDS[kind as BackendName];
  return (await onThread!()) as MakeBackend<object>;
}

/** The backends that need no options. */
export type BackendName = keyof typeof BACKENDS;
/** A built-in backend by its name, or one that you have made. */
export type BackendSpec = BackendName | LoggerBackend;

/** A user's backend may be plain JavaScript, which no compiler has checked. */
export function checkBackend(spec: BackendSpec): void {
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
