// The one gate that every request passes before it is routed. It only knows what is allowed: a Host that is this machine,
// an Origin that is this server, a request that a page of ours or a person made, and a token.
import type { IncomingMessage } from "node:http";
import { Refusal } from "./answer.ts";
import type { Tokens } from "./tokens.ts";

export interface GateOptions {
  /** Names besides those of this machine, such as that of a proxy. */
  readonly allowHosts: readonly string[];
  readonly tokens: Tokens;
}

const LOCAL_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** The headers of every answer. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
  "x-frame-options": "DENY",
};

/**
 * Throws the refusal of a request that may not be answered.
 *
 * A page elsewhere can have its own name resolve to this machine (its requests carry that name: Host), and can send
 * requests here without reading the answers (Origin, Sec-Fetch-Site). Cookies know no ports: a page of another server on
 * this machine sends ours, so a cookie alone proves nothing.
 */
export function checkRequest(request: IncomingMessage, options: GateOptions): void {
  checkOrigin(request, options);
  if (request.method !== "GET" && request.method !== "POST") {
    throw new Refusal(405, "method", "Only GET and POST are answered.", { headers: { allow: "GET, POST" } });
  }
  if (!options.tokens.accepts(request)) {
    throw new Refusal(401, "token", "This request has no valid token.", {
      hint: "Run `npx hookline ui` again in a terminal: it prints a new link to this server.",
    });
  }
  if (request.method === "POST") checkPost(request);
}

/** All but the token: a link that works once has it in its address. */
export function checkOrigin({ headers }: IncomingMessage, { allowHosts }: GateOptions): void {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  if (!isAllowedHost(host, allowHosts)) {
    throw new Refusal(421, "host", "This server does not answer requests for that host.", {
      hint: "Open it as localhost or 127.0.0.1, or start it with --allow-host.",
    });
  }
  if (origin !== undefined && !isOriginOf(origin, host)) throw elsewhere();
  if (site !== undefined && site !== "same-origin" && site !== "none") throw elsewhere();
}

const elsewhere = (): Refusal => new Refusal(403, "origin", "This request was made by another page.");

/** With any port: an ssh tunnel changes it. */
function isAllowedHost(header: string, more: readonly string[]): boolean {
  const name = header.replace(/:\d{1,5}$/, "").toLowerCase();
  return (
    LOCAL_NAMES.includes(name) || more.some((allowed) => [name, header.toLowerCase()].includes(allowed.toLowerCase()))
  );
}

/** The scheme may differ: a proxy adds TLS. */
function isOriginOf(origin: string, host: string): boolean {
  const found = /^https?:\/\/([^/]+)$/.exec(origin);
  return found !== null && found[1]!.toLowerCase() === host.toLowerCase();
}

/** What a form or a simple request of another page cannot send. */
function checkPost({ headers }: IncomingMessage): void {
  const type = (headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (type !== "application/json") throw new Refusal(415, "type", "Send JSON: `content-type: application/json`.");
  if (headers["x-hookline"] !== "1") throw new Refusal(403, "origin", "Send the header `X-Hookline: 1`.");
}
