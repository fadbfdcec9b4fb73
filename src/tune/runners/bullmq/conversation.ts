// A worker's side of one attempt: says what the trial says, again and again until the controller has answered.
import type { Verdict } from "../runner.ts";
import type { AttemptKey, DownMessage, Said, UpMessage } from "./messages.ts";

interface Open {
  readonly said: Said;
  readonly answer: (verdict: Verdict | undefined) => void;
  sentAt: number;
}

/** What is not answered by then is said again. */
const REPEAT_MS = 1000;

export class Conversation {
  readonly key: AttemptKey;
  readonly #send: (message: Omit<UpMessage, "run" | "worker">) => void;
  readonly #open = new Map<number, Open>();
  #seq = 0;
  #isGone = false;
  /** Called when the study has nothing to do with the attempt any more. */
  onGone: () => void = () => undefined;
  onInterrupt: (reason: string) => void = () => undefined;

  constructor(key: AttemptKey, send: (message: Omit<UpMessage, "run" | "worker">) => void) {
    this.key = key;
    this.#send = send;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Resolves to the answer; undefined when the study has nothing to do with the attempt any more. */
  say(said: Said): Promise<Verdict | undefined> {
    if (this.#isGone) return Promise.resolve(undefined);
    return new Promise((answer) => {
      const seq = this.#seq++;
      this.#open.set(seq, { said, answer, sentAt: 0 });
      this.#sendAgain(seq);
    });
  }

  hear(message: DownMessage): void {
    if (message.kind === "gone") this.end();
    else if (message.kind === "interrupt") this.onInterrupt(message.reason);
    else {
      this.#open.get(message.seq)?.answer(message.verdict);
      this.#open.delete(message.seq);
    }
  }

  /** Says again what has waited too long for its answer, or with `all` whatever waits. */
  repeat(all: boolean): void {
    const before = all ? Infinity : performance.now() - REPEAT_MS;
    for (const [seq, { sentAt }] of this.#open) if (sentAt < before) this.#sendAgain(seq);
  }

  /** Nobody listens any more. */
  end(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { answer } of this.#open.values()) answer(undefined);
    this.#open.clear();
    this.onGone();
  }

  #sendAgain(seq: number): void {
    const each = this.#open.get(seq)!;
    each.sentAt = performance.now();
    const [open] = this.#open.keys();
    this.#send({ ...this.key, seq, open: open!, said: each.said });
  }
}
