// The bell: one stream of server-sent events for the whole page. Listeners request what is new.
import type { StreamEvents } from "../../wire.ts";
import { ApiError, get, lost, streamAddress } from "./api.ts";

export interface Listener {
  /** Runs whose steps, events and commands it wants to hear of. */
  readonly runs: readonly string[];
  /** Something in the list of runs has changed. */
  runsChanged?(): void;
  runChanged?(event: StreamEvents["run"]): void;
  command?(event: StreamEvents["command"]): void;
  eventsChanged?(event: StreamEvents["event"]): void;
  /** The stream has opened, at first or after a while: ask for everything that is new. Also when it cannot be opened. */
  catchUp(): void;
}

/** Those that have asked once. */
const begun = new WeakSet<Listener>();
const FIRST_RETRY = 1000;
const LAST_RETRY = 30_000;

const listeners = new Set<Listener>();
let source: EventSource | undefined;
let shown = "";
let retryTimer: ReturnType<typeof setTimeout> | undefined;
let retryAfter = FIRST_RETRY;
let reopening = false;
/** The server has said goodbye. */
let hasEnded = false;

/** Hears of changes until the returned function is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  scheduleReopen();
  return () => {
    listeners.delete(listener);
    scheduleReopen();
  };
}

/** A page that changes replaces several listeners at once: one new stream is enough. */
function scheduleReopen(): void {
  if (reopening) return;
  reopening = true;
  queueMicrotask(() => {
    reopening = false;
    const wanted = [...new Set([...listeners].flatMap(({ runs }) => runs))].sort();
    if (source && wanted.join() === shown) return;
    shown = wanted.join();
    open();
  });
}

function open(): void {
  source?.close();
  source = undefined;
  clearTimeout(retryTimer);
  // A browser allows six connections to a host: tabs that nobody sees must not hold one.
  if (document.hidden || listeners.size === 0) return;
  const stream = new EventSource(streamAddress(shown === "" ? [] : shown.split(",")));
  source = stream;
  const on = <K extends keyof StreamEvents>(
    name: K,
    tell: (listener: Listener, event: StreamEvents[K]) => void,
  ): void =>
    stream.addEventListener(name, (message) => {
      const event = JSON.parse((message as MessageEvent<string>).data) as StreamEvents[K];
      for (const listener of listeners) tell(listener, event);
    });
  on("runs", (listener) => listener.runsChanged?.());
  on("run", (listener, event) => listener.runChanged?.(event));
  on("command", (listener, event) => listener.command?.(event));
  on("event", (listener, event) => listener.eventsChanged?.(event));
  stream.addEventListener("bye", () => {
    hasEnded = true;
    void reconnectLater();
  });
  stream.addEventListener("error", () => void reconnectLater());
  stream.addEventListener("open", () => {
    retryAfter = FIRST_RETRY;
    hasEnded = false;
    lost.value = null;
    catchUp([...listeners]);
  });
}

function catchUp(behind: readonly Listener[]): void {
  for (const listener of behind) {
    begun.add(listener);
    listener.catchUp();
  }
}

async function reconnectLater(): Promise<void> {
  catchUp([...listeners].filter((listener) => !begun.has(listener)));
  source?.close();
  source = undefined;
  clearTimeout(retryTimer);
  const since = lost.value?.since ?? Date.now();
  lost.value = { since, retryAt: Date.now() + retryAfter, token: lost.value?.token ?? false, hasEnded };
  retryTimer = setTimeout(open, retryAfter);
  retryAfter = Math.min(2 * retryAfter, LAST_RETRY);
  // A stream does not say why it failed. A server that was started again wants the link with its new token.
  const refused = await get("hello").then(
    () => false,
    (error: unknown) => error instanceof ApiError && error.status === 401,
  );
  if (lost.value) lost.value = { ...lost.value, token: refused };
}

export const retryNow = (): void => open();

document.addEventListener("visibilitychange", open);
