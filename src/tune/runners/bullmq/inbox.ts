// Everything that comes from Redis passes here: signed if there is a key, of a known form, or dropped and counted.
import { parseExact } from "../../../runs/exact-json.ts";
import { is, type Check } from "../../../core/options.ts";
import { failure, isRecord, numbers, shaped, type Fields } from "../../shapes.ts";
import type { TrialJob } from "../runner.ts";
import type { Claim } from "./claim.ts";
import type { Dropped } from "./dropped.ts";
import type { DownMessage, Up } from "./messages.ts";
import type { Seal } from "./seal.ts";

/** Names a channel. */
const id: Check = { expected: "an id", test: (value) => typeof value === "string" && /^[\w-]{1,64}$/.test(value) };
/** Shown to a person: a line of text. */
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
    // A timer takes no more.
    lockMs: is.between(1, 2 ** 31 - 1),
    trial: is.name,
    modules: is.arrayOf(is.name),
    code: shaped({ hookline: line, trial: line }),
  },
  { dir: is.name, boot: is.string, namespaces: is.string },
);
const claim: Check = {
  expected: "a claim",
  // The digest of the code must cover the trial: that of an empty list would be the same for all code.
  test: (value) => claimFields.test(value) && (value as Claim).modules[0] === (value as Claim).trial,
};
const job = shaped(
  { number: count, attempt: count, seed: is.finite, params: is.object, ...stash, objectives: is.arrayOf(is.name) },
  {
    runDir: is.name,
    resume: is.string,
    hooks: is.arrayOf(is.or(is.name, shaped({ use: is.name }))),
    hookFields: {
      expected: "lists of fields by hook",
      test: (value) => isRecord(value) && Object.values(value).every(is.arrayOf(is.name).test),
    },
  },
);

const news = shaped({ what: is.oneOf("come", "over"), run: id });

export interface News extends Pick<Claim, "run"> {
  readonly what: "come" | "over";
}

export class Inbox {
  readonly #seal: Seal;
  readonly #dropped: Dropped;

  constructor(seal: Seal, dropped: Dropped) {
    this.#seal = seal;
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

  /** @param data as BullMQ has it */
  job(jobId: string, data: unknown): TrialJob | undefined {
    if (typeof data === "string") return this.#open(jobId, data, job) as TrialJob | undefined;
    this.#dropped.add("malformed");
    return undefined;
  }

  news(channel: string, text: string): News | undefined {
    return this.#open(channel, text, news) as News | undefined;
  }

  #open(place: string, sealed: string, form: Check): unknown {
    const opened = this.#seal.open(place, sealed);
    if ("wrong" in opened) {
      this.#dropped.add(opened.wrong);
      return undefined;
    }
    const value = parsed(opened.text);
    if (form.test(value)) return value;
    this.#dropped.add("malformed");
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}
