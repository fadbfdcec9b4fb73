// Joins a trainer to its process group, if any. What only a group needs is loaded when there is one.
import { DistributedError } from "../core/errors.ts";
import { redact, secretsOfEnvironment } from "../platform/redact.ts";
import type { HookRegistry } from "../core/registry/registry.ts";
import type { Run } from "../core/loop/run.ts";
import type { StartFacts } from "../distributed/exchange.ts";
import { type Strategy, type StrategyName, openStrategy } from "../distributed/strategy.ts";
import type { RankGroup } from "../distributed/process-group.ts";
import type { Interruption } from "../core/loop/session.ts";
import type { Platform } from "../platform/platform.ts";
import type { DeviceState } from "./device-state.ts";
import { Once } from "./once.ts";
import type { RunCheckpoints } from "./saving/run-checkpoints.ts";
import type { ResumeSource } from "./saving/restore.ts";
import type * as Facts from "./start-facts.ts";

/** How long a rank that has failed waits to hear whether the main rank has failed too. */
const MAIN_FIRST_MS = 3000;
/** How long it waits then, at most, for the emergency save of the main rank. */
const MAIN_SAVES_MS = 600_000;
const LOOK_MS = 20;
/** A launcher that tells a process to go kills it within this time. mpirun waits for a second. */
const KILLED_WITHIN_MS = 3000;

interface MembershipParts {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly place: RunCheckpoints;
  readonly platform: Platform;
  state(): DeviceState;
}

export class GroupMembership {
  readonly #choice: StrategyName | Strategy;
  readonly #parts: MembershipParts;
  readonly #joined = new Once(() => this.#find());
  /** Undefined for a process that trains alone, and before `join`. */
  group: RankGroup | undefined;
  #interruptedHere: () => Interruption | undefined = () => undefined;

  constructor(choice: StrategyName | Strategy, parts: MembershipParts) {
    this.#choice = choice;
    this.#parts = parts;
  }

  /** Finds the group, once. */
  join(): Promise<RankGroup | undefined> {
    return this.#joined.get();
  }

  async #find(): Promise<RankGroup | undefined> {
    const strategy = await openStrategy(this.#choice);
    if (strategy.size === 1) return undefined;
    const { run, hooks, place, state } = this.#parts;
    const [{ RankGroup }, { hashState }] = await Promise.all([
      import("../distributed/process-group.ts"),
      import("./joint-step.ts"),
    ]);
    this.group = new RankGroup(strategy, run, hooks, () => hashState(state()));
    run.group = this.group;
    hooks.joinAs(strategy.rank);
    if (strategy.rank > 0) place.follow([]);
    return this.group;
  }

  /** Fails on all ranks alike where they were not started alike. */
  async compareStarts(describe: (facts: typeof Facts) => Promise<StartFacts>): Promise<void> {
    if (!this.group) return;
    const [{ findUnlikeStarts }, facts] = await Promise.all([
      import("../distributed/exchange.ts"),
      import("./start-facts.ts"),
    ]);
    const error = await findUnlikeStarts(this.group.strategy, await describe(facts));
    if (error) throw error;
  }

  /** What a run is resumed from: the main rank finds it and gives it to all. */
  async share(find: () => Promise<ResumeSource | undefined>): Promise<ResumeSource | undefined> {
    if (!this.group) return find();
    const { shareSource } = await import("./saving/broadcast-source.ts");
    return shareSource(this.group.strategy, find);
  }

  /** A run begins, with the same parameters on all ranks. */
  async begin(interruptedHere: () => Interruption | undefined): Promise<void> {
    if (!this.group) return;
    const { shareState } = await import("./joint-step.ts");
    await shareState(this.group.strategy, this.#parts.state());
    this.#interruptedHere = interruptedHere;
    this.group.begin(interruptedHere);
  }

  /** The run is over and its last checkpoint written: all ranks learn which checkpoints there are. */
  async end(): Promise<void> {
    if (!this.group) return;
    const { shareList } = await import("./saving/broadcast-source.ts");
    const { place } = this.#parts;
    const saved = await shareList(this.group.strategy, place.list());
    if (this.group.rank > 0) place.follow(saved);
    this.group.end();
  }

  /** Announces a failure of the main rank at once: the other ranks must not end it during its emergency save. */
  async announcingFailure<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      if (this.group?.rank === 0) this.group.strategy.announceFailure?.();
      throw error;
    }
  }

  /** A rank that fails ends all: the others would wait for it. */
  async failed(error: unknown): Promise<void> {
    if (!this.group) return;
    const { rank, size, strategy } = this.group;
    const mainFails = error instanceof DistributedError && error.onAllRanks;
    if (rank > 0 && strategy.mainHasFailed) await this.#waitForMain(strategy, mainFails);
    const shown = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const message = `rank ${rank} of ${size} has failed, and ends all: ${shown}`;
    this.#parts.platform.warn(redact(message, secretsOfEnvironment()));
    strategy.abort(1);
  }

  /**
   * Where all ranks fail, such as in a hook that each has, the main rank saves, reports it and ends the others: the
   * launcher sends them SIGTERM, and a moment later SIGKILL. Only for strategies that can tell that the main rank failed.
   */
  async #waitForMain(strategy: Strategy, mainFails: boolean): Promise<void> {
    const interrupted = new AbortController();
    if (this.#interruptedHere()) interrupted.abort();
    const unlisten = this.#parts.platform.onSignals(() => interrupted.abort(), KILLED_WITHIN_MS);
    const began = performance.now();
    const limit = (): number => (mainFails || strategy.mainHasFailed?.() ? MAIN_SAVES_MS : MAIN_FIRST_MS);
    while (!interrupted.signal.aborted && performance.now() - began < limit()) await sleep(LOOK_MS);
    unlisten();
    if (interrupted.signal.aborted) await sleep(KILLED_WITHIN_MS);
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
