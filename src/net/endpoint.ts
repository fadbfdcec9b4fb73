// The address of a webhook: checked once, never in a private network unless allowed, and its secrets kept out of messages.
import { OptionError } from "../core/errors.ts";
import { is, show } from "../core/options.ts";
import { redact, secretsOfEnvironment } from "../platform/redact.ts";

export interface EndpointOptions {
  /** `https:`; paths and query often hold a key, so no message shows more than the host. */
  readonly url?: string | URL;
  /** Headers of every request, such as `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds for one attempt. Default 10000. */
  readonly timeout?: number;
  /** Allow plain http. Default false. */
  readonly allowHttp?: boolean;
  /** Allow addresses of private networks and of this machine. Default false. */
  readonly allowPrivate?: boolean;
}

export const ENDPOINT_CHECKS = {
  // Checked below: the message of `checkOptions` would show the value, and with it the key.
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

/** Shorter parts of a path (`services`, `v1`) are not secret, and hiding them would garble other words. */
const LEAST_SECRET = 6;

export class Endpoint {
  /** Without user and password, which are in the headers. */
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

  /** Its name in messages. */
  get shown(): string {
    return this.url.host;
  }

  /** A message without secrets, of this endpoint or of the environment. */
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

/** `10.1.2.3` → [10, 1, 2, 3]; undefined when it is no IPv4 address. */
function parseV4(text: string): number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.map(Number);
}

/** The eight groups of an IPv6 address; undefined when it is none. */
function parseV6(text: string): number[] | undefined {
  // A zone (`%eth0`) names the network interface, not the destination.
  let rest = text.split("%")[0]!;
  const tail: number[] = [];
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(rest);
  if (dotted) {
    const v4 = parseV4(dotted[2]!);
    if (!v4) return undefined;
    tail.push(v4[0]! * 256 + v4[1]!, v4[2]! * 256 + v4[3]!);
    // The colon before the dotted part goes, unless it is half of `::`.
    rest = dotted[1]!.endsWith("::") ? dotted[1]! : dotted[1]!.slice(0, -1);
  }
  const halves = rest.split("::");
  if (halves.length > 2) return undefined;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  if (!groups.flat().every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const [head, end] = groups.map((half) => half.map((group) => Number.parseInt(group, 16)));
  const missing = 8 - tail.length - head!.length - (end?.length ?? 0);
  if (end === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...head!, ...Array.from({ length: missing }, () => 0), ...(end ?? []), ...tail];
}

/** Blocks that are not routed publicly: the first address, and the number of leading bits. */
const NOT_PUBLIC: readonly (readonly [block: readonly number[], bits: number])[] = [
  [[0, 0, 0, 0], 8],
  [[10, 0, 0, 0], 8],
  [[100, 64, 0, 0], 10],
  [[127, 0, 0, 0], 8],
  [[169, 254, 0, 0], 16],
  [[172, 16, 0, 0], 12],
  [[192, 0, 0, 0], 24],
  [[192, 0, 2, 0], 24],
  [[192, 88, 99, 0], 24],
  [[192, 168, 0, 0], 16],
  [[198, 18, 0, 0], 15],
  [[198, 51, 100, 0], 24],
  [[203, 0, 113, 0], 24],
  [[224, 0, 0, 0], 3],
];

const asNumber = (bytes: readonly number[]): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);

function isPublicV4(address: readonly number[]): boolean {
  const value = asNumber(address);
  return !NOT_PUBLIC.some(([block, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(value / size) === Math.floor(asNumber(block) / size);
  });
}

/** The IPv4 address in the last two groups. */
const embedded = (groups: readonly number[]): number[] =>
  groups.slice(6).flatMap((group) => [Math.floor(group / 256), group % 256]);

function isPublicV6(groups: readonly number[]): boolean {
  const [a, b] = groups as [number, number];
  const zeros = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0);
  // IPv4 addresses written as IPv6: mapped addresses, and NAT64 for networks that have only IPv6.
  if (zeros(0, 5) && groups[5] === 0xffff) return isPublicV4(embedded(groups));
  if (a === 0x64 && b === 0xff9b && zeros(2, 6)) return isPublicV4(embedded(groups));
  // Global unicast is 2000::/3. Inside it: protocol use and tunnels (2001::/23, 2002::/16), documentation.
  if (a < 0x2000 || a > 0x3fff) return false;
  const special = (a === 0x2001 && (b < 0x200 || b === 0xdb8)) || a === 0x2002 || (a === 0x3fff && b < 0x1000);
  return !special;
}

/** Whether a host is an address and not a name. */
export const isAddress = (host: string): boolean => (parseV4(host) ?? parseV6(host)) !== undefined;

/** False for private, loopback, link-local, multicast and reserved addresses, and for anything else. */
export function isPublicAddress(address: string): boolean {
  const v4 = parseV4(address);
  if (v4) return isPublicV4(v4);
  const v6 = parseV6(address);
  return v6 !== undefined && isPublicV6(v6);
}
