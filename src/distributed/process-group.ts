// The ranks of a run as a process group: what a hook requests on one rank happens on all, at the same step and in the same
// order.
import { applyRequest, type HookRequest } from "../core/interventions.ts";
import type { MaybePromise } from "../core/model.ts";
import type { HookRegistry } from "../core/registry/registry.ts";
import type { Run } from "../core/loop/run.ts";
import type { ExchangePoint, Interruption, ProcessGroup } from "../core/loop/session.ts";
import { type TensorHash, encode, findDesync, gatherMessages } from "./exchange.ts";
import type { Strategy } from "./strategy.ts";

/** What a rank sends to the others, when there is something to send. */
interface Message {
  readonly requests: readonly HookRequest[];
  readonly interruption?: Interruption;
}

type Numbers = Float32Array | Float64Array;

/** Events after which the ranks exchange requests at once, if a rank listens: they must be applied in the same step. */
const IN_STEP = ["stepBegin", "beforeOptimizerStep", "gradientClip"] as const;
/** Points that always have an exchange. */
const ALWAYS: readonly ExchangePoint[] = ["trainBegin", "epochBegin", "epochEnd", "epochLog", "hold"];
/** Batches of an evaluation after which the ranks look for a signal that one of them was sent. */
const EVAL_BATCHES = 8;
/** Steps after which the ranks compare their parameters. */
const COMPARE_EVERY = 100;
/** Where each thing is in a header; after these, the length of each rank's message. */
const [ELAPSED, ELAPSED_REST, LOGS, LISTENS] = [0, 1, 2, 3];
const LENGTHS = LISTENS + IN_STEP.length;
/** The main rank's count applies: a rank that was first to skip a step has not seen all of its batches. */
const COUNTERS = ["batches", "samples", "tokens"] as const;

export class RankGroup implements ProcessGroup {
  readonly rank: number;
  readonly size: number;
  /** Numbers in a header. */
  readonly headerSize: number;
  readonly strategy: Strategy;
  elapsed = 0;
  readonly #run: Run;
  readonly #hooks: HookRegistry;
  readonly #hashes: () => Promise<TensorHash[]>;
  readonly #header: Float64Array;
  /** Events of IN_STEP to which a rank listened at the last exchange. */
  readonly #listened = new Set<ExchangePoint>();
  /** Does a rank log at this boundary, for its cadence or because of an evaluation? */
  #logs = false;
  #interruptedHere: () => Interruption | undefined = () => undefined;
  #requests: HookRequest[] = [];
  #lengths: readonly number[] = [];
  #outgoing = new Uint8Array(0);

  constructor(strategy: Strategy, run: Run, hooks: HookRegistry, hashes: () => Promise<TensorHash[]>) {
    this.strategy = strategy;
    this.rank = strategy.rank;
    this.size = strategy.size;
    this.headerSize = LENGTHS + strategy.size;
    this.#run = run;
    this.#hooks = hooks;
    this.#hashes = hashes;
    this.#header = new Float64Array(this.headerSize + COUNTERS.length);
  }

  /** A new call of `fit`. */
  begin(interruptedHere: () => Interruption | undefined): void {
    this.#interruptedHere = interruptedHere;
    this.elapsed = this.#run.clock.now.elapsed;
  }

  /** The run is over: requests since the last exchange are void. */
  end(): void {
    this.#requests = [];
  }

  ask(request: HookRequest): void {
    this.#requests.push(request);
  }

  exchange(after: ExchangePoint, logs?: () => boolean): MaybePromise<void> {
    const { phase, batchIdx } = this.#run;
    switch (after) {
      case "boundary":
        return this.#boundary(logs!());
      case "stepLog":
        return this.#logs ? this.#exchange() : undefined;
      case "evalBatchEnd":
        return phase === "eval" && batchIdx % EVAL_BATCHES === EVAL_BATCHES - 1 ? this.#exchange() : undefined;
      case "evalEnd":
        if (phase !== "eval") return undefined;
        this.#logs = true;
        return this.#exchange();
      case "end":
        return this.#exchange().then(() => this.#compare());
      default:
        return ALWAYS.includes(after) || this.#listened.has(after) ? this.#exchange() : undefined;
    }
  }

  async #boundary(logs: boolean): Promise<void> {
    if (this.#run.clock.now.step % COMPARE_EVERY === 0) await this.#compare();
    await this.#exchange(logs);
    this.#logs = this.#header[LOGS]! > 0;
  }

  async #exchange(logs = false): Promise<void> {
    const header = this.#header;
    const { now } = this.#run.clock;
    this.writeHeader(header, logs);
    COUNTERS.forEach((name, i) => void (header[this.headerSize + i] = this.rank === 0 ? now[name] : 0));
    await this.strategy.allReduce(header);
    COUNTERS.forEach((name, i) => void (now[name] = header[this.headerSize + i]!));
    await this.readHeader(header);
  }

  /** What this rank sends, as numbers that are added up over the ranks. */
  writeHeader(into: Numbers, logs = false): void {
    into.fill(0, 0, this.headerSize);
    if (this.rank === 0) {
      // In two parts, which keep it exactly where numbers are of 32 bits.
      const elapsed = this.#run.measureElapsed();
      into[ELAPSED] = Math.fround(elapsed);
      into[ELAPSED_REST] = elapsed - Math.fround(elapsed);
    }
    into[LOGS] = Number(logs);
    IN_STEP.forEach((event, i) => void (into[LISTENS + i] = Number(this.#hooks.listens(event))));
    this.#outgoing = this.#nextMessage();
    into[LENGTHS + this.rank] = this.#outgoing.length;
  }

  /** Reads what all ranks have sent, and applies their requests. */
  async readHeader(from: Numbers): Promise<void> {
    this.elapsed = from[ELAPSED]! + from[ELAPSED_REST]!;
    IN_STEP.forEach((event, i) => {
      if (from[LISTENS + i]! > 0) this.#listened.add(event);
      else this.#listened.delete(event);
    });
    this.#lengths = Array.from(from.subarray(LENGTHS, this.headerSize));
    if (this.#lengths.some((length) => length > 0)) await this.#hearAll();
  }

  /** Fails on all ranks alike where their parameters differ. */
  async #compare(): Promise<void> {
    const error = await findDesync(this.strategy, await this.#hashes(), this.#run.clock.now.step);
    if (error) throw error;
  }

  #nextMessage(): Uint8Array<ArrayBuffer> {
    const interruption = this.#run.interruption ? undefined : this.#interruptedHere();
    if (this.#requests.length === 0 && !interruption) return new Uint8Array(0);
    const message: Message = { requests: this.#requests, ...(interruption && { interruption }) };
    this.#requests = [];
    return Uint8Array.from(encode(message));
  }

  async #hearAll(): Promise<void> {
    const gathered = await gatherMessages(this.strategy, this.#outgoing, this.#lengths);
    const messages = gathered.map(({ rank, said }) => ({ rank, said: said as Message }));
    this.#run.interruption ??= messages.find(({ said }) => said.interruption)?.said.interruption;
    // The same request from several ranks is one: a hook that runs on all of them makes it on all.
    const merged: { request: HookRequest; key: string; ranks: number[] }[] = [];
    for (const { rank, said } of messages) {
      for (const request of said.requests) {
        const key = JSON.stringify(request);
        const known = merged.find((other) => other.key === key && !other.ranks.includes(rank));
        if (known) known.ranks.push(rank);
        else merged.push({ request, key, ranks: [rank] });
      }
    }
    for (const { request, ranks } of merged) {
      const entry = this.#run.audit.add({ ...request.entry, ranks });
      applyRequest(this.#run, { ...request, entry });
    }
  }
}
