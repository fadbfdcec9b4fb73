// The context: one live object per hook over the state of its trainer. It shows what the event allows and audits every verb.
import type { HostArray } from "./arrays.ts";
import { carryOut, type Ask, type GroupAssignment } from "./ask.ts";
import type { Audit, Intervention } from "./audit.ts";
import type { ContextFields, LiveOptimizer, Metrics, Phase, RunStatus, UpdateFn, Verbs } from "./context.types.ts";
import { toBatch } from "./batch.ts";
import type { Cadence, Moment } from "./cadence.ts";
import type { Clock } from "./counters.ts";
import type { DeviceTensors, ParamsView } from "./device-tensors.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { Turn } from "./dispatch.ts";
import { DueRules } from "./due.ts";
import { ContextError } from "./errors.ts";
import type { Grads } from "./grads.ts";
import { isPromise } from "./maybe.ts";
import { isMedia, type Media } from "./media.ts";
import type { HostBatch, HostTensors, Loss, LossModel, Model } from "./model.ts";
import type { NameFilter } from "./names.ts";
import { show } from "./options.ts";
import type { Activations, ProbeRequest } from "./probes.ts";
import type { HookRegistry } from "./registry.ts";
import type { SavedCheckpoint, SaveReason } from "./saved.ts";
import { checkSaveOptions, type Checkpoints, type FailedSave, type Loading, type ResumeReport } from "./saving.ts";
import type { SaveOptions, SaveRequest, Saving } from "./saving.ts";
import type { Shared } from "./shared.ts";
import type { Team } from "./team.ts";
import { allowsVerb, eventsWith, showsField, skipProblem } from "./permissions.ts";
import { SKIP_SCOPES, VERBS, type SkipScope, type VerbName } from "./verbs.ts";

/** The state of a run as the loop keeps it. Values that cost a read of the device are getters of the implementation. */
export interface RunView extends Omit<
  ContextFields,
  | "epoch"
  | "step"
  | "tokensSeen"
  | "samplesSeen"
  | "log"
  | "due"
  | "grads"
  | "activations"
  | "optimizers"
  | "checkpoints"
  | "rank"
  | "worldSize"
> {
  readonly clock: Clock;
  /** The processes that train together; undefined for one alone. */
  readonly team: Team | undefined;
  /** The gradients as one hook sees them: what it does to them is recorded. Undefined outside their window. */
  gradsFor(ctx: Context): Grads | undefined;
  /** The activations of a hook's own request, as far as they were collected. */
  activationsFor(request: ProbeRequest): Activations;
  readonly payload: unknown;
  /** The clock as cadences read it. */
  readonly moment: Moment;
  readonly audit: Audit;
  readonly turn: Turn;
  /** Live optimizers whose assignments are recorded under the hook that reads them. */
  optimizersFor(ctx: Context): readonly LiveOptimizer[];
  /** The run's checkpoints as one hook sees them: what it releases is its own share. */
  checkpointsFor(hook: string): Checkpoints;
  /** Carries out what the verbs ask. */
  readonly actions: Actions;
}

/** The verbs without their permissions and their audit: what the loop does. */
export interface Actions extends Omit<Verbs, "stop" | "setLr" | "setTrainable" | "requestSave" | "rollback"> {
  stop(reason: string, by: string, entry: Intervention): void;
  requestSave(request: SaveRequest, at: "boundary" | "end"): void;
  rollback(to: string | undefined, by: string, reason: string | undefined): void;
  /** What each group's rate would be, and setting them. */
  ratesFor(lr: number | ((current: number) => number)): readonly number[];
  setRates(rates: readonly number[]): void;
  assign(optimizer: number, group: number, values: GroupAssignment): void;
  /** The parameters that a filter leaves out, and leaving them out. */
  frozenBy(filter: NameFilter): readonly string[];
  freeze(names: readonly string[]): void;
  log(values: Readonly<Record<string, number | Media>>): void;
}

export class Context implements Omit<ContextFields, never>, Verbs {
  /** The hook this context belongs to. */
  readonly hook: string;
  readonly #run: RunView;
  readonly #probes: ProbeRequest | undefined;
  readonly #rules: DueRules;
  /** Does it run on the main process only? */
  readonly #mainOnly: boolean;
  /** The event whose fields are shown instead of those of the event at hand. */
  #recalled: string | undefined;

  constructor(hook: string, run: RunView, probes?: ProbeRequest, mainOnly = false) {
    this.hook = hook;
    this.#mainOnly = mainOnly;
    this.#run = run;
    this.#probes = probes;
    this.#rules = new DueRules(hook);
  }

  // Always valid.
  get phase(): Phase {
    return this.#run.phase;
  }
  get epoch(): number {
    return Math.max(0, this.#run.clock.now.epoch - 1);
  }
  get step(): number {
    return this.#run.clock.now.step;
  }
  get totalSteps(): number | undefined {
    return this.#run.totalSteps;
  }
  get metrics(): Metrics {
    return this.#run.metrics;
  }
  get tokensSeen(): number {
    return this.#run.clock.now.tokens;
  }
  get samplesSeen(): number {
    return this.#run.clock.now.samples;
  }
  get model(): Model<never> | LossModel {
    return this.#run.model;
  }
  get params(): ParamsView {
    return this.#run.params;
  }
  get optimizers(): readonly LiveOptimizer[] {
    return this.#run.optimizersFor(this);
  }
  get device(): string {
    return this.#run.device;
  }
  get paramCount(): number {
    return this.#run.paramCount;
  }
  get config(): Readonly<Record<string, unknown>> {
    return this.#run.config;
  }
  get status(): RunStatus {
    return this.#run.status;
  }
  get elapsed(): number {
    return this.#run.elapsed;
  }
  get shared(): Shared {
    return this.#run.shared;
  }

  get rank(): number {
    return this.#run.team?.rank ?? 0;
  }
  get worldSize(): number {
    return this.#run.team?.size ?? 1;
  }

  get hooks(): HookRegistry {
    return this.#run.hooks;
  }

  get interventions(): readonly Intervention[] {
    return this.#run.interventions;
  }

  get checkpoints(): Checkpoints {
    return this.#run.checkpointsFor(this.hook);
  }

  // Valid in the events whose row in EVENTS names them.
  get batch(): HostBatch {
    return this.#valid("batch").batch;
  }
  get batchIdx(): number {
    return this.#valid("batchIdx").batchIdx;
  }
  get loaderIdx(): number {
    return this.#valid("loaderIdx").loaderIdx;
  }
  get loaderName(): string {
    return this.#valid("loaderName").loaderName;
  }
  get optimizerIdx(): number {
    return this.#valid("optimizerIdx").optimizerIdx;
  }
  get outputs(): HostArray | HostTensors {
    return this.#valid("outputs").outputs;
  }
  get loss(): number {
    return this.#valid("loss").loss;
  }
  get avgLoss(): number {
    return this.#valid("avgLoss").avgLoss;
  }
  get evalMetrics(): Metrics {
    return this.#valid("evalMetrics").evalMetrics;
  }
  get logged(): Metrics {
    return this.#valid("logged").logged;
  }
  get media(): Readonly<Record<string, Media>> {
    return this.#valid("media").media;
  }
  get lr(): number {
    return this.#valid("lr").lr;
  }
  get gradNorm(): number {
    return this.#valid("gradNorm").gradNorm;
  }
  get clippedNorm(): number {
    return this.#valid("clippedNorm").clippedNorm;
  }
  get finite(): boolean {
    return this.#valid("finite").finite;
  }
  get diagnose(): () => Promise<Diagnosis> {
    this.#myTurn("diagnose");
    return this.#valid("diagnose").diagnose;
  }

  get skipped(): boolean {
    return this.#valid("skipped").skipped;
  }
  get partial(): boolean {
    return this.#valid("partial").partial;
  }
  get reason(): string {
    return this.#valid("reason").reason;
  }
  get requestedBy(): string {
    return this.#valid("requestedBy").requestedBy;
  }
  get error(): unknown {
    return this.#valid("error").error;
  }
  get saving(): Saving {
    return this.#valid("saving").saving;
  }
  get saved(): SavedCheckpoint {
    return this.#valid("saved").saved;
  }
  get failedSave(): FailedSave {
    return this.#valid("failedSave").failedSave;
  }
  get loading(): Loading {
    return this.#valid("loading").loading;
  }
  get loaded(): ResumeReport {
    return this.#valid("loaded").loaded;
  }
  get payload(): unknown {
    return this.#run.payload;
  }

  get grads(): Grads {
    const event = this.#myTurn("grads");
    const grads = showsField(event, "grads") ? this.#run.gradsFor(this) : undefined;
    if (grads === undefined) {
      throw new ContextError(
        `There are no gradients in \`${event}\`. They live from afterBackward to afterOptimizerStep: use onAfterBackward (one micro-batch), onBeforeOptimizerStep (accumulated, before clipping) or onAfterOptimizerStep. For the norm alone, say needs: ["gradNorm"] and read ctx.gradNorm in onStepEnd.`,
      );
    }
    return grads;
  }

  get activations(): Activations {
    const run = this.#valid("activations");
    if (this.#probes) return run.activationsFor(this.#probes);
    throw new ContextError(
      `This hook did not ask for activations. Say probes: { match: "*" } on it; trainer.probePoints() lists the points.`,
    );
  }

  log(values: Readonly<Record<string, number | Media>>): void {
    this.#myTurn("log");
    if (typeof values !== "object" || values === null) {
      throw new ContextError(`ctx.log takes numbers by name, such as { drift: 0.1 }, got ${show(values)}.`);
    }
    for (const [name, value] of Object.entries(values)) {
      if (typeof value === "number" || isMedia(value)) continue;
      throw new ContextError(
        `ctx.log takes numbers, histogram(…), text(…) and image(…), but \`${name}\` is ${show(value)}.`,
      );
    }
    this.#run.actions.log(values);
  }

  due(cadence: Cadence): boolean {
    const event = this.#myTurn("due");
    return this.#rules.due(cadence, this.#recalled ?? event, this.#run.moment);
  }

  stop(reason: string): void {
    if (typeof reason !== "string" || reason === "") {
      throw new ContextError(`ctx.stop takes a reason, which the run's result will show, got ${show(reason)}.`);
    }
    this.#allowed("stop");
    this.request({ verb: "stop", reason }, "stop", reason);
  }

  skip(scope: SkipScope, reason?: string): void {
    if (!Object.hasOwn(SKIP_SCOPES, scope)) {
      const scopes = Object.keys(SKIP_SCOPES).map((name) => `"${name}"`);
      throw new ContextError(`ctx.skip takes ${scopes.join(", ")}, got ${show(scope)}.`);
    }
    const event = this.#myTurn("skip");
    const problem = skipProblem(scope, event);
    if (problem !== undefined) throw new ContextError(problem);
    this.#allowed("skip");
    const { team, actions } = this.#run;
    const what = `skip("${scope}")`;
    // A batch is this process's share of one, and the main one alone saves.
    if (!team || scope === "batch" || scope === "save") this.record(what, reason);
    else team.ask({ ask: { verb: "skip", scope }, entry: this.#entry(what, reason) });
    // Once the gradients are joined, no process may leave the step before the others.
    if (!team || (event !== "beforeOptimizerStep" && event !== "gradientClip")) actions.skip(scope);
  }

  replaceBatch(batch: HostBatch, reason?: string): void {
    const checked = toBatch(batch, () => `ctx.replaceBatch`);
    this.#ask("replaceBatch", "replaceBatch", reason);
    this.#run.actions.replaceBatch(checked);
  }

  scaleLoss(k: number, reason?: string): void {
    if (typeof k !== "number" || !Number.isFinite(k))
      throw new ContextError(`ctx.scaleLoss takes a finite number, got ${show(k)}.`);
    this.#ask("scaleLoss", `scaleLoss(${k})`, reason);
    this.#run.actions.scaleLoss(k);
  }

  setLoss(loss: Loss, reason?: string): void {
    if (typeof loss !== "function") {
      throw new ContextError(`ctx.setLoss takes a loss function such as crossEntropy(), got ${show(loss)}.`);
    }
    this.#alike("setLoss");
    this.#ask("setLoss", `setLoss(${loss.name || "anonymous"})`, reason);
    this.#run.actions.setLoss(loss);
  }

  setLr(lr: number | ((current: number) => number), reason?: string): void {
    this.#allowed("setLr");
    const rates = this.#run.actions.ratesFor(lr);
    this.request({ verb: "setLr", rates }, `setLr(${rates[0]})`, reason);
  }

  setUpdate(update: UpdateFn | null, reason?: string): void {
    this.#alike("setUpdate");
    this.#ask("setUpdate", update === null ? "setUpdate(null)" : `setUpdate(${update.name || "anonymous"})`, reason);
    this.#run.actions.setUpdate(update);
  }

  setTrainable(filter: NameFilter, reason?: string): void {
    this.#allowed("setTrainable");
    const frozen = this.#run.actions.frozenBy(filter);
    const shown = typeof filter === "function" ? filter.name || "function" : JSON.stringify(filter);
    this.request({ verb: "setTrainable", frozen }, `setTrainable(${shown})`, reason);
  }

  setAccumulate(n: number, reason?: string): void {
    if (!Number.isSafeInteger(n) || n < 1)
      throw new ContextError(`ctx.setAccumulate takes a whole number ≥ 1, got ${show(n)}.`);
    this.#allowed("setAccumulate");
    this.request({ verb: "setAccumulate", n }, `setAccumulate(${n})`, reason);
  }

  swapParams(params: HostTensors | DeviceTensors, reason?: string): void {
    this.#allowed("swapParams");
    this.#alike("swapParams");
    this.#run.actions.swapParams(params);
    this.#ask("swapParams", "swapParams", reason);
  }

  setParams(params: HostTensors | DeviceTensors, reason?: string): void {
    this.#allowed("setParams");
    this.#alike("setParams");
    this.#run.actions.setParams(params);
    this.#ask("setParams", "setParams", reason);
  }

  requestEval(reason?: string): void {
    this.#allowed("requestEval");
    this.request({ verb: "requestEval" }, "requestEval", reason);
  }

  requestSave(reason: SaveReason = "request", options: SaveOptions = {}): void {
    if (typeof reason !== "string" || reason === "") {
      throw new ContextError(`ctx.requestSave takes a reason, which the checkpoint will show, got ${show(reason)}.`);
    }
    checkSaveOptions("ctx.requestSave", options);
    const { at = "boundary", ...rest } = options;
    this.#allowed("requestSave");
    const request = { ...rest, reason, by: [this.hook] };
    this.request({ verb: "requestSave", request, at }, at === "end" ? "requestSave at the end" : "requestSave", reason);
  }

  rollback(to?: string, reason?: string): void {
    if (to !== undefined && (typeof to !== "string" || to === ""))
      throw new ContextError(`ctx.rollback takes the name of a checkpoint, or nothing, got ${show(to)}.`);
    this.#allowed("rollback");
    this.request({ verb: "rollback", to, reason }, to === undefined ? "rollback" : `rollback("${to}")`, reason);
  }

  /** Records a request and does it; among several processes, all do it when they next agree. */
  request(ask: Ask, what: string, why?: string): void {
    const { team, actions } = this.#run;
    // The main process alone saves: what it asks of itself need not wait.
    if (team && !(ask.verb === "requestSave" && team.rank === 0)) team.ask({ ask, entry: this.#entry(what, why) });
    else carryOut(actions, { ask, entry: this.record(what, why) });
  }

  /** Records an intervention of this hook that is not a verb of its own (assignments to groups, gradients). */
  record(what: string, why?: string): Intervention {
    const { team, audit } = this.#run;
    const entry = this.#entry(what, why);
    return audit.add(team ? { ...entry, ranks: [team.rank] } : entry);
  }

  /** The same of a change that every process must make by itself: of gradients that have been joined. */
  recordAlike(what: string): void {
    this.#alike(what);
    this.record(what);
  }

  #entry(what: string, why?: string): Intervention {
    const event = this.#myTurn(what);
    const entry = { who: this.hook, event, step: this.#run.clock.now.step, epoch: this.epoch, what };
    return why === undefined ? entry : { ...entry, why };
  }

  /** What cannot be sent to the other processes must be asked on each of them. */
  #alike(what: string): void {
    if (!this.#run.team || !this.#mainOnly) return;
    throw new ContextError(
      `Hook \`${this.hook}\` runs on the main process only (\`ranks: "main"\`), but ctx.${what} must be called on all ${this.#run.team.size} alike, or their models would differ. Leave out \`ranks\`.`,
    );
  }

  /** Shows the fields of `event`, as its last occasion left them, while `call` runs. Verbs stay those of the event at hand. */
  recall(event: string, call: () => void | Promise<void>): void | Promise<void> {
    const forget = (): void => void (this.#recalled = undefined);
    this.#recalled = event;
    let pending: Promise<void> | undefined;
    try {
      pending = call() ?? undefined;
    } finally {
      if (!isPromise(pending)) forget();
    }
    return isPromise(pending) ? pending.finally(forget) : undefined;
  }

  #ask(verb: VerbName, what: string, why?: string): Intervention {
    this.#allowed(verb);
    return this.record(what, why);
  }

  /** The event at hand, if it is this hook's turn. */
  #myTurn(verb: string): string {
    const { turn } = this.#run;
    if (turn.ctx !== this || turn.event === null) {
      throw new ContextError(
        `Hook \`${this.hook}\` called ctx.${verb} after its event had ended. Await your work inside the method, or keep a flag and act in the next event; to stop from outside, pass an AbortSignal to fit().`,
      );
    }
    return turn.event;
  }

  #allowed(verb: VerbName): void {
    const event = this.#myTurn(verb);
    const training = this.#run.phase === "train" || this.#run.phase === "eval";
    if (!training && verb !== "swapParams" && verb !== "replaceBatch") {
      throw new ContextError(
        `ctx.${verb} changes a training run, and none is going on in evaluate() or predict(). Check ctx.phase first.`,
      );
    }
    if (allowsVerb(event, verb)) return;
    throw new ContextError(`ctx.${verb} is not valid in \`${event}\`. It works in: ${VERBS[verb].events.join(", ")}.`);
  }

  #valid(field: string): RunView {
    const event = this.#recalled ?? this.#run.turn.event;
    if (event !== null && !showsField(event, field)) {
      throw new ContextError(`ctx.${field} is not available in \`${event}\`. It is in: ${eventsWith(field)}.`);
    }
    return this.#run;
  }
}
