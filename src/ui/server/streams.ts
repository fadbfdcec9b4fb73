// Server-sent events: a bell, after which a page asks for what is new. The history is never sent.
import type { ServerResponse } from "node:http";
import { lstatSync, utimesSync, writeFileSync } from "node:fs";
import { FORMATS } from "../../runs/layout.ts";
import type { StreamEvents } from "../wire.ts";
import { controlDirectory, watchFile } from "../../runs/control/control-files.ts";
import { CommandNews } from "./commands.ts";
import type { Reader } from "./reader.ts";
import type { RunIndex } from "./run-index.ts";

interface Client {
  readonly response: ServerResponse;
  /** Ids of runs. */
  readonly shown: ReadonlySet<string>;
  /** What was last said of each run: the bell rings only for news. */
  readonly last: Map<string, string>;
  rev: number;
}

/** How often shown runs are looked at, then running ones, the whole directory, and a sign of life is sent. */
const LOOK_MS = 250;
const REFRESH_MS = 1000;
const SCAN_MS = 5000;
const COMMENT_MS = 15_000;
/** How often the file is touched that makes a watched run flush its log sooner. */
const WATCH_MS = 5000;
/** More than these are refused: each is looked at several times a second. */
const MOST_CLIENTS = 256;
const MOST_SHOWN = 100;
/** So few runs are looked at each time: who pauses one wants to see that it has paused. */
const FEW_SHOWN = 8;

export class Streams {
  readonly #index: RunIndex;
  readonly #reader: Reader;
  readonly #touches: boolean;
  readonly #clients = new Set<Client>();
  readonly #doneAt = new Map<string, number>();
  /** When a file was touched last, by the id of its run. */
  readonly #touchedAt = new Map<string, number>();
  readonly #commands = new Map<string, CommandNews>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  /** @param touches whether files in run directories may be touched */
  constructor(index: RunIndex, reader: Reader, touches: boolean) {
    this.#index = index;
    this.#reader = reader;
    this.#touches = touches;
  }

  /** Answers a request with a stream. False when there are too many. */
  open(response: ServerResponse, shown: ReadonlySet<string>): boolean {
    if (this.#clients.size >= MOST_CLIENTS) return false;
    const client: Client = {
      response,
      shown: new Set([...shown].slice(0, MOST_SHOWN)),
      last: new Map(),
      rev: 0,
    };
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" });
    response.write(": hookline\n\n");
    response.on("close", () => this.#clients.delete(client));
    this.#clients.add(client);
    // Only while somebody listens.
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
    void this.#look();
    return true;
  }

  get count(): number {
    return this.#clients.size;
  }

  #due(what: string, ms: number): boolean {
    const now = performance.now();
    if (now - (this.#doneAt.get(what) ?? -Infinity) < ms) return false;
    this.#doneAt.set(what, now);
    return true;
  }

  /** One look at a time: a slow disk must not pile them up. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    if (this.#clients.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    this.#isLooking = true;
    try {
      const shown = new Set([...this.#clients].flatMap((client) => [...client.shown]));
      if (this.#due("scan", SCAN_MS)) await this.#index.scan(REFRESH_MS);
      else if (this.#due("refresh", shown.size > FEW_SHOWN ? REFRESH_MS : 0)) this.#index.refresh(shown);
      if (this.#touches) for (const id of shown) this.#touch(id);
      for (const id of shown) await this.#tellOf(id);
      for (const client of this.#clients) {
        if (client.rev !== this.#index.rev) send(client, "runs", { rev: (client.rev = this.#index.rev) });
      }
      if (this.#due("comment", COMMENT_MS)) for (const { response } of this.#clients) response.write(":\n\n");
    } catch {
      // A file that cannot be read now is read at the next look; requests for it say what is wrong.
    } finally {
      this.#isLooking = false;
    }
  }

  async #tellOf(id: string): Promise<void> {
    const run = this.#index.find(id);
    if (!run) return;
    // A long log that is being read must not keep the others waiting.
    const news = await this.#reader.ask({ kind: "news", dir: run.dir }).catch(() => undefined);
    if (!news) return;
    const { rev, records, step, time } = news;
    // Not every step is logged: a paused run says where it is.
    const event = { id, rev, records, step: Math.max(step, run.row.step), time, state: run.row.state };
    for (const command of await this.#commandsOf(id).since(run.dir))
      for (const client of this.#clients) if (client.shown.has(id)) send(client, "command", { run: id, command });
    const events = lstatSync(`${run.dir}/${FORMATS.events.file}`, { throwIfNoEntry: false })?.size ?? 0;
    for (const client of this.#clients) {
      if (!client.shown.has(id)) continue;
      if (isNew(client, `run ${id}`, JSON.stringify(event))) send(client, "run", event);
      if (isNew(client, `event ${id}`, String(events))) send(client, "event", { run: id, next: events });
    }
  }

  #commandsOf(id: string): CommandNews {
    let news = this.#commands.get(id);
    if (!news) this.#commands.set(id, (news = new CommandNews()));
    return news;
  }

  /** The logger flushes more often while someone watches. Only where `control()` has made its directory. */
  #touch(id: string): void {
    const run = this.#index.find(id);
    const now = performance.now();
    if (run?.known.info.status !== "running" || now - (this.#touchedAt.get(id) ?? -Infinity) < WATCH_MS) return;
    // Remembered also where it fails, so that a directory that cannot be written is not tried at every look.
    this.#touchedAt.set(id, now);
    const file = watchFile(run.dir);
    try {
      if (!lstatSync(controlDirectory(run.dir), { throwIfNoEntry: false })?.isDirectory()) return;
      const found = lstatSync(file, { throwIfNoEntry: false });
      if (!found) writeFileSync(file, "", { flag: "wx", mode: 0o600 });
      else if (found.isFile()) utimesSync(file, new Date(), new Date());
    } catch {
      // A directory that is not ours to write: the page is a little later.
    }
  }

  /** Says goodbye to all pages. */
  close(): void {
    clearInterval(this.#timer);
    for (const client of this.#clients) {
      send(client, "bye", null);
      client.response.end();
    }
    this.#clients.clear();
  }
}

function isNew({ last }: Client, what: string, text: string): boolean {
  if (last.get(what) === text) return false;
  last.set(what, text);
  return true;
}

function send<Name extends keyof StreamEvents>({ response }: Client, name: Name, data: StreamEvents[Name]): void {
  response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}
