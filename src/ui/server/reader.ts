// The server's side of the thread that reads logs.
import { Thread } from "../../platform/thread.ts";
import { Refusal } from "./answer.ts";
import type { ReadingAnswers, ReadingData, ReadingRequest, StillReading } from "./curves/reading-worker.ts";

/** A page shows the progress meanwhile, and asks again. */
const PATIENCE = 1000;

export class Reader {
  readonly #data: ReadingData;
  #thread: Thread<ReadingRequest> | undefined;

  /**
   * @param cache bytes of memory for logs
   * @param patience milliseconds after which a request for a log that is still being read is refused
   */
  constructor(cache: number, patience = PATIENCE) {
    this.#data = { cache, patience };
  }

  /** Starts the thread when it is needed first, and again after a failure. */
  async ask<Request extends ReadingRequest>(request: Request): Promise<ReadingAnswers[Request["kind"]]> {
    if (!this.#thread || this.#thread.hasEnded) {
      const script = { beside: import.meta.url, name: "curves/reading-worker" };
      this.#thread = new Thread({ name: "the reading thread", script, data: this.#data });
    }
    const answer = (await this.#thread.request(request)) as ReadingAnswers[Request["kind"]] | StillReading | undefined;
    if (typeof answer !== "object" || !("progress" in answer)) return answer as ReadingAnswers[Request["kind"]];
    const percent = Math.floor(100 * answer.progress);
    throw new Refusal(503, "reading", `The log is being read: ${percent} %.`, { headers: { "retry-after": "1" } });
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }
}
