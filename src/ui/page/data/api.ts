// Requests to the server. Addresses are relative to the page, so that a path in front of it (a proxy's) is kept.
import { signal } from "@preact/signals";
import type { ErrorAnswer } from "../../wire.ts";

/** An error that the server answered with, or `offline` when nobody answered. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(status: number, code: string, message: string, hint?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

interface Lost {
  readonly since: number;
  readonly retryAt: number;
  /** It answers, and wants another token. */
  readonly token: boolean;
  /** It has said goodbye. */
  readonly hasEnded: boolean;
}

/** Since when the server does not answer, and when the next try comes; null while it answers. */
export const lost = signal<Lost | null>(null);

/** How far the server has read a long log that somebody asked for; null while none is being read. */
export const reading = signal<string | null>(null);
const ASK_AGAIN = 500;

const address = (path: string): string => new URL(`api/v1/${path}`, document.baseURI).href;

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as ErrorAnswer;
    return new ApiError(response.status, error.code, error.message, error.hint);
  } catch {
    return new ApiError(response.status, "unknown", `The server answered ${response.status} ${response.statusText}`);
  }
}

async function request(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address(path), init);
  } catch {
    throw new ApiError(0, "offline", "The server does not answer");
  }
  if (response.ok) {
    reading.value = null;
    return response;
  }
  const error = await errorOf(response);
  if (error.code !== "reading") throw error;
  reading.value = error.message;
  await new Promise((resolve) => void setTimeout(resolve, ASK_AGAIN));
  return request(path, init);
}

/** JSON has no NaN and no infinities: they travel as these strings. */
const NOT_FINITE = /"(?:NaN|-?Infinity)"/;
const restore = (_: string, value: unknown): unknown =>
  value === "NaN" || value === "Infinity" || value === "-Infinity" ? Number(value) : value;

export async function get<T>(path: string): Promise<T> {
  const text = await (await request(path)).text();
  return JSON.parse(text, NOT_FINITE.test(text) ? restore : undefined) as T;
}

const posting = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", "x-hookline": "1" },
  body: JSON.stringify(body),
});

export const post = async <T>(path: string, body: unknown): Promise<T> =>
  (await (await request(path, posting(body))).json()) as T;

export const postForBytes = async (path: string, body: unknown): Promise<ArrayBuffer> =>
  (await request(path, posting(body))).arrayBuffer();

/** Where an image of a run is. */
export const mediaAddress = (run: string, name: string, step: number): string =>
  address(`runs/${run}/media?${new URLSearchParams({ name, step: String(step) }).toString()}`);

export const streamAddress = (show: readonly string[]): string =>
  address(`stream${show.length > 0 ? `?show=${show.join(",")}` : ""}`);

/** One line for a person. */
export const explain = (error: unknown): string =>
  error instanceof ApiError
    ? [error.message, error.hint].filter(Boolean).join(". ")
    : error instanceof Error
      ? error.message
      : String(error);
