// hookline ui: the dashboard of a directory of runs.
import { existsSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { Option } from "commander";
import { currentPlatform } from "../platform/platform.ts";
import { builtin } from "../platform/builtin.ts";
import { startServer, type RunningServer, type ServerOptions } from "../ui/server/server.ts";
import { findServer, leaveNote } from "../ui/server/server-note.ts";
import { readToken } from "../ui/server/token-file.ts";
import { type CommandDescription, jsonFlag, LARGEST_PORT, nonEmpty, portNumber, wholeFrom } from "./command.ts";
import { EXIT, listenError, noDirectory, UsageError } from "./errors.ts";
import { print, printJson, say, shownPath, typed } from "./output.ts";
import { readManifest } from "./package.ts";

export const DEFAULT_PORT = 6116;
/** Ports that are tried after one that is in use. */
const MOST_PORTS = 20;
const GRACE_MS = 5000;
const LINGER_MS = 5000;
const MiB = 1024 * 1024;

export const command: CommandDescription = {
  examples: `ui
ui experiments --open
ui --port 7000 --read-only
ui --host 0.0.0.0 --allow-host lab3.example.org`,
  flags: (program) =>
    program
      .argument("[dir]", "a directory with runs (default: runs)")
      .option("--port <number>", "the next free one is taken if it is in use; 0 chooses any", portNumber, DEFAULT_PORT)
      .option("--open", "open the page in the browser")
      .option(
        "--host <address>",
        "0.0.0.0 answers other machines too: without TLS, and without --control read-only",
        "127.0.0.1",
      )
      .option("--allow-host <name...>", "a name under which the server may be addressed, such as that of a proxy")
      .option("--base-path <path>", "the path below which a proxy shows the page", nonEmpty)
      .option("--read-only", "refuse commands to runs")
      .option("--control", "take commands also from other machines")
      .option("--token-file <file>", "where scripts find the token; it is created if it does not exist", nonEmpty)
      .option("--cache <MiB>", "memory for logs", wholeFrom(16), 512)
      .addOption(new Option("--beside", "end when standard input does").hideHelp())
      .addOption(jsonFlag()),
};

interface Flags {
  readonly port: number;
  readonly open?: boolean;
  readonly host: string;
  readonly allowHost?: readonly string[];
  readonly basePath?: string;
  readonly readOnly?: boolean;
  readonly control?: boolean;
  readonly tokenFile?: string;
  readonly cache: number;
  /** Started by `train --ui`: the pipe to its standard input closes however that command ends. */
  readonly beside?: boolean;
  readonly json?: boolean;
}

export async function run(given: string | undefined, flags: Flags): Promise<number> {
  const dir = given ?? "runs";
  if (!existsSync(dir) || !statSync(dir).isDirectory())
    throw noDirectory(dir, `\`${typed("train")}\` makes a run in runs/.`);
  const running = await findServer(dir);
  if (running !== undefined) {
    announce({ ...running, dir, flags, isNew: false });
    return EXIT.ok;
  }
  const isLocal = isLoopback(flags.host);
  const options: ServerOptions = {
    root: dir,
    version: readManifest().version,
    host: flags.host,
    port: flags.port,
    allowHosts: [...(flags.allowHost ?? []), ...(isLocal ? [] : [flags.host, hostname()])],
    readOnly: flags.readOnly ?? (!isLocal && !flags.control),
    cache: flags.cache * MiB,
    onError: (error) => say(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    ...(flags.basePath !== undefined && { basePath: flags.basePath }),
    ...(flags.tokenFile !== undefined && { token: readToken(flags.tokenFile) }),
  };
  const server = await startOnFreePort(options);
  const removeNote = leaveNote(dir, server);
  try {
    announce({ url: server.url, link: server.newLink(), dir, flags, isNew: true });
    if (!isLocal)
      say(`Other machines can reach this server, and nothing encrypts what they send: put a proxy with TLS before it.`);
    await new Promise((done) => {
      currentPlatform().onSignals(done, GRACE_MS);
      // Its pages are to show how the run has ended.
      if (flags.beside) process.stdin.on("close", () => setTimeout(done, server.hasPages() ? LINGER_MS : 0)).resume();
    });
  } finally {
    removeNote();
    await server.close();
  }
  process.exitCode = EXIT.ok;
  return EXIT.ok;
}

/** The port, or the next one that is free. */
export async function startOnFreePort(options: ServerOptions): Promise<RunningServer> {
  for (let port = options.port; ; port++) {
    try {
      return await startServer({ ...options, port });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EADDRINUSE" && port < Math.min(options.port + MOST_PORTS, LARGEST_PORT)) continue;
      if (code === "EADDRINUSE" && port > options.port)
        throw new UsageError(
          `Ports ${options.port} to ${port} are in use. Choose another one with --port, or 0 for any.`,
        );
      throw listenError(error, options.host ?? "localhost", port);
    }
  }
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");

interface Announced {
  readonly url: string;
  readonly link: string;
  readonly dir: string;
  readonly flags: Pick<Flags, "json" | "open">;
  readonly isNew: boolean;
}

function announce({ url, link, dir, flags, isNew }: Announced): void {
  if (flags.json) printJson({ url, link, dir: resolve(dir), started: isNew });
  else {
    print(`${shownPath(dir)} ${isNew ? "is shown" : "is already shown"} on ${link}`);
    say(`The link works once. \`${typed(`ui ${shownPath(dir)}`)}\` prints another one.`);
    if (process.env["SSH_CONNECTION"] !== undefined) {
      const { port } = new URL(url);
      say(`From your own machine: ssh -L ${port}:localhost:${port} ${hostname()}, then open the link there.`);
    }
  }
  if (flags.open) openBrowser(link);
}

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

function openBrowser(link: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = builtin("hookline ui", "node:child_process").spawn(program!, [...args, link], {
    stdio: "ignore",
    detached: true,
  });
  child.on("error", () => say(`No browser could be started: open the link yourself.`));
  child.unref();
}
