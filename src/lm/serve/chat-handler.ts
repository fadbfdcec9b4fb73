// A language model behind OpenAI's interface: what is answered, to the web's own Request or to `hookline serve`.
import { DataError, OptionError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import {
  type Answerer,
  fetchHandler,
  isJson,
  type ServedAnswer,
  type ServedRequest,
  TooLarge,
} from "../../net/served.ts";
import { printFailure } from "../../platform/print.ts";
import type { TextGenerator } from "../generate/generator.ts";
import { errorBody, JSON_HEADERS, Refusal, refused } from "./refusal.ts";
import { streamedReply, wholeReply } from "./replies.ts";
import { readRequest } from "./request-body.ts";

/** Options of `createChatHandler`. */
export interface ChatHandlerOptions {
  /** What clients call the model. Default: the name of its folder. */
  readonly name?: string;
  /** The most tokens of an answer, and how many it gets if the client does not say. Default 1,024. */
  readonly maxTokens?: number;
  /** The largest body in bytes. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Requests are refused with 429 while as many are being answered or wait. Default 64. */
  readonly maxQueue?: number;
  /** Receives errors of the server's side, which are not sent to the client. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
}

const CHECKS = {
  name: is.name,
  maxTokens: is.wholeFrom(1),
  maxBytes: is.wholeFrom(1),
  maxQueue: is.wholeFrom(1),
  onError: is.function,
};

/**
 * A fetch handler that answers as OpenAI's interface does: `POST …/chat/completions`, `POST …/completions` and
 * `GET …/models`. Requests that come at the same time are answered at the same time; a client that goes ends its answer.
 * @example export const POST = createChatHandler(generator(await loadModel("models/SmolLM2-135M-Instruct")));
 */
export const createChatHandler = (
  writer: TextGenerator,
  options: ChatHandlerOptions = {},
): ((request: Request) => Promise<Response>) => fetchHandler(chatAnswerer(writer, options));

export function chatAnswerer(writer: TextGenerator, options: ChatHandlerOptions = {}): Answerer {
  checkOptions("createChatHandler", options, CHECKS);
  const { maxTokens = 1024, maxBytes = 2 ** 20, maxQueue = 64 } = options;
  const name = options.name ?? nameOf(writer.model.source.path);
  const created = Math.floor(Date.now() / 1000);
  const onError =
    options.onError ??
    ((error: unknown) => printFailure(error instanceof Error ? (error.stack ?? error.message) : String(error)));
  /** Requests without a whole answer. */
  let open = 0;

  const described = (error: unknown): Refusal => {
    if (error instanceof Refusal) return error;
    if (error instanceof TooLarge) return new Refusal(413, `The body is larger than ${maxBytes} bytes.`);
    if (error instanceof OptionError || error instanceof DataError) return new Refusal(400, error.message);
    onError(error);
    return new Refusal(500, "The model could not be computed. The server's log says why.");
  };

  async function post(kind: "chat" | "text", request: ServedRequest): Promise<ServedAnswer> {
    if (!isJson(request.contentType))
      throw new Refusal(415, "Send JSON, with the header content-type: application/json.");
    if (open >= maxQueue) throw new Refusal(429, "The server is busy. Retry in a moment.", { code: "queue_full" });
    open++;
    let isStreamed = false;
    const over = (): void => void open--;
    try {
      const asked = readRequest(kind, await request.body(maxBytes).catch(unreadable), name, maxTokens);
      const { signal } = request.controller;
      const continuation = await writer.begin(asked.prompt, { ...asked.options, signal }, { tokens: maxTokens });
      const reply = { kind, model: name, continuation };
      if (!asked.stream) return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(await wholeReply(reply)) };
      isStreamed = true;
      const events = streamedReply(reply, asked.includeUsage, (error) => errorBody(described(error)));
      const headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" };
      void continuation.settled().then(over, over);
      return { status: 200, headers, body: events };
    } finally {
      if (!isStreamed) over();
    }
  }

  const card = { id: name, object: "model", created, owned_by: "hookline" };
  const found = (value: object): ServedAnswer => ({ status: 200, headers: JSON_HEADERS, body: JSON.stringify(value) });

  async function answer(request: ServedRequest): Promise<ServedAnswer> {
    const { method, path } = request;
    const posts = /\/chat\/completions\/?$/.test(path) ? "chat" : /\/completions\/?$/.test(path) ? "text" : undefined;
    if (posts && method === "POST") return post(posts, request);
    if (posts) throw new Refusal(405, "POST a request here.");
    if (method !== "GET" && method !== "HEAD")
      throw new Refusal(405, "GET describes the model; POST to /v1/chat/completions.");
    if (/\/health\/?$/.test(path)) return found({ status: "ok", pending: writer.pending });
    return /\/models\/?$/.test(path) ? found({ object: "list", data: [card] }) : found(card);
  }

  return async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      // Nobody reads this answer.
      if (request.controller.signal.aborted) return refused(new Refusal(499, "The client has gone."));
      return refused(described(error));
    }
  };
}

/** The last part of the path alone: clients need not know the folders of the server. */
const nameOf = (path: string | undefined): string => path?.replace(/\/+$/, "").replace(/^.*\//, "") || "model";

function unreadable(error: unknown): never {
  throw error instanceof TooLarge ? error : new Refusal(400, "The body could not be read.");
}
