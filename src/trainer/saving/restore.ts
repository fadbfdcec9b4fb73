// Going back to a checkpoint: resuming the whole run, or rolling back only the model and its optimizers.
import { openDirectoryStore } from "../../checkpoint/stores/directory-store.ts";
import type { LoadedCheckpoint } from "../../checkpoint/store.ts";
import { bytesOf, nodePath, verifyInCheckpoint } from "../../checkpoint/weights/files.ts";
import { locate, type WeightsFile } from "../../checkpoint/weights/locate.ts";
import { readWeights } from "../../checkpoint/weights/read-weights.ts";
import { CheckpointError } from "../../core/errors.ts";
import { isSafeName } from "../../core/safe-name.ts";
import { type Loading, NO_CHECKPOINT, type ResumeReport } from "../../core/saving.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { checkSameBase } from "../base.ts";
import { loadOptimizer, type OptimizerSet, rewindOptimizer, type Slot } from "../optimizers.ts";
import { slotName } from "../programs/programs.ts";
import {
  fitModel,
  fromFiles,
  fromTorch,
  noOptimizers,
  type ReadCheckpoint,
  type TorchFile,
  unwrapped,
} from "./checkpoint-files.ts";
import type { RunCheckpoints } from "./run-checkpoints.ts";
import { type SavedState, type TrainingState, loadHookStates, loadRun } from "./snapshot.ts";

/** The contents of a checkpoint or a file of weights, and where they are from. */
export interface ResumeSource extends Omit<Loading, "why"> {
  readonly read: ReadCheckpoint;
  readonly checkpoint?: LoadedCheckpoint["checkpoint"];
  readonly skipped: LoadedCheckpoint["skipped"];
}

/** Collects what was restored and what was not. */
class Report {
  readonly restored: string[] = [];
  readonly missing: string[] = [];
  readonly orphaned: string[] = [];
  readonly changed: string[] = [];

  toResumeReport(loading: Loading, step: number, { checkpoint, skipped }: ResumeSource): ResumeReport {
    const { restored, missing, orphaned, changed } = this;
    return { ...loading, step, ...(checkpoint && { checkpoint }), restored, missing, orphaned, changed, skipped };
  }
}

interface ResumeListeners {
  readonly warn: (message: string) => void;
  /** Called when the run is restored, before `afterLoad`. */
  readonly restored: (report: ResumeReport) => void;
}

/** Resumes from what `resume` names. If `auto` finds nothing, a new run begins. */
export async function resumeRun(
  training: TrainingState,
  checkpoints: RunCheckpoints,
  resume: string,
  { warn, restored }: ResumeListeners,
): Promise<void> {
  const { run, hooks } = training;
  const source = await training.share(() => findSource(checkpoints, resume, training.optimizers()));
  if (!source) return;
  for (const { file, reason } of run.isMain ? source.skipped : [])
    warn(`a newer checkpoint is damaged: ${file}: ${reason}`);
  run.loading = { from: source.from, why: "resume" };
  await hooks.fire.beforeLoad!();
  const report = await restoreRun(training, source);
  run.loaded = report.toResumeReport(run.loading, run.clock.now.step, source);
  run.resumed = run.loaded;
  restored(run.loaded);
  await hooks.fire.afterLoad!();
}

async function restoreRun(training: TrainingState, source: ResumeSource): Promise<Report> {
  const { read } = source;
  const { run, hooks, feed, options } = training;
  const report = new Report();
  restoreModel(training, source, report);
  const { state } = read;
  if (!state) {
    report.missing.push("counters", "data position", ...hooks.stateful().map(({ name }) => hookName(name)));
    return report;
  }
  restoreOptimizers(training, state, report);
  loadRun(run, state, options.accumulate);
  report.restored.push("counters", "metrics");
  noteChanges(training, state, report);
  const { step: steps, state: device } = training.session();
  device.version = state.paramsVersion;
  (steps.load(state.step) ? report.restored : report.missing).push("epoch averages");
  if (run.epochOpen) {
    feed.begin(run.clock.now.epoch - 1, options.seed);
    await feed.load(state.position.data);
  }
  report.restored.push("data position");
  const found = await loadHookStates(hooks.stateful(), state.hooks, run.clock.now.step, read.tensorsIn);
  report.restored.push(...found.restored.map(hookName));
  report.missing.push(...found.missing.map(hookName));
  report.orphaned.push(...found.orphaned.map(hookName));
  return report;
}

/** Restores a checkpoint's model and optimizers; counters, data and hooks continue. Too many rollbacks stop the run. */
export async function rollBack(
  training: TrainingState,
  checkpoints: RunCheckpoints,
  { to, by, reason }: { to: string | undefined; by: string; reason: string | undefined },
  maxRollbacks: number,
): Promise<void> {
  const { run, hooks } = training;
  const stop = (why: string): void => {
    const { step, epoch } = run.clock.now;
    const entry = { who: by, event: "rollback", step, epoch: epoch - 1, what: "stop", why };
    run.requests.stop ??= { reason: why, by, entry: run.audit.add(entry) };
  };
  const because = reason === undefined ? "" : ` (${reason})`;
  if (run.rollbacks >= maxRollbacks)
    return stop(`${by} asks for another rollback after ${maxRollbacks}, which is \`maxRollbacks\`${because}`);
  const source = await training.share(async () => {
    const name = to ?? checkpoints.list().at(-1)?.name;
    if (name === undefined) return undefined;
    const loaded = (await checkpoints.load(name))!;
    return { ...toSource(loaded, training.optimizers()), from: name };
  });
  if (!source) return stop(`${by} asks for a rollback, but this run has no checkpoint yet${because}`);
  run.loading = { from: source.from, why: "rollback" };
  await hooks.fire.beforeLoad!();
  const report = new Report();
  restoreModel(training, source, report);
  for (const slot of training.optimizers().slots) {
    const saved = source.read.state?.position.optimizers.find((each) => each.name === slot.name);
    if (saved) rewindOptimizer(slot, saved);
  }
  run.rollbacks++;
  run.loaded = report.toResumeReport(run.loading, source.checkpoint?.step ?? 0, source);
  await hooks.fire.afterLoad!();
  return undefined;
}

/** Restores parameters, buffers and the optimizers' tensors. The model must have the same shape; optimizers may differ. */
function restoreModel(training: TrainingState, { read, checkpoint }: ResumeSource, report: Report): void {
  if (checkpoint) checkSameBase(read.where, checkpoint.base, training.model().problem.base);
  const { state } = training.session();
  state.load(fitModel(read, state.own));
  report.restored.push("model");
  const { missing, orphaned } = state.loadOptimizers(read.optimizer);
  for (const slot of training.optimizers().slots) slot.updates = read.updates?.[slot.name] ?? slot.updates;
  if (missing.length === 0) report.restored.push("optimizer");
  report.missing.push(...missing.map((name) => `optimizer ${name}`));
  report.orphaned.push(...orphaned.map((name) => `optimizer ${name}`));
}

function restoreOptimizers(training: TrainingState, { position }: SavedState, report: Report): void {
  for (const slot of training.optimizers().slots) {
    const saved = position.optimizers.find(({ name }) => name === slot.name);
    if (saved) loadOptimizer(slot, saved, (what) => report.changed.push(what));
    else report.missing.push(`optimizer ${slot.name}`);
    // After another kind of optimizer this one starts fresh and counts its updates from here.
    if (startsFresh(slot, report)) slot.updates = 0;
  }
}

function startsFresh({ optimizer, groups }: Slot, { missing }: Report): boolean {
  const names = groups.flatMap(({ params }) =>
    params.flatMap((param) => optimizer.slots.map((slot) => slotName(slot, param))),
  );
  return names.length > 0 && names.every((name) => missing.includes(`optimizer ${name}`));
}

function noteChanges({ options, session }: TrainingState, { options: then }: SavedState, report: Report): void {
  const now = { ...options, engine: session().engine.name };
  for (const key of ["accumulate", "seed", "engine"] as const)
    if (now[key] !== then[key]) report.changed.push(`${key}: ${now[key]} instead of ${then[key]}`);
}

const hookName = (name: string): string => `hook ${name}`;

/** Finds and reads what `fit({ resume })` names: one of the run's own checkpoints, or any checkpoint or weights on disk. */
async function findSource(
  checkpoints: RunCheckpoints,
  resume: string,
  optimizers: OptimizerSet,
): Promise<ResumeSource | undefined> {
  if (resume === "auto") return fromOwn(checkpoints, undefined, optimizers);
  if (checkpoints.enabled && isSafeName(resume) && !(await isFile(resume)))
    return fromOwn(checkpoints, resume, optimizers);
  const at = await locate(resume);
  const { path } = at;
  const { basename, dirname } = nodePath();
  if (at.kind === "checkpoint") return fromDirectory(checkpoints, dirname(path), basename(path), optimizers);
  if (at.kind === "checkpoints") return fromDirectory(checkpoints, path, undefined, optimizers);
  const weights = await readFile(at, optimizers);
  const tensorsIn = (): never => {
    throw new CheckpointError(path, "it has no state of hooks", "Resume from a checkpoint of hookline.");
  };
  return { from: path, read: { where: path, ...weights, tensorsIn }, skipped: [] };
}

/** Of a .pt file also the optimizers' state, if it has any. */
async function readFile({ path, format, isIndex }: WeightsFile, optimizers: OptimizerSet): Promise<TorchFile> {
  if (format.name !== "pt" || isIndex)
    return { model: unwrapped(await readWeights(path), optimizers), ...noOptimizers(optimizers) };
  await verifyInCheckpoint(path);
  return fromTorch(await bytesOf(path), path, optimizers);
}

/** Names of checkpoints and of files look alike. */
async function isFile(path: string): Promise<boolean> {
  if (currentPlatform().name === "browser") return false;
  return locate(path).then(
    () => true,
    () => false,
  );
}

/** One of the run's own checkpoints: it keeps its id and saves after those that are there. */
async function fromOwn(
  checkpoints: RunCheckpoints,
  name: string | undefined,
  optimizers: OptimizerSet,
): Promise<ResumeSource | undefined> {
  const loaded = await checkpoints.load(name);
  if (!loaded) return undefined;
  checkpoints.begin(loaded.checkpoint);
  return toSource(loaded, optimizers);
}

async function fromDirectory(
  checkpoints: RunCheckpoints,
  root: string,
  name: string | undefined,
  optimizers: OptimizerSet,
): Promise<ResumeSource> {
  if (checkpoints.dir !== undefined && nodePath().resolve(checkpoints.dir) === root) {
    const own = await fromOwn(checkpoints, name, optimizers);
    if (own) return own;
    throw new CheckpointError(root, NO_CHECKPOINT, "Check the path, or start without `resume`.");
  }
  const store = await openDirectoryStore(root, { readOnly: true });
  try {
    return toSource(await store.load(name === undefined ? {} : { name }), optimizers);
  } finally {
    await store.close();
  }
}

function toSource({ checkpoint, files, skipped }: LoadedCheckpoint, optimizers: OptimizerSet): ResumeSource {
  const from = checkpoint.dir ?? checkpoint.name;
  return { from, read: fromFiles(files, from, optimizers), checkpoint, skipped };
}
