// What the page of one run knows: its facts, its events and its commands, each asked for when the bell says so.
import { signal } from "@preact/signals";
import type { RunEvent } from "../../../runs/types.ts";
import type { CommandRequest, CommandRow, EventsAnswer, RunPage, RunState } from "../../wire.ts";
import { explain, get, post } from "./api.ts";
import { listen } from "./live.ts";
import { seriesFeed } from "./series-feed.ts";

/** The facts of a run change slowly: names, hooks, parts. */
const PAGE_EVERY = 2000;

export class LiveRun {
  readonly id: string;
  readonly page = signal<RunPage | null>(null);
  readonly events = signal<readonly RunEvent[]>([]);
  readonly commands = signal<readonly CommandRow[]>([]);
  readonly error = signal<string | null>(null);
  /** From the bell, sooner than the page. */
  readonly now = signal<{ readonly step: number; readonly time: number; readonly state: RunState } | null>(null);
  readonly #stop: () => void;
  #next = 0;
  #pageTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.id = id;
    this.#stop = listen({
      runs: [id],
      runChanged: (event) => {
        if (event.id !== id) return;
        const known = this.now.peek();
        this.now.value = { step: event.step, time: event.time, state: event.state };
        seriesFeed.ring(id);
        if (known?.state === event.state && this.page.peek()?.rev === event.rev) this.#refreshSoon();
        else void this.#refreshPage();
      },
      eventsChanged: ({ run }) => {
        if (run === id) void this.#refreshEvents();
      },
      command: ({ run, command }) => {
        if (run === id) this.#put(command);
      },
      catchUp: () => {
        seriesFeed.ring(id);
        void this.#refreshAll();
      },
    });
  }

  close(): void {
    this.#stop();
    clearTimeout(this.#pageTimer);
  }

  /** Resolves once the server has put it into the drop-box; its state comes with the bell. */
  async send(command: CommandRequest): Promise<string> {
    const { id } = await post<{ readonly id: string }>(`runs/${this.id}/commands`, command);
    await this.#refreshCommands();
    return id;
  }

  async cancel(id: string): Promise<void> {
    await post(`runs/${this.id}/commands/${id}/cancel`, {});
    await this.#refreshCommands();
  }

  #put(command: CommandRow): void {
    const others = this.commands.peek().filter(({ id }) => id !== command.id);
    this.commands.value = [command, ...others].sort((a, b) => b.sentAt - a.sentAt);
  }

  #refreshSoon(): void {
    this.#pageTimer ??= setTimeout(() => void this.#refreshPage(), PAGE_EVERY);
  }

  async #refreshAll(): Promise<void> {
    await Promise.all([this.#refreshPage(), this.#refreshEvents(), this.#refreshCommands()]);
  }

  async #refreshPage(): Promise<void> {
    clearTimeout(this.#pageTimer);
    this.#pageTimer = undefined;
    await this.#attempt(async () => {
      this.page.value = await get<RunPage>(`runs/${this.id}`);
      this.error.value = null;
    });
  }

  async #refreshEvents(): Promise<void> {
    await this.#attempt(async () => {
      const after = this.#next;
      const answer = await get<EventsAnswer>(`runs/${this.id}/events?after=${after}`);
      // Two requests may have been under way: the first that came has brought these already.
      if (after !== this.#next) return;
      this.#next = answer.next;
      if (answer.events.length > 0) this.events.value = [...this.events.peek(), ...answer.events];
    });
  }

  async #refreshCommands(): Promise<void> {
    await this.#attempt(async () => {
      this.commands.value = await get<readonly CommandRow[]>(`runs/${this.id}/commands`);
    });
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.page.peek() === null) this.error.value = explain(error);
    }
  }
}
