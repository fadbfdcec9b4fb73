// The token of a server, 256 random bits: as a cookie for browsers, as a bearer token for scripts, and behind links that
// work once. It is in no log, in no address that stays and in no page.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

const BITS = 256;
/** Links that nobody has opened yet. More are not kept: the oldest becomes invalid. */
const MOST_LINKS = 16;

export const newToken = (): string => randomBytes(BITS / 8).toString("base64url");

/** In constant time, whatever the lengths are. */
function equal(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

export class Tokens {
  readonly #token: string;
  readonly #links: string[] = [];
  /** Cookies know no ports, so each server on this machine has a cookie of its own. */
  #cookie = "hookline";

  constructor(token: string = newToken()) {
    this.#token = token;
  }

  listensOn(port: number): void {
    this.#cookie = `hookline-${port}`;
  }

  /** For scripts. */
  get bearer(): string {
    return this.#token;
  }

  /** What is added to the address of a link that works once. */
  newLink(): string {
    const link = newToken();
    this.#links.push(link);
    if (this.#links.length > MOST_LINKS) this.#links.shift();
    return link;
  }

  /** The header that stores the token in a browser; undefined when the link is unknown or was used before. */
  open(link: string, path: string): string | undefined {
    const at = this.#links.findIndex((each) => equal(each, link));
    if (at < 0) return undefined;
    this.#links.splice(at, 1);
    return `${this.#cookie}=${this.#token}; HttpOnly; SameSite=Strict; Path=${path}`;
  }

  accepts({ headers }: IncomingMessage): boolean {
    const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
    if (bearer !== undefined) return equal(bearer, this.#token);
    const cookies = (headers.cookie ?? "").split(";").map((each) => each.trim());
    const start = `${this.#cookie}=`;
    return cookies.some((each) => each.startsWith(start) && equal(each.slice(start.length), this.#token));
  }
}
