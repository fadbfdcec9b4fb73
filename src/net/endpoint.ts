// Where notices go: the URL, checked once, and how to speak of it without giving its secrets away.
import { OptionError } from "../core/errors.ts";
import { is, show } from "../core/options.ts";
import { isAddress, isPublicAddress } from "./addresses.ts";
import { redact, secretsOfEnvironment } from "../platform/redact.ts";

export interface EndpointOptions {
  /** `https:`; paths and query often hold a key, so no message shows more than the host. */
  readonly url?: string | URL;
  /** Headers of every request, such as `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds for one attempt. Default 10000. */
  readonly timeout?: number;
  /** Plain http as well. Default false. */
  readonly allowHttp?: boolean;
  /** Addresses of private networks and of this machine as well. Default false. */
  readonly allowPrivate?: boolean;
}

export const ENDPOINT_CHECKS = {
  // Checked below: the common message would show the value, and with it the key.
  url: { ...is.anything, expected: 'an address such as "https://example.com/…"' },
  headers: {
    expected: "an object of strings",
    schema: { type: "object", additionalProperties: { type: "string" } },
    test: (v: unknown) => is.object.test(v) && Object.values(v as object).every((value) => typeof value === "string"),
  },
  timeout: is.positive,
  allowHttp: is.boolean,
  allowPrivate: is.boolean,
};

/** Short parts of a path (`services`, `v1`) are no secrets, and hiding them would garble other words. */
const LEAST_SECRET = 6;

export class Endpoint {
  /** Without user and password: those are in the headers. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeout: number;
  readonly allowPrivate: boolean;
  readonly #secrets: readonly string[];

  constructor(owner: string, options: EndpointOptions) {
    const { headers = {}, timeout = 10_000, allowHttp = false, allowPrivate = false } = options;
    const url = parse(owner, options.url);
    if (url.protocol !== "https:" && !(allowHttp && url.protocol === "http:")) {
      const hint = url.protocol === "http:" ? " Set allowHttp: true if plain http is meant." : "";
      throw new OptionError(`${owner}: Expected \`url\` to begin with https://, got ${url.protocol}//…${hint}`);
    }
    this.#secrets = [...secretsOf(url, headers), ...secretsOfEnvironment()];
    this.headers = url.username === "" ? headers : { Authorization: basic(url), ...headers };
    [url.username, url.password, url.hash] = ["", "", ""];
    this.url = url;
    this.timeout = timeout;
    this.allowPrivate = allowPrivate;
    if (!allowPrivate && (isAddress(this.host) ? !isPublicAddress(this.host) : /(^|\.)localhost\.?$/.test(this.host))) {
      throw new OptionError(
        `${owner}: \`url\` leads to ${this.host}, which is not in the public internet. Set allowPrivate: true if that is meant.`,
      );
    }
  }

  /** The name or address, without the brackets of IPv6. */
  get host(): string {
    return this.url.hostname.replace(/^\[(.*)\]$/, "$1");
  }

  /** How messages call it. */
  get shown(): string {
    return this.url.host;
  }

  /** A message without anything secret, of this endpoint or otherwise. */
  scrub(message: string): string {
    return redact(message, this.#secrets);
  }
}

function parse(owner: string, url: unknown): URL {
  if (typeof url !== "string" && !(url instanceof URL)) {
    throw new OptionError(`${owner}: Expected \`url\` to be a URL such as "https://example.com/…", got ${show(url)}`);
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.host) return parsed;
  throw new OptionError(
    `${owner}: Expected \`url\` to be a whole URL such as "https://example.com/…", got a text that is none (it may hold a secret, so it is not shown).`,
  );
}

const basic = ({ username, password }: URL): string =>
  `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}`;

function secretsOf(url: URL, headers: Readonly<Record<string, string>>): string[] {
  const query = [...url.searchParams.values()];
  const parts = [url.href, url.username, url.password, url.search, ...query, ...url.pathname.split("/")];
  const all = [...parts, ...parts.map(decoded), ...Object.values(headers)];
  return [...new Set(all)].filter((part) => part.length >= LEAST_SECRET);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
