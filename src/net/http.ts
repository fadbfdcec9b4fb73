// The HTTP client of webhooks, logging services and S3: connects only to checked addresses, writes in small pieces, follows
// no redirects, and gives up when there is no progress.
import { builtin, builtinOrNone, type Builtin } from "../platform/builtin.ts";
import { isPublicAddress, type Endpoint } from "./endpoint.ts";
import { mayRetry, retryAfterMs, SendError } from "./retry.ts";

type Https = Builtin<"node:https">;
type Http = Builtin<"node:http">;
type ClientRequest = ReturnType<Http["request"]>;
type Lookup = NonNullable<Parameters<Http["request"]>[1]["lookup"]>;

export interface ClientOptions {
  readonly url: URL;
  readonly allowPrivate: boolean;
  /** Milliseconds without any progress after which a request is given up. */
  readonly timeout: number;
  /** Connections at the same time. */
  readonly sockets: number;
}

export interface HttpRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Resolve with the head of the answer, and do not read its body. */
  readonly headOnly?: boolean;
}

/** Bytes written to the socket at once: encrypting more would delay a training step. */
const SLICE = 512 << 10;
/** Expected answers are short documents. */
const LONGEST_ANSWER = 1 << 20;

export class HttpClient {
  readonly #options: ClientOptions;
  readonly #client: Http | Https;
  readonly #agent: InstanceType<Http["Agent"]>;

  constructor(owner: string, options: ClientOptions) {
    this.#options = options;
    this.#client = builtin(owner, options.url.protocol === "https:" ? "node:https" : "node:http");
    this.#agent = new this.#client.Agent({ keepAlive: true, maxSockets: options.sockets });
  }

  /** Resolves to any answer, whatever its status; rejects with a SendError when there is no complete one. */
  send(
    url: string,
    { method = "GET", headers = {}, body = "", headOnly = false }: HttpRequest,
    signal: AbortSignal,
  ): Promise<Response> {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const length = method === "PUT" || method === "POST" ? { "content-length": String(bytes.byteLength) } : {};
    if (signal.aborted) return Promise.reject(new SendError("the request was aborted", false));
    return new Promise((done, fail) => {
      const request = this.#client.request(url, {
        method,
        headers: { ...headers, ...length },
        agent: this.#agent,
        signal,
        lookup: this.#lookup(signal),
      });
      const watch = new Watch(this.#options.timeout, (late) => void request.destroy(late));
      const failed = (error: unknown): void => {
        watch.stop();
        if (error instanceof SendError) fail(error);
        else
          fail(signal.aborted ? new SendError("the request was aborted", false) : new SendError(describe(error), true));
      };
      request.on("error", failed);
      request.on("response", (response) => {
        const { statusCode = 0, headers: answered } = response;
        if (headOnly) {
          watch.stop();
          done(toResponse(statusCode, answered, []));
          request.destroy();
          return;
        }
        const chunks: Uint8Array[] = [];
        let size = 0;
        response.on("data", (chunk: Uint8Array) => {
          watch.beat();
          size += chunk.byteLength;
          if (size > LONGEST_ANSWER) response.destroy(new SendError("the answer is too long", false));
          else chunks.push(chunk);
        });
        response.on("error", failed);
        response.on("end", () => {
          watch.stop();
          // It answered before it had everything: the buffer is reused for the next part, so no more of it may go out.
          const early = !request.writableFinished;
          if (early) request.destroy();
          if (early && statusCode < 300) return fail(new SendError("it answered before it had the whole body", true));
          return done(toResponse(statusCode, answered, chunks));
        });
      });
      void write(request, bytes, watch);
    });
  }

  /** Closes all connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Called for each new connection, which then uses the very addresses that were checked: a name may change. */
  #lookup(signal: AbortSignal): Lookup {
    return (host, options, answer) => {
      void addressesOf(host, this.#options.allowPrivate, signal).then(
        (addresses) => {
          const [first] = addresses;
          if (options.all) answer(null, addresses);
          else answer(null, first!.address, first!.family);
        },
        (error: Error) => answer(error, ""),
      );
    };
  }
}

/** Posts `body` to an endpoint; rejects with a SendError unless the status is 2xx. The body of the answer is not read. */
export async function post(endpoint: Endpoint, body: string, type: string, signal: AbortSignal): Promise<void> {
  const { url, timeout, allowPrivate } = endpoint;
  const late = new AbortController();
  // One turn of the event loop later: after a long step the timer is overdue, and the answer may be queued behind it.
  const timer = setTimeout(() => setTimeout(() => late.abort(), 0), timeout);
  const request = {
    method: "POST",
    headers: { "Content-Type": type, "User-Agent": "hookline", ...endpoint.headers },
    body,
    signal: AbortSignal.any([signal, late.signal]),
  };
  const isNode = builtinOrNone("node:https") !== undefined;
  const client = isNode
    ? new HttpClient("A notice", { url, allowPrivate, timeout: 2 * timeout, sockets: 1 })
    : undefined;
  try {
    const { status, headers } = client
      ? await client.send(url.href, { ...request, headOnly: true }, request.signal)
      : await postFromBrowser(url, request);
    if (status >= 200 && status < 300) return;
    if (status >= 300 && status < 400) throw new SendError(`HTTP ${status}: it redirects, which is refused`, false);
    throw new SendError(`HTTP ${status}`, mayRetry(status), retryAfterMs(headers.get("retry-after")));
  } catch (error) {
    if (late.signal.aborted && !signal.aborted) throw new SendError(`no answer within ${timeout} ms`, true);
    throw error instanceof SendError ? error : new SendError(describe(error), true);
  } finally {
    clearTimeout(timer);
    client?.close();
  }
}

async function postFromBrowser(url: URL, request: RequestInit): Promise<Response> {
  const response = await fetch(url, {
    ...request,
    redirect: "error",
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });
  void response.body?.cancel();
  return response;
}

async function write(request: ClientRequest, bytes: Uint8Array, watch: Watch): Promise<void> {
  const state = { answered: false };
  request.once("response", () => (state.answered = true));
  for (let at = 0; at < bytes.byteLength && !request.destroyed && !state.answered; at += SLICE) {
    if (!request.write(bytes.subarray(at, at + SLICE))) await drained(request);
    watch.beat();
  }
  if (!request.destroyed) request.end();
}

function drained(request: ClientRequest): Promise<void> {
  const events = ["drain", "response", "close"];
  return new Promise((resolve) => {
    const go = (): void => {
      for (const event of events) request.off(event, go);
      resolve();
    };
    for (const event of events) request.on(event, go);
  });
}

function toResponse(status: number, headers: object, chunks: readonly Uint8Array[]): Response {
  const list = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  const empty = chunks.length === 0 || status === 204 || status === 304;
  return new Response(empty ? null : new Blob(chunks as Uint8Array<ArrayBuffer>[]), { status, headers: list });
}

/** Calls `late` when there was no progress for a while. */
class Watch {
  readonly #ms: number;
  readonly #late: (error: SendError) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, late: (error: SendError) => void) {
    this.#ms = ms;
    this.#late = late;
    this.beat();
  }

  beat(): void {
    clearTimeout(this.#timer);
    const late = (): void => this.#late(new SendError(`no progress within ${this.#ms} ms`, true));
    // One turn of the event loop later: after a long step the timer is overdue, and progress may be queued behind it.
    this.#timer = setTimeout(() => (this.#timer = setTimeout(late, 0)), this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

interface Address {
  readonly address: string;
  readonly family: number;
}

/** The addresses of a name; rejects when one of them is private and that is not allowed. */
async function addressesOf(host: string, allowPrivate: boolean, signal: AbortSignal): Promise<Address[]> {
  const addresses = await resolve(host, signal);
  const closed = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
  if (closed === undefined) return addresses;
  throw new SendError(
    `${host} is ${closed.address}, which is not in the public internet. Set allowPrivate: true if that is meant`,
    false,
  );
}

/**
 * All addresses of a name. DNS is asked directly, since that can be cancelled: the system's own lookup would keep the
 * process alive until it is over. It is used second, for names in the hosts file, when DNS has answered at once.
 */
async function resolve(host: string, signal: AbortSignal): Promise<Address[]> {
  const dns = builtin("An HTTP request", "node:dns").promises;
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

/** `ECONNRESET: socket hang up`, or what there is of it. Attempts at several addresses fail as one error with parts. */
function describe(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  if (first !== undefined) return describe(first);
  return [code, message].filter((part) => typeof part === "string" && part !== "").join(": ") || String(error);
}
