// One POST request: to a checked address, without redirects, within a time limit; the answer's body is never read.
import { retryAfterMs } from "./retry-after.ts";
import { builtinOrNone } from "../platform/builtin.ts";
import { isAddress, isPublicAddress } from "./addresses.ts";
import type { Endpoint } from "./endpoint.ts";

type Https = ReturnType<typeof process.getBuiltinModule<"node:https">>;
type Http = ReturnType<typeof process.getBuiltinModule<"node:http">>;
type Dns = ReturnType<typeof process.getBuiltinModule<"node:dns">>;
export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Why a request did not get through, and whether it is worth trying again. */
export class SendError extends Error {
  override name = "SendError";
  readonly retry: boolean;
  /** Milliseconds that the server asks to wait. */
  readonly wait: number | undefined;

  constructor(message: string, retry: boolean, wait?: number) {
    super(message);
    this.retry = retry;
    this.wait = wait;
  }
}

/** Sends `body`; rejects with a SendError unless the answer is 2xx. */
export async function post(endpoint: Endpoint, body: string, type: string, signal: AbortSignal): Promise<void> {
  const { timeout } = endpoint;
  const late = new AbortController();
  // One turn of the event loop later: after a long step the timer is overdue, and the answer may be waiting behind it.
  const timer = setTimeout(() => setTimeout(() => late.abort(), 0), timeout);
  const headers = { "Content-Type": type, "User-Agent": "hookline", ...endpoint.headers };
  const either = AbortSignal.any([signal, late.signal]);
  const https = builtinOrNone<Https>("node:https");
  try {
    const answer = await (https ? fromNode : fromBrowser)(endpoint, body, headers, either);
    judge(answer);
  } catch (error) {
    if (error instanceof SendError) throw error;
    if (late.signal.aborted) throw new SendError(`no answer within ${timeout} ms`, true);
    throw new SendError(describe(error), true);
  } finally {
    clearTimeout(timer);
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null | undefined;
}

function judge({ status, retryAfter }: Answer): void {
  if (status >= 200 && status < 300) return;
  if (status >= 300 && status < 400) throw new SendError(`HTTP ${status}: it redirects, which is refused`, false);
  throw new SendError(`HTTP ${status}`, status >= 500 || status === 429 || status === 408, retryAfterMs(retryAfter));
}

async function fromNode(
  { url, host, allowPrivate }: Endpoint,
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Answer> {
  const addresses = isAddress(host) ? undefined : await addressesOf(host, allowPrivate, signal);
  signal.throwIfAborted();
  const client = builtinOrNone<Http | Https>(url.protocol === "https:" ? "node:https" : "node:http")!;
  return new Promise((done, fail) => {
    const request = client.request(
      url,
      {
        method: "POST",
        headers: { ...headers, "Content-Length": new TextEncoder().encode(body).length },
        // A connection of its own: nothing stays open behind the run.
        agent: false,
        signal,
        // The very addresses that were checked: asked again, the name might lead elsewhere.
        ...(addresses && { lookup: known(addresses) }),
      },
      (response) => {
        done({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] });
        request.destroy();
      },
    );
    request.on("error", fail);
    request.end(body);
  });
}

type Lookup = NonNullable<Parameters<Http["request"]>[1]["lookup"]>;

const known =
  (addresses: readonly Address[]): Lookup =>
  (_host, options, answer) => {
    const [first] = addresses;
    if (options.all) answer(null, [...addresses]);
    else answer(null, first!.address, first!.family);
  };

/** The addresses of a name; rejects when one of them is private and that is not allowed. */
export async function addressesOf(host: string, allowPrivate: boolean, signal: AbortSignal): Promise<Address[]> {
  const addresses = await resolve(host, signal);
  const closed = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
  if (closed === undefined) return addresses;
  throw new SendError(
    `${host} is ${closed.address}, which is not in the public internet. Set allowPrivate: true if that is meant`,
    false,
  );
}

/**
 * All addresses of a name. DNS is asked directly, since that can be broken off: the system's own lookup holds the
 * process until it is over. It is asked second, for names in the hosts file, when DNS has answered at once.
 */
async function resolve(host: string, signal: AbortSignal): Promise<Address[]> {
  const dns = builtinOrNone<Dns>("node:dns")!.promises;
  const resolver = new dns.Resolver({ timeout: 3000, tries: 2 });
  const cancel = (): void => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer, i) =>
      answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family: i === 0 ? 4 : 6 })) : [],
    );
    if (found.length > 0) return found;
    const slow = answers.some(({ status, ...rest }) => status === "rejected" && isSlow(codeOf(rest)));
    if (slow) throw new SendError(`the name ${host} could not be resolved in time`, true);
    return await dns.lookup(host, { all: true });
  } catch (error) {
    if (error instanceof SendError) throw error;
    throw new SendError(`the name ${host} does not resolve (${(error as { code?: string }).code ?? "unknown"})`, true);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

const codeOf = (rejected: object): unknown => (rejected as { reason?: { code?: unknown } }).reason?.code;
const isSlow = (code: unknown): boolean => code === "ETIMEOUT" || code === "ECANCELLED";

async function fromBrowser(
  { url }: Endpoint,
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Answer> {
  const options = { redirect: "error", credentials: "omit", referrerPolicy: "no-referrer" } as const;
  const response = await fetch(url, { method: "POST", body, headers, signal, ...options });
  void response.body?.cancel();
  return { status: response.status, retryAfter: response.headers.get("retry-after") };
}

/** `ECONNRESET: socket hang up`, or whatever there is; several attempts fail as one error with parts. */
export function describe(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  if (first !== undefined) return describe(first);
  return [code, message].filter((part) => typeof part === "string" && part !== "").join(": ") || String(error);
}
