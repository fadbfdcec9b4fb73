// With whom a trainer trains: nobody, or the processes that were started with this one. What only those need is loaded with them.
import type { Interruption } from "../core/evaluate.ts";
import { redact, secretsOfEnvironment } from "../platform/redact.ts";
import type { HookRegistry } from "../core/registry.ts";
import type { Run } from "../core/run.ts";
import type { StartFacts } from "../distributed/exchange.ts";
import { type Strategy, type StrategyName, openStrategy } from "../distributed/strategy.ts";
import type { RankTeam } from "../distributed/team.ts";
import type { Platform } from "../platform/platform.ts";
import type { DeviceState } from "./device-state.ts";
import { Once } from "./once.ts";
import type { Place } from "./saving/place.ts";
import type { Source } from "./saving/restore.ts";

/** How long a rank that has failed waits to hear whether the main rank has failed too. */
const MAIN_FIRST_MS = 3000;
/** How long it waits then, at most, for the emergency save of the main rank. */
const MAIN_SAVES_MS = 600_000;
const LOOK_MS = 20;
/** A launcher that tells a process to go kills it within this time. mpirun waits for a second. */
const KILLED_WITHIN_MS = 3000;

interface TogetherParts {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly place: Place;
  readonly platform: Platform;
  state(): DeviceState;
}

export class Together {
  readonly #choice: StrategyName | Strategy;
  readonly #parts: TogetherParts;
  readonly #joined = new Once(() => this.#find());
  /** Undefined for a process alone, and until `join` knows. */
  team: RankTeam | undefined;
  #interruptedHere: () => Interruption | undefined = () => undefined;

  constructor(choice: StrategyName | Strategy, parts: TogetherParts) {
    this.#choice = choice;
    this.#parts = parts;
  }

  /** Finds out, once. */
  join(): Promise<RankTeam | undefined> {
    return this.#joined.get();
  }

  async #find(): Promise<RankTeam | undefined> {
    const strategy = await openStrategy(this.#choice);
    if (strategy.size === 1) return undefined;
    const { run, hooks, place, state } = this.#parts;
    const [{ RankTeam }, { hashState }] = await Promise.all([
      import("../distributed/team.ts"),
      import("./joint-step.ts"),
    ]);
    this.team = new RankTeam(strategy, run, hooks, () => hashState(state()));
    run.team = this.team;
    hooks.joinAs(strategy.rank);
    if (strategy.rank > 0) place.follow([]);
    return this.team;
  }

  /** Fails on all ranks alike where they were not started alike. */
  async compareStarts(facts: () => Promise<StartFacts>): Promise<void> {
    if (!this.team) return;
    const { findUnlikeStarts } = await import("../distributed/exchange.ts");
    const error = await findUnlikeStarts(this.team.strategy, await facts());
    if (error) throw error;
  }

  /** What a run goes on from: the main process finds it, and all have it. */
  async share(find: () => Promise<Source | undefined>): Promise<Source | undefined> {
    if (!this.team) return find();
    const { shareSource } = await import("./saving/shared-source.ts");
    return shareSource(this.team.strategy, find);
  }

  /** A run begins, from the same numbers everywhere. */
  async begin(interruptedHere: () => Interruption | undefined): Promise<void> {
    if (!this.team) return;
    const { shareState } = await import("./joint-step.ts");
    await shareState(this.team.strategy, this.#parts.state());
    this.#interruptedHere = interruptedHere;
    this.team.begin(interruptedHere);
  }

  /** The run is over and its last checkpoint written: all know what there is. */
  async end(): Promise<void> {
    if (!this.team) return;
    const { shareList } = await import("./saving/shared-source.ts");
    const { place } = this.#parts;
    const saved = await shareList(this.team.strategy, place.list());
    if (this.team.rank > 0) place.follow(saved);
    this.team.end();
  }

  /** Announces a failure of the main rank at once: the other ranks must not end it during its emergency save. */
  async announcingFailure<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      if (this.team?.rank === 0) this.team.strategy.announceFailure?.();
      throw error;
    }
  }

  /** Of several processes, one that fails ends all: the others would wait for it. */
  async failed(error: unknown): Promise<void> {
    if (!this.team) return;
    const { rank, size, strategy } = this.team;
    if (rank > 0) await this.#waitForMain(strategy);
    const shown = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const message = `rank ${rank} of ${size} has failed, and ends all: ${shown}`;
    this.#parts.platform.warn(redact(message, secretsOfEnvironment()));
    strategy.abort(1);
  }

  /**
   * Where all ranks fail, such as in a hook that each has, the main rank saves, reports it and ends the others: the
   * launcher sends them SIGTERM, and a moment later SIGKILL.
   */
  async #waitForMain(strategy: Strategy): Promise<void> {
    const told = new AbortController();
    if (this.#interruptedHere()) told.abort();
    const unlisten = this.#parts.platform.onSignals(() => told.abort(), KILLED_WITHIN_MS);
    const began = performance.now();
    const limit = (): number => (strategy.mainHasFailed?.() ? MAIN_SAVES_MS : MAIN_FIRST_MS);
    while (!told.signal.aborted && performance.now() - began < limit()) await sleep(LOOK_MS);
    unlisten();
    if (told.signal.aborted) await sleep(KILLED_WITHIN_MS);
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
