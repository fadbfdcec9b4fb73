// The live state of a run: counters, the current step and batch, and what hooks have requested.
import type { HostArray } from "../arrays.ts";
import type { Moment } from "../cadence.ts";
import type { Metrics, Phase, RunStatus } from "../context.ts";
import type { LiveOptimizer } from "../optimizer.ts";
import { Clock, epochIdx } from "./counters.ts";
import type { Turn } from "../registry/dispatch.ts";
import { Audit, type HookTurn, type Intervention, requestFromOutside } from "../interventions.ts";
import type { Figure, HostBatch, HostTensors, LossModel, MaybePromise, Model, Share } from "../model.ts";
import type { HookRegistry } from "../registry/registry.ts";
import type {
  Checkpoints,
  FailedSave,
  Loading,
  ResumeReport,
  SavedCheckpoint,
  SaveRequest,
  Saving,
} from "../saving.ts";
import { RunLog } from "./run-log.ts";
import { Shared } from "../shared.ts";
import type { SkipScope } from "../verbs.ts";
import {
  type ExchangePoint,
  type FetchedBatch,
  type Interruption,
  NOT_STARTED,
  type ProcessGroup,
  type Session,
} from "./session.ts";

/** What stays the same over a trainer's life and belongs to its surroundings. */
export interface RunHost {
  readonly model: Model<never> | LossModel;
  readonly config: Readonly<Record<string, unknown>>;
  readonly seed: number;
  readonly shared: Shared | undefined;
  paramCount(): number;
  optimizersFor(turn: HookTurn): readonly LiveOptimizer[];
  checkpointsFor(hook: string): Checkpoints;
}

/** One row of the metrics history: after an evaluation or an epoch. */
export interface HistoryEntry {
  readonly step: number;
  readonly epoch: number;
  readonly metrics: Metrics;
}

/** Pending requests of hooks. */
interface Requests {
  stop: { reason: string; by: string; entry: Intervention } | undefined;
  skip: SkipScope | undefined;
  eval: boolean;
  batch: HostBatch | undefined;
  scale: number;
  save: SaveRequest | undefined;
  /** Asked for once, and kept until the run ends. */
  saveAtEnd: SaveRequest | undefined;
  rollback: { to: string | undefined; by: string; reason: string | undefined } | undefined;
  pause: boolean;
}

const noRequests = (): Requests => ({
  stop: undefined,
  skip: undefined,
  eval: false,
  batch: undefined,
  scale: 1,
  save: undefined,
  saveAtEnd: undefined,
  rollback: undefined,
  pause: false,
});

export class Run {
  readonly clock = new Clock();
  /** Set by the registry itself. */
  hooks!: HookRegistry;
  readonly audit = new Audit();
  readonly turn: Turn = { event: null, ctx: null };
  readonly shared: Shared;
  readonly requests = noRequests();
  readonly history: HistoryEntry[] = [];
  readonly log = new RunLog();

  /** What computes: there is none before the first call. */
  session: Session = NOT_STARTED;
  /** The process group; undefined for a process that trains alone. */
  group: ProcessGroup | undefined;
  /** Why the run must end now. In a process group, the same on all ranks. */
  interruption: Interruption | undefined;
  phase: Phase = "train";
  status: RunStatus = "training";
  totalSteps: number | undefined;
  totalEpochs: number | undefined;
  /** Batches in an epoch; undefined where streams or chance decide it. */
  epochBatches: number | undefined;
  accumulate = 1;
  /** The step after which `command` fires next; Infinity while nothing is to be done. */
  commandAt = Infinity;
  /** Are the step's evaluation, log and save done, as during a pause? */
  settled = false;
  /** Is a call of `fit` under way? */
  isLive = false;
  /** The step after which the last evaluation ran: one per boundary is enough. */
  evaluatedAt = -1;
  /** A signal interrupted the evaluation after the last step: the resumed run evaluates first. */
  evalPending = false;
  /** True between `epochBegin` and a whole epoch's end: a later `fit` continues the same epoch. */
  epochOpen = false;
  /** True from `epochBegin` to `epochEnd`: a run that is resumed in between does not fire `epochBegin` again. */
  epochEntered = false;
  batchIdx = 0;
  loaderIdx = 0;
  loaderName = "";
  optimizerIdx = 0;
  batch: HostBatch = {};
  /** Has a hook read the current batch? It may have kept the arrays. */
  batchSeen = false;
  /** This rank's share of the current batch, in a process group. */
  share: Share | undefined;
  skipped = false;
  /** True until the step's last `batchEnd`: until then batch metrics are those of a micro-batch. */
  inStep = false;
  partial = false;
  skippedSteps = 0;
  reason = "";
  requestedBy = "";
  error: unknown;
  payload: unknown;
  // Of the checkpoint events; the context shows them only there.
  saving!: Saving;
  saved!: SavedCheckpoint;
  failedSave!: FailedSave;
  loading!: Loading;
  loaded!: ResumeReport;
  /** What this call of `fit` was resumed from. */
  resumed: ResumeReport | undefined;
  /** Rollbacks done since the run began. */
  rollbacks = 0;
  evalMetrics: Metrics = {};
  /** What metrics have drawn of the last evaluation. */
  figures: Readonly<Record<string, Figure>> = {};
  /** What `predict` has computed of the current batch. */
  predicted: HostArray | HostTensors = {};
  /** The step's loss: the weighted mean over its micro-batches, once there are several. */
  stepLoss: number | undefined;
  /** The last step's gradient norm, in a run that was resumed just after it. */
  stepNorm: number | undefined;
  #startedAt = 0;
  /** When the clock was stopped; undefined while it runs. */
  #stoppedAt: number | undefined;
  /** Ends the wait of a pause. */
  #rouse: () => void = () => undefined;
  readonly host: RunHost;

  constructor(host: RunHost) {
    this.host = host;
    this.shared = host.shared ?? new Shared();
  }

  get metrics(): Metrics {
    return this.log.metrics;
  }
  get elapsed(): number {
    return this.clock.now.elapsed / 1000;
  }
  get moment(): Moment {
    const { clock, totalSteps, epochBatches, accumulate } = this;
    return { clock, seed: this.host.seed, totalSteps, epochBatches, accumulate };
  }

  /** Counts how far the step that begins takes the run through its data. */
  countProgress(): void {
    const { clock, epochBatches, batchIdx, accumulate } = this;
    const { now } = clock;
    now.progress = now.epochsDone;
    if (epochBatches) now.progress += Math.min(batchIdx + 1 + accumulate, epochBatches) / epochBatches;
  }

  startTimer(): void {
    this.#startedAt = performance.now() - this.clock.now.elapsed;
  }

  /** Milliseconds of training by this process's own clock. */
  measureElapsed(): number {
    return (this.#stoppedAt ?? performance.now()) - this.#startedAt;
  }

  /** A pause does not count as training. */
  stopTimer(): void {
    this.#stoppedAt ??= performance.now();
  }

  continueTimer(): void {
    if (this.#stoppedAt !== undefined) this.#startedAt += performance.now() - this.#stoppedAt;
    this.#stoppedAt = undefined;
  }

  /** Makes `command` fire at the end of this step, or of the current one. */
  wake(step = 0): void {
    this.commandAt = Math.min(this.commandAt, step);
    this.#rouse();
  }

  /** Ends a pause from outside the loop. */
  continue(): void {
    if (!this.requests.pause) return;
    requestFromOutside(this, "continue");
    this.#rouse();
  }

  interrupt(interruption: Interruption): void {
    this.interruption ??= interruption;
    this.#rouse();
  }

  /** Waits until something is to be done, at most this long. The timer keeps the process alive. */
  async rest(ms: number): Promise<void> {
    if (this.commandAt <= this.clock.now.step || this.interruption) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
      this.#rouse = resolve;
    });
    this.#rouse = () => undefined;
    clearTimeout(timer);
  }

  updateElapsed(): void {
    this.clock.now.elapsed = this.group ? this.group.elapsed : this.measureElapsed();
  }

  /** A new call of `fit`: the outcome is open again, counters and metrics continue. */
  reopen(): void {
    Object.assign(this.requests, noRequests());
    Object.assign(this, {
      phase: "train",
      status: "training",
      reason: "",
      requestedBy: "",
      error: undefined,
      interruption: undefined,
      skippedSteps: 0,
      epochEntered: false,
      resumed: undefined,
    });
    this.commandAt = Infinity;
    this.isLive = true;
    this.#stoppedAt = undefined;
    this.audit.clear();
    this.log.end();
  }

  /** Back to the start: counters, metrics and history too, and hooks as they were given. */
  restart(): void {
    this.hooks.resetSwitches();
    this.clock.reset();
    this.log.clear();
    Object.assign(this, { epochOpen: false, epochEntered: false, stepLoss: undefined, stepNorm: undefined });
    Object.assign(this, { evaluatedAt: -1, evalPending: false, rollbacks: 0 });
    this.history.length = 0;
  }

  /** Is this the main rank, or a process that trains alone? */
  get isMain(): boolean {
    return this.group === undefined || this.group.rank === 0;
  }

  /** Exchanges requests with the other ranks of a process group. */
  exchange(after: ExchangePoint, logs?: () => boolean): MaybePromise<void> {
    return this.group?.exchange(after, logs);
  }

  beginStep(): void {
    this.clock.now.step++;
    this.countProgress();
    this.skipped = false;
    this.inStep = true;
    this.stepLoss = undefined;
    this.stepNorm = undefined;
    this.optimizerIdx = 0;
  }

  endStep(updated: boolean): void {
    this.skipped = !updated;
    this.inStep = false;
    if (!updated) this.skippedSteps++;
    this.updateElapsed();
  }

  /** A micro-batch of this loader is about to be fetched. */
  beginBatch(loader: number, name: string): void {
    this.loaderIdx = loader;
    this.loaderName = name;
    this.requests.batch = undefined;
    this.requests.scale = 1;
    this.skipped = false;
  }

  /** Counts the micro-batch that was fetched. */
  takeBatch({ batch, share, samples, tokens }: FetchedBatch): void {
    const { clock } = this;
    clock.mark("batch");
    clock.now.batches++;
    clock.now.samples += samples;
    clock.now.tokens += tokens;
    this.show(batch, share);
  }

  /** Sets the current batch: each rank of a process group has its own rows. */
  show(batch: HostBatch, share?: Share): void {
    this.batch = batch;
    this.share = share;
    this.batchSeen = false;
  }

  /** The current batch, for a hook. */
  readBatch(): HostBatch {
    this.batchSeen = true;
    return this.batch;
  }

  /** Puts the batch in place that a hook asked for. */
  replaceBatch(): void {
    if (!this.requests.batch) return;
    this.batch = this.requests.batch;
    if (this.share) this.share = { ...this.share, empty: false };
  }

  /** Takes the skip request if it reaches at least as far as `scope`: an epoch's skip also skips its step and batch. */
  skips(scope: SkipScope): boolean {
    const { skip } = this.requests;
    if (skip === undefined) return false;
    return scope === "batch" || (scope === "step" && skip !== "batch") || skip === "epoch";
  }

  remember(metrics: Metrics): void {
    const { now } = this.clock;
    this.history.push({ step: now.step, epoch: epochIdx(now), metrics });
  }
}
