// Requests as `fetch` would make them, which s3mini asks for: only to checked addresses, in small writes, never for ever.
import { builtin } from "../platform/builtin.ts";
import { addressesOf, describe, SendError } from "./post.ts";

type Https = ReturnType<typeof process.getBuiltinModule<"node:https">>;
type Http = ReturnType<typeof process.getBuiltinModule<"node:http">>;
type ClientRequest = ReturnType<Http["request"]>;
type Lookup = NonNullable<Parameters<Http["request"]>[1]["lookup"]>;

export interface TransportOptions {
  readonly url: URL;
  readonly allowPrivate: boolean;
  /** Milliseconds without any progress after which a request is given up. */
  readonly timeout: number;
  /** Connections at the same time. */
  readonly sockets: number;
}

/** What s3mini hands to `fetch`. */
export interface S3Request {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | string;
}

/** Handed to the socket at once: small enough that encrypting it does not show in a step. */
const SLICE = 512 << 10;
/** Answers are short documents; one that is not is none that we asked for. */
const LONGEST_ANSWER = 1 << 20;

export class Transport {
  readonly #options: TransportOptions;
  readonly #client: Http | Https;
  readonly #agent: InstanceType<Http["Agent"]>;

  constructor(owner: string, options: TransportOptions) {
    this.#options = options;
    this.#client = builtin<Http | Https>(owner, options.url.protocol === "https:" ? "node:https" : "node:http");
    this.#agent = new this.#client.Agent({ keepAlive: true, maxSockets: options.sockets });
  }

  /** Rejects with a SendError when there is no whole answer; any answer, of whatever status, is one. */
  send(url: string, { method = "GET", headers = {}, body = "" }: S3Request, signal: AbortSignal): Promise<Response> {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const length = method === "PUT" || method === "POST" ? { "content-length": String(bytes.byteLength) } : {};
    if (signal.aborted) return Promise.reject(new SendError("stopped", false));
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
        else fail(signal.aborted ? new SendError("stopped", false) : new SendError(describe(error), true));
      };
      request.on("error", failed);
      request.on("response", (response) => {
        const { statusCode = 0, headers: answered } = response;
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
          // It answered before it had all: nothing more must go out from a buffer that is used for the next part.
          const early = !request.writableFinished;
          if (early) request.destroy();
          if (early && statusCode < 300) return fail(new SendError("it answered before it had the whole body", true));
          return done(toResponse(statusCode, answered, chunks));
        });
      });
      void write(request, bytes, watch);
    });
  }

  /** Leaves no connection open. */
  close(): void {
    this.#agent.destroy();
  }

  /** Asked for every new connection, and the answer is what it connects to: nothing can change in between. */
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

/** Calls `late` when nothing has happened for a while. */
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
    // One turn of the event loop later: after a long step the timer is overdue, and progress may be waiting behind it.
    this.#timer = setTimeout(() => (this.#timer = setTimeout(late, 0)), this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
