// Everything that comes from Redis passes through the inbox: it must be signed, if there is a key, and of a known form.
// Anything else is dropped and counted.
import { is, type Check } from "../../../core/options.ts";
import { builtin } from "../../../platform/builtin.ts";
import { parseExact } from "../../../runs/exact-json.ts";
import { failure, numbers, shaped, type Fields } from "../../data-checks.ts";
import type { TrialJob } from "../runner.ts";
import type { Claim } from "./claim.ts";
import type { DownMessage, Up } from "./exactly-once.ts";

const KEY_VARIABLE = "HOOKLINE_QUEUE_KEY";

const SIGNED = /^([0-9a-f]{64}) (.*)$/s;

/**
 * Signs what goes through Redis with a key that the study and its workers share. A signature covers where the text
 * belongs (channel, key or job), so that a copy of it is not valid elsewhere.
 */
export class Signer {
  readonly #key: string | undefined;
  readonly #crypto = builtin("bullmq", "node:crypto");

  /** @param key undefined: nothing is signed */
  constructor(key: string | undefined) {
    this.#key = key;
  }

  sign(place: string, text: string): string {
    return this.#key === undefined ? text : `${this.#mac(place, text).toString("hex")} ${text}`;
  }

  /** The text that was signed, or why it cannot be trusted. */
  open(place: string, signed: string): { readonly text: string } | { readonly wrong: "unsigned" | "keyless" } {
    const [, mac, text] = SIGNED.exec(signed) ?? [];
    if (this.#key === undefined) return text === undefined ? { text: signed } : { wrong: "keyless" };
    if (text === undefined) return { wrong: "unsigned" };
    const isValid = this.#crypto.timingSafeEqual(Buffer.from(mac!, "hex"), this.#mac(place, text));
    return isValid ? { text } : { wrong: "unsigned" };
  }

  #mac(place: string, text: string): Buffer {
    return this.#crypto.createHmac("sha256", this.#key!).update(`${place}\0${text}`).digest();
  }
}

const REASONS = {
  malformed: "of no form that a study or a worker sends",
  unsigned: "not signed with this process's key",
  keyless: `signed, while this process has no key (${KEY_VARIABLE})`,
  changed: "in the queue's own keys, which were changed",
  refused: "of a study that this worker may not run",
} as const;

/** Milliseconds after the first dropped message until the warning, which counts those that arrive together. */
const COLLECT_MS = 1000;

/** Counts dropped messages: one warning when they begin, and the total at the end. */
export class DroppedMessages {
  readonly #owner: string;
  readonly #warn: (message: string) => void;
  readonly #counts = new Map<keyof typeof REASONS, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reported = 0;

  constructor(owner: string, warn: (message: string) => void) {
    this.#owner = owner;
    this.#warn = warn;
  }

  add(reason: keyof typeof REASONS): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    if (this.#reported === 0) this.#timer ??= setTimeout(() => this.#report(), COLLECT_MS).unref();
  }

  /** Warns of those that no warning has counted yet. */
  close(): void {
    clearTimeout(this.#timer);
    this.#report();
  }

  #report(): void {
    const total = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    if (total === this.#reported) return;
    this.#reported = total;
    const each = [...this.#counts].map(([reason, count]) => `${count} ${REASONS[reason]}`).join(", ");
    const what = total === 1 ? "1 message" : `${total} messages`;
    this.#warn(
      `${this.#owner}: dropped ${what} from Redis so far: ${each}. Someone else writes to this Redis, or a study and its workers differ in version or key.`,
    );
  }
}

/** Part of the name of a channel. */
const id: Check = { expected: "an id", test: (value) => typeof value === "string" && /^[\w-]{1,64}$/.test(value) };
/** Shown to a person. */
const line: Check = {
  expected: "a line of text",
  test: (value) => typeof value === "string" && /^[^\p{Cc}]{0,4000}$/u.test(value),
};
const count = is.wholeFrom(0);
const attempt: Fields = { trial: count, attempt: count };
const stash: Fields = { stash: is.object };
const kind = (...kinds: readonly string[]): Fields => ({ kind: is.oneOf(...kinds) });

const outcome = shaped({ ...stash, interrupted: is.boolean }, { result: numbers });
const said = is.or(
  shaped({ ...kind("take"), where: line }),
  shaped({ ...kind("report"), step: is.finite, values: numbers, ...stash }),
  shaped({ ...kind("checkpoint"), path: is.string, ...stash }),
  shaped({ ...kind("returned"), outcome }),
  shaped({ ...kind("failed"), error: failure }),
  shaped({ ...kind("lost"), reason: is.string }),
);
const up = is.arrayOf(
  is.or(shaped({ run: id, worker: id, ...attempt, seq: count, open: count, said }), shaped({ run: id, refused: line })),
);
const verdict = is.or(
  shaped(kind("continue")),
  shaped({ ...kind("prune", "pause", "exploit", "interrupt"), reason: is.string }),
);
const down = is.arrayOf(
  is.or(
    shaped({ ...attempt, ...kind("answer"), seq: count, verdict }),
    shaped({ ...attempt, ...kind("gone") }),
    shaped({ ...attempt, ...kind("interrupt"), reason: is.string }),
  ),
);
const claimFields = shaped(
  {
    run: id,
    pid: is.wholeFrom(1),
    host: line,
    started: is.string,
    // The limit of timers.
    lockMs: is.between(1, 2 ** 31 - 1),
    trial: is.name,
    modules: is.arrayOf(is.name),
    code: shaped({ hookline: line, trial: line }),
  },
  { dir: is.name, boot: is.string, namespaces: is.string },
);
const claim: Check = {
  expected: "a claim",
  // The hash of the code must cover the trial: the hash of an empty list would be the same for all code.
  test: (value) => claimFields.test(value) && (value as Claim).modules[0] === (value as Claim).trial,
};
const job = shaped(
  { number: count, attempt: count, seed: is.finite, params: is.object, ...stash, objectives: is.arrayOf(is.name) },
  { runDir: is.name, resume: is.string, hooks: is.arrayOf(is.or(is.name, shaped({ use: is.name }))) },
);
const news = shaped({ what: is.oneOf("come", "over"), run: id });

/** Whether a controller begins or ends. */
export interface News extends Pick<Claim, "run"> {
  readonly what: "come" | "over";
}

export class Inbox {
  readonly #signer: Signer;
  readonly #dropped: DroppedMessages;

  constructor(signer: Signer, dropped: DroppedMessages) {
    this.#signer = signer;
    this.#dropped = dropped;
  }

  up(channel: string, text: string): readonly Up[] {
    return (this.#open(channel, text, up) as readonly Up[] | undefined) ?? [];
  }

  down(channel: string, text: string): readonly DownMessage[] {
    return (this.#open(channel, text, down) as readonly DownMessage[] | undefined) ?? [];
  }

  claim(key: string, text: string): Claim | undefined {
    return this.#open(key, text, claim) as Claim | undefined;
  }

  /** @param data as BullMQ returns it */
  job(jobId: string, data: unknown): TrialJob | undefined {
    if (typeof data === "string") return this.#open(jobId, data, job) as TrialJob | undefined;
    this.#dropped.add("malformed");
    return undefined;
  }

  news(channel: string, text: string): News | undefined {
    return this.#open(channel, text, news) as News | undefined;
  }

  #open(place: string, signed: string, form: Check): unknown {
    const opened = this.#signer.open(place, signed);
    if ("wrong" in opened) {
      this.#dropped.add(opened.wrong);
      return undefined;
    }
    const value = parse(opened.text);
    if (form.test(value)) return value;
    this.#dropped.add("malformed");
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}
