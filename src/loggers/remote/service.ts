// A logging service that speaks JSON over HTTP. Its errors hold no secrets.
import { OptionError } from "../../core/errors.ts";
import { mayRetry, retryAfterMs, SendError } from "../../net/retry.ts";
import { redact } from "../../platform/redact.ts";
import { HttpClient } from "../../net/http.ts";

/** The service answered with an error. */
export class ServiceError extends SendError {
  override name = "ServiceError";
  readonly status: number;
  /** MLflow's `error_code`, or "". */
  readonly code: string;

  constructor(message: string, status: number, code: string, wait?: number) {
    super(message, mayRetry(status), wait);
    this.status = status;
    this.code = code;
  }

  /** The request itself is wrong, so repeating it is useless; a smaller one may be accepted. */
  get refused(): boolean {
    return this.status === 400 || this.status === 413 || this.status === 422;
  }
}

export interface ServiceOptions {
  /** For messages: `wandb`. */
  readonly owner: string;
  /** Without a user or a password. */
  readonly url: string;
  /** Such as `Authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Never shown, wherever they turn up: its own and those of the environment. */
  readonly secrets: readonly string[];
  /** Milliseconds without any progress. */
  readonly timeout: number;
}

/** An answer that comes very slowly is given up after this many times the limit. */
const SLOWEST = 4;
const LONGEST_TEXT = 300;

export class Service {
  readonly #options: ServiceOptions;
  readonly #client: HttpClient;
  readonly #url: URL;
  readonly #base: string;

  constructor(options: ServiceOptions) {
    const { owner, timeout } = options;
    const url = new URL(options.url);
    this.#options = options;
    this.#url = url;
    this.#base = `${url.origin}${url.pathname.replace(/\/$/, "")}`;
    // The service is the user's own choice and often in a private network.
    this.#client = new HttpClient(owner, { url, allowPrivate: true, timeout, sockets: 1 });
  }

  /** Its name in messages. */
  get shown(): string {
    return this.#url.host;
  }

  /** Which service the ids in a queue belong to. */
  get target(): string {
    return this.#url.origin;
  }

  /** The answer's JSON; rejects with a SendError, or a ServiceError when there was an answer. */
  async call(method: "GET" | "POST", path: string, body: object | undefined, signal: AbortSignal): Promise<unknown> {
    const late = AbortSignal.timeout(SLOWEST * this.#options.timeout);
    const either = AbortSignal.any([signal, late]);
    const headers = { "content-type": "application/json", "user-agent": "hookline", ...this.#options.headers };
    let response: Response;
    try {
      const text = body === undefined ? "" : JSON.stringify(body);
      response = await this.#client.send(`${this.#base}${path}`, { method, headers, body: text }, either);
    } catch (error) {
      if (late.aborted && !signal.aborted) throw new SendError("the answer took too long", true);
      const { message, retry } = error as SendError;
      throw new SendError(this.scrub(message), retry);
    }
    return this.#judge(response, await response.text());
  }

  /**
   * Uploads a file to an address that the service gave, which may be another machine's: so it gets none of our headers,
   * and the address must be encrypted if the service's is.
   */
  async put(
    to: string,
    headers: Readonly<Record<string, string>>,
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<void> {
    const url = new URL(to, this.#base);
    const isOpen = url.protocol !== "https:" && url.protocol !== this.#url.protocol;
    if (isOpen) throw new ServiceError(`it wants the file at an address of ${url.protocol}, which is refused`, 0, "");
    const { owner, timeout } = this.#options;
    const client = new HttpClient(owner, { url, allowPrivate: true, timeout, sockets: 1 });
    try {
      const { status } = await client.send(url.href, { method: "PUT", headers: { ...headers }, body: bytes }, signal);
      if (status >= 300) throw new ServiceError(`HTTP ${status} for a file`, status, "");
    } finally {
      client.close();
    }
  }

  /** A message without anything secret. */
  scrub(message: string): string {
    return redact(message, this.#options.secrets);
  }

  /** Closes all connections. */
  close(): void {
    this.#client.close();
  }

  #judge({ status, headers }: Response, text: string): unknown {
    const answer = asObject(text);
    if (status >= 200 && status < 300) {
      if (answer) return answer;
      // Not from the service but from something in between, such as a login page of the network.
      throw new SendError(`HTTP ${status} with something that is no JSON`, true);
    }
    if (status >= 300 && status < 400)
      throw new ServiceError(`HTTP ${status}: it redirects, which is refused`, status, "");
    const { error_code: code = "", message } = (answer ?? {}) as { error_code?: unknown; message?: unknown };
    const said = typeof message === "string" && message !== "" ? `: ${this.scrub(message).slice(0, LONGEST_TEXT)}` : "";
    throw new ServiceError(`HTTP ${status}${said}`, status, String(code), retryAfterMs(headers.get("retry-after")));
  }
}

function asObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Checks an address, and returns it without user and password. A key must not be sent unencrypted. */
export function checkUrl(
  owner: string,
  option: string,
  text: string,
  { secret, allowHttp }: { readonly secret: boolean; readonly allowHttp: boolean },
): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.host || !["http:", "https:"].includes(url.protocol)) {
    // It may hold a password, so only its beginning is shown.
    const kind = /^[\w+-]{1,20}:/.exec(text)?.[0] ?? "a text that is none";
    throw new OptionError(`${owner}: Expected ${option} to be an address such as "https://example.com", got ${kind}`);
  }
  if (url.protocol === "http:" && secret && !allowHttp && !LOOPBACK.test(url.hostname)) {
    throw new OptionError(
      `${owner}: ${option} is plain http, and your key would travel in the open. Use https, or set allowHttp: true if that is meant.`,
    );
  }
  return `${url.origin}${url.pathname}`;
}
