// The dashboard's server in a process of its own, to be killed: for live.test.ts.
import { startServer } from "../../src/ui/server/server.ts";

const [root = "", pages = "", port = "0", token = ""] = process.argv.slice(2);
const server = await startServer({ root, pages, version: "0.0.0", port: Number(port), ...(token && { token }) });
process.stdout.write(
  `${JSON.stringify({ note: "listening", port: server.port, token: server.token, link: server.newLink() })}\n`,
);
