// What a route answers, and the errors that become answers.
import { toJson } from "../../runs/exact-json.ts";
import type { ErrorAnswer } from "../wire.ts";

/** An answer: a status, headers besides those that every answer has, and a body. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** An answer that is an error, thrown where it is found. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    { hint, headers = {} }: { readonly hint?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.headers = headers;
  }

  get answer(): Answer {
    const { code, message, hint } = this;
    const body: ErrorAnswer = { error: { code, message, ...(hint !== undefined && { hint }) } };
    return { ...json(body, this.status), headers: { "content-type": JSON_TYPE, ...this.headers } };
  }
}

const JSON_TYPE = "application/json; charset=utf-8";

/** Numbers that JSON lacks become strings, as in run.json. */
export const json = (value: unknown, status = 200): Answer => ({
  status,
  headers: { "content-type": JSON_TYPE },
  body: toJson(value),
});

export const bytes = (body: Uint8Array, type: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 200,
  headers: { "content-type": type, ...headers },
  body,
});

export const badRequest = (message: string, hint?: string): Refusal =>
  new Refusal(400, "bad-request", message, hint === undefined ? {} : { hint });

export const gone = (what: string): Refusal => new Refusal(404, "gone", `There is no ${what}.`);
