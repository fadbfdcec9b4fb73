// The dashboard's server in a process of its own, so that its processor time and memory are measured apart.
import { startServer } from "../../src/ui/server/server.ts";

export interface ServerUsage {
  /** Processor milliseconds of all its threads so far. */
  readonly cpu: number;
  /** Bytes. */
  readonly rss: number;
}

export type FromServer =
  | { readonly kind: "listening"; readonly url: string; readonly link: string; readonly token: string }
  | ({ readonly kind: "usage" } & ServerUsage);

const [root = "", pages = ""] = process.argv.slice(2);
const tell = (message: FromServer): void => void process.send!(message);
const server = await startServer({ root, pages, version: "0.0.0", port: 0 });
tell({ kind: "listening", url: server.url, link: server.newLink(), token: server.token });
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  tell({ kind: "usage", cpu: (user + system) / 1000, rss: process.memoryUsage.rss() });
});
process.on("disconnect", () => process.exit(0));
