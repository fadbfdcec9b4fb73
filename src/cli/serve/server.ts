// Answers behind node:http, with timeouts, limits on connections, and an end that answers every request that has arrived.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP, type AddressInfo } from "node:net";
import { type Answerer, type ServedAnswer, TooLarge } from "../../net/served.ts";

/** What a server answers. */
export interface Service {
  readonly answer: Answerer;
  readonly paths: ReadonlySet<string>;
  /** What there is, for clients that ask for something else. */
  readonly hint: string;
}

export interface Address {
  readonly host: string;
  /** 0 chooses a free one. */
  readonly port: number;
}

export interface RunningServer {
  readonly url: string;
  /** Takes no more connections, answers what has arrived, and ends after at most `grace` milliseconds. */
  close(grace: number): Promise<void>;
}

/** A client gets this long to send a request; slower ones would hold connections for nothing. */
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;
/** Longer than the idle timeout of usual load balancers, which must be the side that closes. */
const KEEP_ALIVE_MS = 65_000;
const MOST_CONNECTIONS = 4096;
const MOST_HEADER_BYTES = 8192;

/** Resolves when the server listens. */
export async function startServer({ answer, paths, hint }: Service, { host, port }: Address): Promise<RunningServer> {
  let closing = false;

  const answerTo = async (request: IncomingMessage, controller: AbortController): Promise<ServedAnswer> => {
    const path = (request.url ?? "/").split("?", 1)[0]!;
    if (isLoopback(host) && !isLocalName(request.headers.host ?? host))
      return refusal(403, "This server answers requests for localhost only.");
    if (!paths.has(path)) return refusal(404, hint);
    if (closing && path === "/health") return refusal(503, "The server is shutting down.");
    return answer({
      method: request.method ?? "GET",
      path,
      contentType: request.headers["content-type"] ?? "",
      body: (maxBytes) => readBody(request, maxBytes),
      controller,
    });
  };

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.on("close", () => {
      if (!response.writableFinished) gone.abort();
    });
    const { status, headers, body } = await answerTo(request, gone);
    if (response.destroyed) return;
    // What was not read of a request would be taken for the next one.
    if (closing || !request.complete) response.setHeader("connection", "close");
    if (typeof body !== "string") return stream(response.writeHead(status, headers), body);
    response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
    response.end(request.method === "HEAD" ? undefined : body);
  };

  const server = createServer({ maxHeaderSize: MOST_HEADER_BYTES }, (request, response) => {
    void respond(request, response);
  });
  Object.assign(server, {
    requestTimeout: REQUEST_MS,
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxConnections: MOST_CONNECTIONS,
  });
  await listen(server, host, port);
  const { port: chosen } = server.address() as AddressInfo;
  return {
    url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${chosen}`,
    close: (grace) =>
      new Promise((resolve) => {
        closing = true;
        const giveUp = setTimeout(() => server.closeAllConnections(), grace);
        server.close(() => {
          clearTimeout(giveUp);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/** Writes no faster than the client reads. */
async function stream(response: ServerResponse, body: AsyncIterable<string>): Promise<void> {
  for await (const piece of body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end();
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");

/**
 * A web page can have its own name resolve to this machine, and would then reach a server that listens on localhost
 * only. Its requests carry that name.
 */
function isLocalName(header: string): boolean {
  const name = header.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return isLoopback(name);
}

const refusal = (status: number, message: string): ServedAnswer => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8" },
  body: JSON.stringify({ error: { message } }),
});

/** Stops keeping what arrives as soon as the limit is passed: a length that the client states is not trusted. */
function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) return void chunks.push(chunk);
      chunks.length = 0;
      request.pause();
      return reject(new TooLarge());
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}
