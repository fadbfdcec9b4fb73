// A redis-server of a test's own: on a free port, with its data in a folder of its own, to be killed and started again.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";

export const redisIsHere = spawnSync("redis-server", ["--version"]).status === 0;
export const WHERE_FROM = "redis-server is not installed (apt-get install redis-server)";

export interface RedisServer {
  readonly url: string;
  /** As kill -9 does it. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** What is in it. */
  keys(): Promise<string[]>;
  /** For good. */
  stop(): Promise<void>;
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

export async function startRedis(flags: readonly string[] = []): Promise<RedisServer> {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), "redis-"));
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "yes"];
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (!child) return;
    const gone = new Promise((resolve) => child!.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
    child = undefined;
  };
  const start = async (): Promise<void> => {
    child = spawn("redis-server", [...args, ...flags], { stdio: "ignore" });
    const pid = await untilReady(port);
    if (pid !== child.pid) throw new Error(`Another redis-server (process ${pid}) has taken port ${port}.`);
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    async keys() {
      const client = new Redis({ port });
      const keys = await client.keys("*");
      client.disconnect();
      return keys;
    },
    async stop() {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The process that answers on the port. */
async function untilReady(port: number): Promise<number> {
  const client = new Redis({ port, lazyConnect: true, retryStrategy: () => 30, maxRetriesPerRequest: null });
  client.on("error", () => undefined);
  await client.connect().catch(() => undefined);
  const info = await client.info("server");
  client.disconnect();
  return Number(/^process_id:(\d+)/m.exec(info)?.[1]);
}
