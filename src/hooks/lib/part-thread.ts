// The thread that reads and digests large files: 4 ms a megabyte, which the training thread has better use for.
import { builtin } from "../../platform/builtin.ts";

interface Worker {
  on(event: "message", handler: (reply: Reply) => void): void;
  on(event: "error", handler: (error: Error) => void): void;
  on(event: "exit", handler: () => void): void;
  postMessage(message: object, transfer: ArrayBuffer[]): void;
  terminate(): Promise<unknown>;
}

type NewWorker = new (script: string, options: { eval: true; workerData: { fd: number } }) => Worker;

type Reply =
  | { readonly buffer: ArrayBuffer; readonly md5: string; readonly sha256?: string }
  | { readonly failure: string };

interface ReadPart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly md5: string;
  /** Of the whole file, with its last part. */
  readonly sha256: string | undefined;
}

/** A text, and not a file: a bundler would leave the file behind. Buffers travel there and back, and are never copied. */
const SCRIPT = `
const names = ["node:worker_threads", "node:fs", "node:crypto"];
const [{ parentPort, workerData }, { readSync }, { createHash }] = names.map((name) => process.getBuiltinModule(name));
const whole = createHash("sha256");
parentPort.on("message", ({ buffer, position, length, last }) => {
  try {
    const bytes = new Uint8Array(buffer, 0, length);
    for (let at = 0; at < length; ) {
      const got = readSync(workerData.fd, bytes, at, length - at, position + at);
      if (got === 0) throw new Error("the file is shorter than it was");
      at += got;
    }
    const md5 = createHash("md5").update(bytes).digest("hex");
    whole.update(bytes);
    const sha256 = last ? whole.digest("hex") : undefined;
    parentPort.postMessage({ buffer, md5, sha256 }, [buffer]);
  } catch (error) {
    parentPort.postMessage({ failure: error.message });
  }
});
`;

export class PartThread {
  readonly #worker: Worker;
  #settle: { resolve(reply: Reply): void; reject(error: Error): void } | undefined;
  #failed: Error | undefined;

  constructor(owner: string, fd: number) {
    const { Worker } = builtin<{ Worker: NewWorker }>(owner, "node:worker_threads");
    this.#worker = new Worker(SCRIPT, { eval: true, workerData: { fd } });
    this.#worker.on("message", (reply) => this.#settle?.resolve(reply));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error("the reading thread ended")));
  }

  /** One at a time. The buffer is gone afterwards: what comes back lies in its successor. */
  async read(buffer: ArrayBuffer, position: number, length: number, last: boolean): Promise<ReadPart> {
    if (this.#failed) throw this.#failed;
    const reply = await new Promise<Reply>((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#worker.postMessage({ buffer, position, length, last }, [buffer]);
    });
    this.#settle = undefined;
    if ("failure" in reply) throw new Error(reply.failure);
    return { bytes: new Uint8Array(reply.buffer, 0, length), md5: reply.md5, sha256: reply.sha256 };
  }

  #fail(error: Error): void {
    this.#failed ??= error;
    this.#settle?.reject(error);
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
