// The ranks of a run as a team: what is asked on one happens on all, at the same step and in the same order.
import type { Interruption } from "../core/evaluate.ts";
import { applyRequest, type HookRequest } from "../core/interventions.ts";
import type { HostBatch, Loader, MaybePromise, Share } from "../core/model.ts";
import type { HookRegistry } from "../core/registry.ts";
import type { Run } from "../core/run.ts";
import { AGREED_EVENTS, type AgreedEvent, type Team } from "../core/team.ts";
import { cutShare, nextShare } from "../data/share.ts";
import { type TensorHash, encode, findDesync, gatherMessages } from "./exchange.ts";
import type { Strategy } from "./strategy.ts";

/** What a rank tells the others, when there is something to tell. */
interface Message {
  readonly requests: readonly HookRequest[];
  readonly interruption?: Interruption;
}

type Numbers = Float32Array | Float64Array;

/** Steps after which the ranks compare their parameters. */
const COMPARE_EVERY = 100;
/** Where each thing is in a header; after these, the length of each rank's message. */
const [ELAPSED, ELAPSED_REST, LOGS, LISTENS] = [0, 1, 2, 3];
const LENGTHS = LISTENS + AGREED_EVENTS.length;
/** Of these the main rank's count: a rank that was first to skip a step has not seen all of its batches. */
const COUNTERS = ["batches", "samples", "tokens"] as const;

export class RankTeam implements Team {
  readonly rank: number;
  readonly size: number;
  /** Numbers in a header. */
  readonly headerSize: number;
  readonly strategy: Strategy;
  elapsed = 0;
  logs = false;
  interruption: Interruption | undefined;
  readonly #run: Run;
  readonly #hooks: HookRegistry;
  readonly #hashes: () => Promise<TensorHash[]>;
  readonly #header: Float64Array;
  readonly #listens = new Set<AgreedEvent>();
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
    this.interruption = undefined;
    this.elapsed = this.#run.clock.now.elapsed;
  }

  /** The run is over: what was asked since the last agreement is void. */
  end(): void {
    this.#requests = [];
  }

  ask(request: HookRequest): void {
    this.#requests.push(request);
  }

  listens(event: AgreedEvent): boolean {
    return this.#listens.has(event);
  }

  shareOf(batch: HostBatch): Share {
    return cutShare(batch, this);
  }

  nextShare(loader: Loader, name: string): MaybePromise<Share | undefined> {
    return nextShare(loader, name, this);
  }

  async agree(logs = false): Promise<void> {
    const header = this.#header;
    const { now } = this.#run.clock;
    this.writeHeader(header, logs);
    COUNTERS.forEach((name, i) => void (header[this.headerSize + i] = this.rank === 0 ? now[name] : 0));
    await this.strategy.allReduce(header);
    COUNTERS.forEach((name, i) => void (now[name] = header[this.headerSize + i]!));
    await this.readHeader(header);
  }

  /** What this rank has to tell, as numbers that are added up over the ranks. */
  writeHeader(into: Numbers, logs = false): void {
    into.fill(0, 0, this.headerSize);
    if (this.rank === 0) {
      // In two parts, which keep it exactly where numbers are of 32 bits.
      const elapsed = this.#run.measureElapsed();
      into[ELAPSED] = Math.fround(elapsed);
      into[ELAPSED_REST] = elapsed - Math.fround(elapsed);
    }
    into[LOGS] = Number(logs);
    AGREED_EVENTS.forEach((event, i) => void (into[LISTENS + i] = Number(this.#hooks.listens(event))));
    this.#outgoing = this.#nextMessage();
    into[LENGTHS + this.rank] = this.#outgoing.length;
  }

  /** Takes in what all have told, and does what anyone asked. */
  async readHeader(from: Numbers): Promise<void> {
    this.elapsed = from[ELAPSED]! + from[ELAPSED_REST]!;
    this.logs = from[LOGS]! > 0;
    AGREED_EVENTS.forEach((event, i) => {
      if (from[LISTENS + i]! > 0) this.#listens.add(event);
      else this.#listens.delete(event);
    });
    this.#lengths = Array.from(from.subarray(LENGTHS, this.headerSize));
    if (this.#lengths.some((length) => length > 0)) await this.#hearAll();
  }

  async compare(now = false): Promise<void> {
    const { step } = this.#run.clock.now;
    if (!now && step % COMPARE_EVERY !== 0) return;
    const error = await findDesync(this.strategy, await this.#hashes(), step);
    if (error) throw error;
  }

  #nextMessage(): Uint8Array<ArrayBuffer> {
    const interruption = this.interruption ? undefined : this.#interruptedHere();
    if (this.#requests.length === 0 && !interruption) return new Uint8Array(0);
    const message: Message = { requests: this.#requests, ...(interruption && { interruption }) };
    this.#requests = [];
    return Uint8Array.from(encode(message));
  }

  async #hearAll(): Promise<void> {
    const gathered = await gatherMessages(this.strategy, this.#outgoing, this.#lengths);
    const messages = gathered.map(({ rank, said }) => ({ rank, said: said as Message }));
    this.interruption ??= messages.find(({ said }) => said.interruption)?.said.interruption;
    // The same, asked by several ranks, is one request: a hook that runs on all of them asks on all.
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
