// Going back to a checkpoint: the whole run (resume), or only what training has made of the model (rollback).
import type { LoadedCheckpoint } from "../../checkpoint/store.ts";
import type { Loading, ResumeReport } from "../../core/saving.ts";
import { type OptimizerSet, type Slot, loadOptimizer, rewindOptimizer } from "../optimizers.ts";
import { slotName } from "../programs/programs.ts";
import { fitModel, fromFiles, type ReadCheckpoint } from "./checkpoint-files.ts";
import { loadHookStates } from "./hook-states.ts";
import type { Place } from "./place.ts";
import { loadRun, type SavedState } from "./run-state.ts";
import type { Subject } from "./snapshot.ts";

/** What a source of a run's state holds. */
export interface Source extends Omit<Loading, "why"> {
  readonly read: ReadCheckpoint;
  readonly checkpoint?: LoadedCheckpoint["checkpoint"];
  readonly skipped: LoadedCheckpoint["skipped"];
}

/** Collects what came back and what did not. */
class Report {
  readonly restored: string[] = [];
  readonly missing: string[] = [];
  readonly orphaned: string[] = [];
  readonly changed: string[] = [];
}

/** Puts the whole run where the source says it stood. */
export async function restoreRun(subject: Subject, { read, from, checkpoint, skipped }: Source): Promise<ResumeReport> {
  const { run, hooks, feed, options } = subject;
  const report = new Report();
  restoreModel(subject, read, report);
  const { state } = read;
  if (state) {
    restoreOptimizers(subject, state, report);
    loadRun(run, state, options.accumulate);
    report.restored.push("counters", "metrics");
    noteChanges(subject, state, report);
    const { step: steps, state: device } = subject.session();
    device.version = state.paramsVersion;
    (steps.load(state.step) ? report.restored : report.missing).push("epoch averages");
    if (run.epochOpen) {
      feed.begin(run.clock.now.epoch - 1, options.seed);
      await feed.load(state.position.data);
    }
    report.restored.push("data position");
    const { step } = run.clock.now;
    const found = await loadHookStates(hooks.stateful(), state.hooks, step, read.tensorsIn);
    report.restored.push(...found.restored.map(hookName));
    report.missing.push(...found.missing.map(hookName));
    report.orphaned.push(...found.orphaned.map(hookName));
  } else report.missing.push("counters", "data position", ...hooks.stateful().map(({ name }) => hookName(name)));
  return {
    from,
    why: "resume",
    step: run.clock.now.step,
    ...(checkpoint && { checkpoint }),
    restored: report.restored,
    missing: report.missing,
    orphaned: report.orphaned,
    changed: report.changed,
    skipped,
  };
}

/** Goes back to a checkpoint's model and optimizers; step, data and hooks go on. Too often, and the run stops. */
export async function rollBack(
  subject: Subject,
  place: Place,
  { to, by, reason }: { to: string | undefined; by: string; reason: string | undefined },
  maxRollbacks: number,
): Promise<void> {
  const { run, hooks } = subject;
  const give = (why: string): void => {
    const entry = {
      who: by,
      event: "rollback",
      step: run.clock.now.step,
      epoch: run.clock.now.epoch - 1,
      what: "stop",
    };
    run.requests.stop ??= { reason: why, by, entry: run.audit.add({ ...entry, why }) };
  };
  const because = reason === undefined ? "" : ` (${reason})`;
  if (run.rollbacks >= maxRollbacks)
    return give(`${by} asks for another rollback after ${maxRollbacks}, which is \`maxRollbacks\`${because}`);
  const source = await subject.share(async () => {
    const name = to ?? place.list().at(-1)?.name;
    return name === undefined ? undefined : readFromPlace(place, name, subject.optimizers());
  });
  if (!source) return give(`${by} asks for a rollback, but this run has no checkpoint yet${because}`);
  run.loading = { from: source.from, why: "rollback" };
  await hooks.fire.beforeLoad!();
  const report = new Report();
  restoreModel(subject, source.read, report);
  for (const slot of subject.optimizers().slots) {
    const saved = source.read.state?.position.optimizers.find((each) => each.name === slot.name);
    if (saved) rewindOptimizer(slot, saved);
  }
  run.rollbacks++;
  const { restored, missing, orphaned } = report;
  const { checkpoint, skipped } = source;
  const step = checkpoint?.step ?? 0;
  run.loaded = {
    ...run.loading,
    step,
    ...(checkpoint && { checkpoint }),
    restored,
    missing,
    orphaned,
    changed: [],
    skipped,
  };
  await hooks.fire.afterLoad!();
  return undefined;
}

/** A checkpoint of this run by name, read and verified. */
async function readFromPlace(place: Place, name: string, optimizers: OptimizerSet): Promise<Source> {
  const { checkpoint, files, skipped } = (await place.load(name))!;
  return { from: name, read: fromFiles(files, checkpoint.dir ?? name, optimizers), checkpoint, skipped };
}

/** Parameters, buffers and the optimizers' tensors. A model of another shape is an error; optimizers may differ. */
function restoreModel(subject: Subject, read: ReadCheckpoint, report: Report): void {
  const { state } = subject.session();
  state.load(fitModel(read, state.own));
  report.restored.push("model");
  const { missing, orphaned } = state.loadOptimizers(read.optimizer);
  for (const slot of subject.optimizers().slots) slot.updates = read.updates?.[slot.name] ?? slot.updates;
  if (missing.length === 0) report.restored.push("optimizer");
  report.missing.push(...missing.map((name) => `optimizer ${name}`));
  report.orphaned.push(...orphaned.map((name) => `optimizer ${name}`));
}

function restoreOptimizers(subject: Subject, { position }: SavedState, report: Report): void {
  for (const slot of subject.optimizers().slots) {
    const saved = position.optimizers.find(({ name }) => name === slot.name);
    if (saved) loadOptimizer(slot, saved, (what) => report.changed.push(what));
    else report.missing.push(`optimizer ${slot.name}`);
    // After another kind of optimizer this one begins anew, and must count its updates from here.
    if (beginsAnew(slot, report)) slot.updates = 0;
  }
}

function beginsAnew({ optimizer, groups }: Slot, { missing }: Report): boolean {
  const names = groups.flatMap(({ params }) =>
    params.flatMap((param) => optimizer.slots.map((slot) => slotName(slot, param))),
  );
  return names.length > 0 && names.every((name) => missing.includes(`optimizer ${name}`));
}

function noteChanges({ options, session }: Subject, { options: then }: SavedState, report: Report): void {
  const now = { ...options, engine: session().engine.name };
  for (const key of ["accumulate", "seed", "engine"] as const)
    if (now[key] !== then[key]) report.changed.push(`${key}: ${now[key]} instead of ${then[key]}`);
}

const hookName = (name: string): string => `hook ${name}`;
