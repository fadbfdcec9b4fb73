// Load for an HTTP server: connections that each send their next request when the last one is answered. Written on bare
// sockets, since a client must not be the slower side of the measurement.
import { connect, type Socket } from "node:net";

export interface LoadResult {
  readonly requests: number;
  readonly errors: number;
  readonly seconds: number;
  /** Milliseconds of every request. */
  readonly latencies: Float64Array;
}

const END = Buffer.from("\r\n\r\n");

/** One connection, with one request on its way at a time. */
class Connection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #settle: ((status: number) => void) | undefined;

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1").setNoDelay(true);
    this.#socket.on("data", (chunk) => this.#take(chunk));
    this.#socket.on("error", () => this.#settle?.(0));
    this.#socket.on("close", () => this.#settle?.(0));
  }

  /** Resolves to the status; 0 when the connection broke. */
  ask(bytes: string): Promise<number> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#socket.write(bytes);
    });
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const head = this.#received.indexOf(END);
    if (head < 0) return;
    const text = this.#received.toString("latin1", 0, head);
    const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    if (this.#received.length < head + 4 + length) return;
    this.#received = this.#received.subarray(head + 4 + length);
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(Number(text.slice(9, 12)));
  }

  close(): void {
    this.#socket.destroy();
  }
}

const requestOf = (body: string): string =>
  `POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** `clients` connections ask with these bodies, in turn, for so many seconds. */
export async function load(
  port: number,
  bodies: readonly string[],
  clients: number,
  seconds: number,
): Promise<LoadResult> {
  const requests = bodies.map(requestOf);
  const connections = Array.from({ length: clients }, () => new Connection(port));
  const latencies: number[] = [];
  let [errors, next] = [0, 0];
  const begun = performance.now();
  const until = begun + seconds * 1000;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < until) {
        const since = performance.now();
        const status = await connection.ask(requests[next++ % requests.length]!);
        latencies.push(performance.now() - since);
        if (status !== 200) errors++;
        if (status === 0) return;
      }
    }),
  );
  const took = (performance.now() - begun) / 1000;
  for (const connection of connections) connection.close();
  return { requests: latencies.length, errors, seconds: took, latencies: Float64Array.from(latencies) };
}
