// The context: one live object per hook over the state of its trainer. It shows what the event allows and audits every verb.
import type { HostArray } from "./arrays.ts";
import type { Intervention } from "./audit.ts";
import { toBatch } from "./batch.ts";
import type { Cadence } from "./cadence.ts";
import type { ContextFields, LiveOptimizer, Metrics, Phase, RunStatus, UpdateFn, Verbs } from "./context.types.ts";
import { epochIdx } from "./counters.ts";
import type { DeviceTensors, ParamsView } from "./device-tensors.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { DueRules } from "./due.ts";
import { ContextError } from "./errors.ts";
import type { Grads } from "./grads.ts";
import { HookTurn } from "./hook-turn.ts";
import { isMedia, type Media } from "./media.ts";
import type { HostBatch, HostTensors, Loss, LossModel, Model } from "./model.ts";
import type { NameFilter } from "./names.ts";
import { show } from "./options.ts";
import { showsField, skipProblem } from "./permissions.ts";
import type { Activations, ProbeRequest } from "./probes.ts";
import type { HookRegistry } from "./registry.ts";
import type { RunView } from "./run-view.ts";
import {
  type Checkpoints,
  type FailedSave,
  type Loading,
  type ResumeReport,
  type SaveOptions,
  type SaveReason,
  type SavedCheckpoint,
  type Saving,
  checkSaveOptions,
} from "./saving.ts";
import type { Shared } from "./shared.ts";
import { SKIP_SCOPES, type SkipScope } from "./verbs.ts";
import { refuseAssignments } from "./write-guard.ts";

export class Context implements ContextFields, Verbs {
  readonly #hook: string;
  readonly #run: RunView;
  readonly #probes: ProbeRequest | undefined;
  readonly #rules: DueRules;
  readonly #turn: HookTurn;

  constructor(hook: string, run: RunView, probes?: ProbeRequest, mainOnly = false) {
    this.#hook = hook;
    this.#run = run;
    this.#probes = probes;
    this.#rules = new DueRules(hook);
    this.#turn = new HookTurn(hook, run, this, mainOnly);
  }

  /** The hook this context belongs to. */
  get hook(): string {
    return this.#hook;
  }

  // Always valid.
  get phase(): Phase {
    return this.#run.phase;
  }
  get epoch(): number {
    return epochIdx(this.#run.clock.now);
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
    return this.#run.optimizersFor(this.#turn);
  }
  get device(): string {
    return this.#run.device;
  }
  get compileSeconds(): number | undefined {
    return this.#run.compileSeconds;
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
    return this.#turn.showing("batch").batch;
  }
  get batchIdx(): number {
    return this.#turn.showing("batchIdx").batchIdx;
  }
  get loaderIdx(): number {
    return this.#turn.showing("loaderIdx").loaderIdx;
  }
  get loaderName(): string {
    return this.#turn.showing("loaderName").loaderName;
  }
  get optimizerIdx(): number {
    return this.#turn.showing("optimizerIdx").optimizerIdx;
  }
  get outputs(): HostArray | HostTensors {
    return this.#turn.showing("outputs").outputs;
  }
  get loss(): number {
    return this.#turn.showing("loss").loss;
  }
  get avgLoss(): number {
    return this.#turn.showing("avgLoss").avgLoss;
  }
  get batchMetrics(): Metrics {
    return this.#turn.showing("batchMetrics").batchMetrics;
  }
  get evalMetrics(): Metrics {
    return this.#turn.showing("evalMetrics").evalMetrics;
  }
  get logged(): Metrics {
    return this.#turn.showing("logged").logged;
  }
  get media(): Readonly<Record<string, Media>> {
    return this.#turn.showing("media").media;
  }
  get lr(): number {
    return this.#turn.showing("lr").lr;
  }
  get gradNorm(): number {
    return this.#turn.showing("gradNorm").gradNorm;
  }
  get clippedNorm(): number {
    return this.#turn.showing("clippedNorm").clippedNorm;
  }
  get finite(): boolean {
    return this.#turn.showing("finite").finite;
  }
  get diagnose(): () => Promise<Diagnosis> {
    this.#turn.event("diagnose");
    return this.#turn.showing("diagnose").diagnose;
  }

  get skipped(): boolean {
    return this.#turn.showing("skipped").skipped;
  }
  get partial(): boolean {
    return this.#turn.showing("partial").partial;
  }
  get reason(): string {
    return this.#turn.showing("reason").reason;
  }
  get requestedBy(): string {
    return this.#turn.showing("requestedBy").requestedBy;
  }
  get error(): unknown {
    return this.#turn.showing("error").error;
  }
  get saving(): Saving {
    return this.#turn.showing("saving").saving;
  }
  get saved(): SavedCheckpoint {
    return this.#turn.showing("saved").saved;
  }
  get failedSave(): FailedSave {
    return this.#turn.showing("failedSave").failedSave;
  }
  get loading(): Loading {
    return this.#turn.showing("loading").loading;
  }
  get loaded(): ResumeReport {
    return this.#turn.showing("loaded").loaded;
  }
  get payload(): unknown {
    return this.#run.payload;
  }

  get grads(): Grads {
    const event = this.#turn.event("grads");
    const grads = showsField(event, "grads") ? this.#run.gradsFor(this.#turn) : undefined;
    if (grads === undefined) {
      throw new ContextError(
        `There are no gradients in \`${event}\`. They live from afterBackward to afterOptimizerStep: use onAfterBackward (one micro-batch), onBeforeOptimizerStep (accumulated, before clipping) or onAfterOptimizerStep. For the norm alone, say needs: ["gradNorm"] and read ctx.gradNorm in onStepEnd.`,
      );
    }
    return grads;
  }

  get activations(): Activations {
    const run = this.#turn.showing("activations");
    if (this.#probes) return run.activationsFor(this.#probes);
    throw new ContextError(
      `This hook did not ask for activations. Say probes: { match: "*" } on it; trainer.probePoints() lists the points.`,
    );
  }

  log(values: Readonly<Record<string, number | Media>>): void {
    this.#turn.event("log");
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
    return this.#rules.due(cadence, this.#turn.shown("due"), this.#run.moment);
  }

  stop(reason: string): void {
    if (typeof reason !== "string" || reason === "") {
      throw new ContextError(`ctx.stop takes a reason, which the run's result will show, got ${show(reason)}.`);
    }
    this.#turn.allow("stop");
    this.#turn.request({ verb: "stop", reason }, "stop", reason);
  }

  skip(scope: SkipScope, reason?: string): void {
    if (!Object.hasOwn(SKIP_SCOPES, scope)) {
      const scopes = Object.keys(SKIP_SCOPES).map((name) => `"${name}"`);
      throw new ContextError(`ctx.skip takes ${scopes.join(", ")}, got ${show(scope)}.`);
    }
    const event = this.#turn.event("skip");
    const problem = skipProblem(scope, event);
    if (problem !== undefined) throw new ContextError(problem);
    this.#turn.allow("skip");
    const { team, actions } = this.#run;
    const what = `skip("${scope}")`;
    // A batch is this process's share of one, and the main one alone saves.
    if (!team || scope === "batch" || scope === "save") this.#turn.record(what, reason);
    else team.ask({ ask: { verb: "skip", scope }, entry: this.#turn.entry(what, reason) });
    // Once the gradients are joined, no process may leave the step before the others.
    if (!team || (event !== "beforeOptimizerStep" && event !== "gradientClip")) actions.skip(scope);
  }

  replaceBatch(batch: HostBatch, reason?: string): void {
    const checked = toBatch(batch, () => `ctx.replaceBatch`);
    this.#turn.allow("replaceBatch");
    this.#turn.record("replaceBatch", reason);
    this.#run.actions.replaceBatch(checked);
  }

  scaleLoss(k: number, reason?: string): void {
    if (typeof k !== "number" || !Number.isFinite(k))
      throw new ContextError(`ctx.scaleLoss takes a finite number, got ${show(k)}.`);
    this.#turn.allow("scaleLoss");
    this.#turn.record(`scaleLoss(${k})`, reason);
    this.#run.actions.scaleLoss(k);
  }

  setLoss(loss: Loss, reason?: string): void {
    if (typeof loss !== "function") {
      throw new ContextError(`ctx.setLoss takes a loss function such as crossEntropy(), got ${show(loss)}.`);
    }
    this.#turn.alike("setLoss");
    this.#turn.allow("setLoss");
    this.#turn.record(`setLoss(${loss.name || "anonymous"})`, reason);
    this.#run.actions.setLoss(loss);
  }

  setLr(lr: number | ((current: number) => number), reason?: string): void {
    this.#turn.allow("setLr");
    const rates = this.#run.actions.ratesFor(lr);
    this.#turn.request({ verb: "setLr", rates }, `setLr(${rates[0]})`, reason);
  }

  setUpdate(update: UpdateFn | null, reason?: string): void {
    this.#turn.alike("setUpdate");
    this.#turn.allow("setUpdate");
    this.#turn.record(update === null ? "setUpdate(null)" : `setUpdate(${update.name || "anonymous"})`, reason);
    this.#run.actions.setUpdate(update);
  }

  setTrainable(filter: NameFilter, reason?: string): void {
    this.#turn.allow("setTrainable");
    const frozen = this.#run.actions.frozenBy(filter);
    const shown = typeof filter === "function" ? filter.name || "function" : JSON.stringify(filter);
    this.#turn.request({ verb: "setTrainable", frozen }, `setTrainable(${shown})`, reason);
  }

  setAccumulate(n: number, reason?: string): void {
    if (!Number.isSafeInteger(n) || n < 1)
      throw new ContextError(`ctx.setAccumulate takes a whole number ≥ 1, got ${show(n)}.`);
    this.#turn.allow("setAccumulate");
    this.#turn.request({ verb: "setAccumulate", n }, `setAccumulate(${n})`, reason);
  }

  swapParams(params: HostTensors | DeviceTensors, reason?: string): void {
    this.#turn.allow("swapParams");
    this.#turn.alike("swapParams");
    this.#run.actions.swapParams(params);
    this.#turn.record("swapParams", reason);
  }

  setParams(params: HostTensors | DeviceTensors, reason?: string): void {
    this.#turn.allow("setParams");
    this.#turn.alike("setParams");
    this.#run.actions.setParams(params);
    this.#turn.record("setParams", reason);
  }

  requestEval(reason?: string): void {
    this.#turn.allow("requestEval");
    this.#turn.request({ verb: "requestEval" }, "requestEval", reason);
  }

  requestSave(reason: SaveReason = "request", options: SaveOptions = {}): void {
    if (typeof reason !== "string" || reason === "") {
      throw new ContextError(`ctx.requestSave takes a reason, which the checkpoint will show, got ${show(reason)}.`);
    }
    checkSaveOptions("ctx.requestSave", options);
    const { at = "boundary", ...rest } = options;
    this.#turn.allow("requestSave");
    const request = { ...rest, reason, by: [this.hook] };
    this.#turn.request(
      { verb: "requestSave", request, at },
      at === "end" ? "requestSave at the end" : "requestSave",
      reason,
    );
  }

  rollback(to?: string, reason?: string): void {
    if (to !== undefined && (typeof to !== "string" || to === ""))
      throw new ContextError(`ctx.rollback takes the name of a checkpoint, or nothing, got ${show(to)}.`);
    this.#turn.allow("rollback");
    this.#turn.request({ verb: "rollback", to, reason }, to === undefined ? "rollback" : `rollback("${to}")`, reason);
  }

  /** Shows the fields of `event`, as its last occasion left them, while `call` runs: for a cadence with `atEnd`. */
  recall(event: string, call: () => void | Promise<void>): void | Promise<void> {
    return this.#turn.recall(event, call);
  }
}

refuseAssignments(Context);
