// Errors in the form of OpenAI's interface.
import type { ServedAnswer } from "../../net/served.ts";

/** An answer that is an error, thrown from where it is found. */
export class Refusal extends Error {
  readonly status: number;
  /** The field of the request that is wrong. */
  readonly param: string | null;
  readonly code: string | null;

  constructor(
    status: number,
    message: string,
    { param = null, code = null }: Partial<Pick<Refusal, "param" | "code">> = {},
  ) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
  }
}

const TYPES: Readonly<Record<number, string>> = { 429: "rate_limit_error", 500: "server_error", 503: "server_error" };

export const errorBody = ({ status, message, param, code }: Refusal): object => ({
  error: { message, type: TYPES[status] ?? "invalid_request_error", param, code },
});

export const JSON_HEADERS = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

export const refused = (refusal: Refusal): ServedAnswer => ({
  status: refusal.status,
  headers: { ...JSON_HEADERS, ...(refusal.status === 429 && { "retry-after": "1" }) },
  body: JSON.stringify(errorBody(refusal)),
});
