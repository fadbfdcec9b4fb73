// The server's side of the thread that reads logs.
import { Thread } from "../../platform/thread.ts";
import type { ReadingAnswers, ReadingData, ReadingRequest } from "./curves/reading-worker.ts";

export class Reader {
  readonly #cache: number;
  #thread: Thread<ReadingRequest> | undefined;

  /** @param cache bytes of memory for logs */
  constructor(cache: number) {
    this.#cache = cache;
  }

  /** Starts the thread when it is needed first, and again after a failure. */
  async ask<Request extends ReadingRequest>(request: Request): Promise<ReadingAnswers[Request["kind"]]> {
    if (!this.#thread || this.#thread.hasEnded) {
      const data: ReadingData = { cache: this.#cache };
      const script = { beside: import.meta.url, name: "curves/reading-worker" };
      this.#thread = new Thread({ name: "the reading thread", script, data });
    }
    return (await this.#thread.request(request)) as ReadingAnswers[Request["kind"]];
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }
}
