// A JSON service on 127.0.0.1 that fails in the ways that networks fail: what the services of the tests are built on.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What goes wrong with a request; `late…` after it was applied. */
export type Fault =
  | "ok"
  /** The line is cut at once. */
  | "down"
  | "hang"
  /** The answer drips. */
  | "slow"
  | "500"
  | "429"
  | "redirect"
  /** As a network's login page does. */
  | "html"
  /** Applied, and the line is cut in the middle of the answer. */
  | "lateReset"
  /** Applied, and then an error. */
  | "late500"
  /** Half of it is applied, then an error. Only where the service says what half is. */
  | "half";

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface Answer {
  readonly status?: number;
  readonly body: object;
}

export interface FaultyServer {
  readonly url: string;
  /** What the service answers, faults aside. `half`: apply no more than half of it. */
  apply: (call: Call, half: boolean) => Answer;
  /** Asked for each request, which are counted from 0. */
  fault: (count: number, path: string) => Fault;
  readonly calls: readonly Call[];
  connections(): Promise<number>;
  close(): Promise<void>;
}

export async function faultyServer(port = 0): Promise<FaultyServer> {
  const calls: Call[] = [];
  const http = createServer((request, response) => {
    void serve(request, response).catch(() => request.socket.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
    const fault = server.fault(calls.length, pathname);
    const pieces: Uint8Array[] = [];
    for await (const piece of request) pieces.push(piece as Uint8Array);
    const bytes = Buffer.concat(pieces);
    const isFile = request.method === "PUT";
    const body: unknown = isFile ? bytes : bytes.length === 0 ? undefined : JSON.parse(String(bytes));
    const call = { method: request.method ?? "", path: pathname, query: searchParams, headers: request.headers, body };
    calls.push(call);
    if (fault === "hang") return;
    if (fault === "down") return void request.socket.resetAndDestroy();
    if (fault === "500") return json(response, 500, { message: "it is not your fault" });
    if (fault === "429") return json(response, 429, { message: "slow down" }, { "retry-after": "0" });
    if (fault === "redirect") return json(response, 302, {}, { location: `${server.url}/elsewhere` });
    if (fault === "html") {
      response.writeHead(200, { "content-type": "text/html" });
      return void response.end("<html>Log in to the network</html>");
    }
    const { status = 200, body: answer } = server.apply(call, fault === "half");
    if (fault === "late500" || fault === "half") return json(response, 500, { message: "too late" });
    if (fault === "lateReset") {
      response.writeHead(200, { "content-type": "application/json", "content-length": 1000 });
      return void response.write("{", () => request.socket.resetAndDestroy());
    }
    if (fault === "slow") await new Promise((resolve) => setTimeout(resolve, 50));
    return json(response, status, answer);
  }

  await new Promise<void>((resolve) => void http.listen(port, "127.0.0.1", resolve));
  const server: FaultyServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    apply: () => ({ body: {} }),
    fault: () => "ok",
    calls,
    connections: () => new Promise((resolve) => http.getConnections((_error, count) => resolve(count))),
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return server;
}

function json(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

const BAD: readonly Fault[] = ["down", "500", "lateReset", "429", "html", "late500", "half"];

/** Half of the requests fail, by a chance that is the same each time, in every way that passes by itself. */
export function downHalfOfTheTime(count: number): Fault {
  const hash = Math.imul(Math.imul(count + 1, 0x9e3779b1) ^ (count >>> 3), 0x85ebca6b) >>> 8;
  return hash % 2 === 0 ? "ok" : BAD[(hash >>> 1) % BAD.length]!;
}
