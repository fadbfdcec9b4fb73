// The dashboard's server: one gate, the routes of the API, the files of the page, and an orderly end.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP, type AddressInfo } from "node:net";
import { resolve } from "node:path";
import { HooklineError } from "../../core/errors.ts";
import { type Answer, badRequest, gone, Refusal } from "./answer.ts";
import { readJson } from "./body.ts";
import { CommandSender } from "./commands.ts";
import { checkOrigin, checkRequest, HEADERS, type GateOptions } from "./gate.ts";
import { BUILT_PAGES, pageFile } from "./pages.ts";
import { Reader } from "./reader.ts";
import { findRoute, ROUTES } from "./routes.ts";
import { RunIndex } from "./run-index.ts";
import type { Site } from "./site.ts";
import { Studies } from "./studies.ts";
import { Streams } from "./streams.ts";
import { Tokens } from "./tokens.ts";

export interface ServerOptions {
  /** The directory with runs. */
  readonly root: string;
  /** Of hookline. */
  readonly version: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 chooses a free one. */
  readonly port: number;
  /** Names besides those of this machine under which the server may be addressed. */
  readonly allowHosts?: readonly string[];
  /** The path below which a proxy shows the server. Default `/`. */
  readonly basePath?: string;
  /** Refuses commands. Default false. */
  readonly readOnly?: boolean;
  /** The token for scripts; a random one by default. */
  readonly token?: string;
  /** The folder of the page; default: the one beside the compiled server. */
  readonly pages?: string;
  /** Bytes of memory for logs. Default 512 MiB. */
  readonly cache?: number;
  /** Receives errors of the server's side, which are not sent to the client. */
  readonly onError?: (error: unknown) => void;
}

export interface RunningServer {
  readonly port: number;
  /** The address without a token. */
  readonly url: string;
  /** For scripts: `Authorization: Bearer …`. */
  readonly token: string;
  /** The address of a new link that works once. */
  newLink(): string;
  /** Whether a page is open. */
  hasPages(): boolean;
  close(): Promise<void>;
}

const API = "api/v1/";
const MiB = 1024 * 1024;
const MOST_HEADER_BYTES = 16 * 1024;
const MOST_CONNECTIONS = 1024;
/** A client gets this long to send a request. */
const REQUEST_MS = 30_000;

/** Resolves when the server listens. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", port, pages = BUILT_PAGES, cache = 512 * MiB, readOnly = false } = options;
  const root = resolve(options.root);
  const base = `/${(options.basePath ?? "").replaceAll(/^\/+|\/+$/g, "")}/`.replace("//", "/");
  const tokens = new Tokens(options.token);
  const gate: GateOptions = { allowHosts: options.allowHosts ?? [], tokens };
  const [index, reader] = [new RunIndex(root), new Reader(cache)];
  const streams = new Streams(index, reader, !readOnly);
  let url = "";
  const newLink = (): string => `${url}?token=${tokens.newLink()}`;
  const site: Site = {
    version: options.version,
    root,
    shownRoot: options.root,
    readOnly,
    tokens,
    index,
    reader,
    streams,
    commands: new CommandSender(readOnly),
    studies: new Studies(),
    newLink,
  };

  /** Undefined when a stream answers. */
  async function answerTo(request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> {
    const target = request.url ?? "/";
    if (!target.startsWith("/")) throw badRequest("Send the path of the address only.");
    const { pathname, searchParams: query } = new URL(`http://localhost${target}`);
    // A proxy may have removed its path, or not.
    const path = (pathname.startsWith(base) ? pathname.slice(base.length) : pathname.slice(1)) || "";
    const link = query.get("token");
    if (path === "" && link !== null && request.method === "GET") {
      checkOrigin(request, gate);
      return openLink(link);
    }
    checkRequest(request, gate);
    if (!path.startsWith(API)) {
      if (request.method !== "GET") throw wrongMethod("GET");
      return pageFile(pages, path);
    }
    const route = findRoute(path.slice(API.length));
    if (!route) throw gone("such address");
    const methods = ROUTES[route.name]!;
    const handle = methods[request.method as "GET" | "POST"];
    if (!handle) throw wrongMethod(Object.keys(methods).join(", "));
    const body = request.method === "POST" ? await readJson(request) : undefined;
    return handle({ site, params: route.params, query, body, response });
  }

  /** The token leaves the address at once: it would stay in the browser's history. */
  function openLink(link: string): Answer {
    const cookie = tokens.open(link, base);
    if (cookie === undefined) {
      throw new Refusal(401, "token", "This link was used before, or is not one of this server.", {
        hint: "Run `npx hookline ui` again in a terminal: it prints a new link to this server.",
      });
    }
    return { status: 303, headers: { location: base, "set-cookie": cookie }, body: "" };
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const answer = await answerTo(request, response).catch((error: unknown) => failure(error, options.onError));
    if (answer === undefined || response.destroyed) return;
    // What was not read of a request would be taken for the next one.
    if (!request.complete) response.setHeader("connection", "close");
    response.writeHead(answer.status, { ...answer.headers, "content-length": Buffer.byteLength(answer.body) });
    response.end(answer.body);
  }

  const server = createServer({ maxHeaderSize: MOST_HEADER_BYTES, requestTimeout: REQUEST_MS }, (request, response) => {
    void respond(request, response);
  });
  server.maxConnections = MOST_CONNECTIONS;
  await listen(server, host, port);
  const { port: chosen } = server.address() as AddressInfo;
  tokens.listensOn(chosen);
  url = `http://${isIP(host) === 6 ? `[${host}]` : host}:${chosen}${base}`;
  return {
    port: chosen,
    url,
    token: tokens.bearer,
    newLink,
    hasPages: () => streams.count > 0,
    async close() {
      streams.close();
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await Promise.all([closed, reader.close()]);
    },
  };
}

const wrongMethod = (allow: string): Refusal =>
  new Refusal(405, "method", `This address answers ${allow} only.`, { headers: { allow } });

/** Unexpected errors are not sent: a stack says too much. */
function failure(error: unknown, onError: ServerOptions["onError"]): Answer {
  if (error instanceof Refusal) return error.answer;
  // Written for people: a log of a newer version, a disk that cannot be read.
  if (error instanceof HooklineError) return new Refusal(500, "failed", error.message).answer;
  onError?.(error);
  return new Refusal(500, "failed", "The server could not answer. Its terminal says why.").answer;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((done, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      done();
    });
  });
}
