// A web service that behaves badly on demand, on 127.0.0.1: for tests of hooks that send notices.
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** How the service answers: well, not at all, with an error, by cutting the line, by pointing elsewhere. */
export type Mode = "ok" | "hang" | "500" | "429" | "404" | "reset" | "redirect";

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface NoticeServer {
  readonly url: string;
  readonly received: readonly Received[];
  mode: Mode;
  /** Resolves once so many requests have come. */
  until(count: number): Promise<void>;
  /** Connections that are open now. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

const STATUS: Partial<Record<Mode, number>> = { ok: 200, "500": 500, "429": 429, "404": 404, redirect: 302 };

export async function noticeServer(mode: Mode = "ok"): Promise<NoticeServer> {
  const received: Received[] = [];
  let wake: (() => void)[] = [];
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("error", () => undefined);
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, body });
      for (const resolve of wake) resolve();
      wake = [];
      if (notices.mode === "reset") request.socket.resetAndDestroy();
      const status = STATUS[notices.mode];
      if (status === undefined) return;
      response.writeHead(status, {
        ...(notices.mode === "redirect" && { Location: `${notices.url}elsewhere` }),
        ...(notices.mode === "429" && { "Retry-After": "0" }),
      });
      response.end("a body that nobody reads");
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const notices: NoticeServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received,
    mode,
    async until(count) {
      while (received.length < count) await new Promise<void>((resolve) => void wake.push(resolve));
    },
    connections: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return notices;
}
