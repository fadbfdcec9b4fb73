// A request to a server of a test, header by header: fetch would set some of them and forbid others.
import { request as httpRequest } from "node:http";

export interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** To 127.0.0.1. */
export function ask(port: number, path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false });
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      const done = (): void =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) });
      // A stream does not end by itself.
      if (String(response.headers["content-type"]).startsWith("text/event-stream")) {
        request.destroy();
        return done();
      }
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", done);
      return undefined;
    });
    request.end(body);
  });
}
