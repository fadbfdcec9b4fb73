// A service that speaks JSON over HTTP: one request and its answer, within a time limit, without redirects or secrets.
import { OptionError } from "../../core/errors.ts";
import { SendError } from "../../net/post.ts";
import { redact } from "../../platform/redact.ts";
import { Transport } from "../../net/transport.ts";

/** The service answered, and not well. */
export class ServiceError extends SendError {
  override name = "ServiceError";
  readonly status: number;
  /** MLflow's `error_code`, or "". */
  readonly code: string;

  constructor(message: string, status: number, code: string, wait?: number) {
    super(message, status >= 500 || status === 429 || status === 408, wait);
    this.status = status;
    this.code = code;
  }

  /** What was sent is wrong, and will be next time: less of it may not be. */
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

/** An answer that drips is given up at last: this many times the limit. */
const SLOWEST = 4;
const LONGEST_TEXT = 300;

export class Service {
  readonly #options: ServiceOptions;
  readonly #transport: Transport;
  readonly #url: URL;
  readonly #base: string;

  constructor(options: ServiceOptions) {
    const { owner, timeout } = options;
    const url = new URL(options.url);
    this.#options = options;
    this.#url = url;
    this.#base = `${url.origin}${url.pathname.replace(/\/$/, "")}`;
    // Such a service is the user's own, often in a private network: there is nothing to be kept out of.
    this.#transport = new Transport(owner, { url, allowPrivate: true, timeout, sockets: 1 });
  }

  /** How messages call it. */
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
      response = await this.#transport.send(`${this.#base}${path}`, { method, headers, body: text }, either);
    } catch (error) {
      if (late.aborted && !signal.aborted) throw new SendError("the answer took too long", true);
      const { message, retry } = error as SendError;
      throw new SendError(this.scrub(message), retry);
    }
    return this.#judge(response, await response.text());
  }

  /**
   * Brings a file to an address that the service gave, which may be another machine's: our own headers stay here, and
   * what travels encrypted to the service does not travel in the open to others.
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
    const transport = new Transport(owner, { url, allowPrivate: true, timeout, sockets: 1 });
    try {
      const { status } = await transport.send(
        url.href,
        { method: "PUT", headers: { ...headers }, body: bytes },
        signal,
      );
      if (status >= 300) throw new ServiceError(`HTTP ${status} for a file`, status, "");
    } finally {
      transport.close();
    }
  }

  /** A message without anything secret. */
  scrub(message: string): string {
    return redact(message, this.#options.secrets);
  }

  /** Leaves no connection open. */
  close(): void {
    this.#transport.close();
  }

  #judge({ status, headers }: Response, text: string): unknown {
    const answer = asObject(text);
    if (status >= 200 && status < 300) {
      if (answer) return answer;
      // Not from the service, but from something between: a login page of the network, say.
      throw new SendError(`HTTP ${status} with something that is no JSON`, true);
    }
    if (status >= 300 && status < 400)
      throw new ServiceError(`HTTP ${status}: it redirects, which is refused`, status, "");
    const { error_code: code = "", message } = (answer ?? {}) as { error_code?: unknown; message?: unknown };
    const said = typeof message === "string" && message !== "" ? `: ${this.scrub(message).slice(0, LONGEST_TEXT)}` : "";
    throw new ServiceError(`HTTP ${status}${said}`, status, String(code), waitOf(headers.get("retry-after")));
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

/** Milliseconds: the header has seconds, or a date. */
function waitOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** An address that is checked once; its user and password go into a header. A key must not travel in the open. */
export function checkUrl(
  owner: string,
  option: string,
  text: string,
  { secret, allowHttp }: { readonly secret: boolean; readonly allowHttp: boolean },
): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.host || !["http:", "https:"].includes(url.protocol)) {
    // It may hold a password, so that no more than its beginning is shown.
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
