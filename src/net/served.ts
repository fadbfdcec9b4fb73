// Requests that are answered, without a word about how they arrive: for the web's own Request and Response here, and for
// node:http in the command line.

/** A request as answers need it. */
export interface ServedRequest {
  readonly method: string;
  /** The path of the URL, without the query. */
  readonly path: string;
  readonly contentType: string;
  /** Reads the body; rejects with `TooLarge` beyond the limit. */
  readonly body: (maxBytes: number) => Promise<Uint8Array>;
  /** Aborted when the client has gone. */
  readonly controller: AbortController;
}

/** An answer: a text, or one that is sent as it is written. */
export interface ServedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string>;
}

export type Answerer = (request: ServedRequest) => Promise<ServedAnswer>;

/** The body is larger than the limit. */
export class TooLarge extends Error {}

export const isJson = (contentType: string): boolean =>
  /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType);

/** The same answers as a fetch handler. */
export function fetchHandler(answer: Answerer): (request: Request) => Promise<Response> {
  return async (request) => {
    const controller = new AbortController();
    const gone = (): void => controller.abort(request.signal.reason);
    request.signal.addEventListener("abort", gone, { once: true });
    const over = (): void => request.signal.removeEventListener("abort", gone);
    const { status, headers, body } = await answer({
      method: request.method,
      path: new URL(request.url).pathname,
      contentType: request.headers.get("content-type") ?? "",
      body: (maxBytes) => readBody(request, maxBytes),
      controller,
    });
    if (typeof body !== "string") return new Response(streamOf(body, controller, over), { status, headers });
    over();
    return new Response(request.method === "HEAD" ? null : body, { status, headers });
  };
}

function streamOf(body: AsyncIterable<string>, controller: AbortController, over: () => void): ReadableStream {
  const encoder = new TextEncoder();
  const pieces = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(sink) {
      const { value, done } = await pieces.next();
      if (!done) return sink.enqueue(encoder.encode(value));
      over();
      return sink.close();
    },
    cancel(reason) {
      over();
      controller.abort(reason);
    },
  });
}

/** Stops reading as soon as the limit is passed: a length that the client states is not trusted. */
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body?.getReader();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    bytes += next.value.length;
    if (bytes > maxBytes) {
      await reader!.cancel();
      throw new TooLarge();
    }
    chunks.push(next.value);
  }
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
