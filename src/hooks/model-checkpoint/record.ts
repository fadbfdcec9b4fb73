// modelCheckpoint's record of its checkpoints: which have a value of the metric, which is best, and which to keep.
import { retain, type KeepReason, type RetentionEntry } from "../../checkpoint/retention.ts";
import type { HookState } from "../../core/hook.ts";
import { monitorValue } from "../../core/names.ts";
import type { SavedCheckpoint } from "../../core/saving.ts";
import type { BestCheckpoint } from "./model-checkpoint.ts";
import type { CheckpointPlan } from "./options.ts";

/** Placeholders: a slash is not valid in a checkpoint's name. */
const CANDIDATE = "/candidate";
const CARRIED = "/carried";

interface Saved {
  readonly freshAt: number;
  readonly unread: boolean;
  readonly scored: readonly number[];
  readonly milestones: readonly number[];
  readonly best: BestCheckpoint | null;
  /** For readers of the best: which value is better. */
  readonly mode?: "min" | "max";
}

export class CheckpointRecord {
  readonly #plan: CheckpointPlan;
  /** The step at which the monitored metric got its newest value. */
  #freshAt = -1;
  /** An evaluation has produced a value that has not been compared at an epoch's end yet. */
  unread = false;
  #askedAt = -1;
  /** Steps of checkpoints whose value was measured at that step. The manifests of others repeat an earlier value. */
  #scored = new Set<number>();
  #milestones = new Set<number>();
  #best: BestCheckpoint | undefined;
  /** The best checkpoint, if it is in another directory than this run's. It still counts among the best. */
  #carried: BestCheckpoint | undefined;
  /** Released, but perhaps not removed yet. */
  readonly released = new Set<string>();

  constructor(plan: CheckpointPlan) {
    this.#plan = plan;
  }

  get best(): BestCheckpoint | undefined {
    return this.#best;
  }

  reset(): void {
    this.#freshAt = this.#askedAt = -1;
    this.unread = false;
    this.#scored.clear();
    this.#milestones.clear();
    this.#best = this.#carried = undefined;
    this.released.clear();
  }

  /** The monitored metric has a new value. */
  fresh(step: number): void {
    this.#freshAt = step;
    this.#score(step);
  }

  /** A save of this step was requested. */
  asked(step: number, isMilestone: boolean): void {
    this.#askedAt = step;
    if (isMilestone) this.#milestones.add(step);
    this.#score(step);
  }

  #score(step: number): void {
    if (this.#freshAt === step && this.#askedAt === step) this.#scored.add(step);
  }

  /** Would a checkpoint with this value be among the best? */
  isAmongBest(list: readonly SavedCheckpoint[], step: number, value: number): boolean {
    if (!Number.isFinite(value)) return false;
    const metrics = { [this.#plan.monitor!]: value };
    const candidate = { name: CANDIDATE, step, time: Infinity, metrics };
    // It would replace a checkpoint of the same step.
    const others = this.#own(list, step).filter((saved) => saved.step !== step);
    const { keep } = retain([...this.#entries(others, step), candidate], this.#plan.rules);
    return keep.get(CANDIDATE)?.some(isRank) ?? false;
  }

  /** A checkpoint is durable: returns the names of those to remove now. */
  saved(saved: SavedCheckpoint, list: readonly SavedCheckpoint[], step: number): readonly string[] {
    if (saved.step === this.#freshAt) this.#scored.add(saved.step);
    this.released.delete(saved.name);
    const own = this.#own(list, step);
    this.#best = this.#bestOf(own);
    const kept = this.#kept(own, step);
    const goes = own.map(({ name }) => name).filter((name) => !kept.has(name));
    for (const name of goes) this.released.add(name);
    const steps = new Set(own.filter(({ name }) => kept.has(name)).map((each) => each.step));
    for (const known of [this.#scored, this.#milestones])
      for (const each of known) if (each <= saved.step && !steps.has(each)) known.delete(each);
    return goes;
  }

  /** After a resume, from a checkpoint of this directory or another. */
  resumed(from: SavedCheckpoint | undefined, list: readonly SavedCheckpoint[], step: number): void {
    // The loaded state does not know checkpoints of steps that this run will repeat.
    const own = this.#own(list, step);
    for (const ahead of own) if (ahead.step > step) this.#scored.add(ahead.step);
    if (from && this.#freshAt === from.step) this.#scored.add(from.step);
    const isHere = from !== undefined && list.some(({ name }) => name === from.name);
    this.#carried = undefined;
    if (!isHere) this.#carried = this.#better(this.#best, from && this.#asBest(from));
    this.#best = this.#bestOf(own);
  }

  /** After a rollback the parameters are no longer those that were evaluated. */
  rolledBack(step: number): void {
    this.#freshAt = -1;
    this.unread = false;
    this.#scored.delete(step);
  }

  state(): HookState {
    const { unread } = this;
    const [scored, milestones] = [[...this.#scored], [...this.#milestones]];
    const { mode } = this.#plan.rules;
    const best = this.#best ?? null;
    const saved: Saved = { freshAt: this.#freshAt, unread, scored, milestones, best, ...(mode && { mode }) };
    return { json: saved as unknown as NonNullable<HookState["json"]> };
  }

  load({ json }: HookState): void {
    const { freshAt, unread, scored, milestones, best } = json as unknown as Saved;
    this.reset();
    this.#freshAt = freshAt;
    this.unread = unread;
    this.#scored = new Set(scored);
    this.#milestones = new Set(milestones);
    // Ignore the best by another metric.
    this.#best = best?.metric === this.#plan.monitor ? (best ?? undefined) : undefined;
  }

  /** This hook's checkpoints, oldest first. Those past a rollback count as old, whatever their step. */
  #own(list: readonly SavedCheckpoint[], now: number): SavedCheckpoint[] {
    return list
      .filter(({ name, by }) => by?.includes(this.#plan.name) && !this.released.has(name))
      .sort((a, b) => ageOf(a, now) - ageOf(b, now) || (a.serial ?? 0) - (b.serial ?? 0) || a.time - b.time);
  }

  /** Entries for retention, with a value only where it was measured at the checkpoint's step. */
  #entries(own: readonly SavedCheckpoint[], now: number): RetentionEntry[] {
    const entries = own.map((saved): RetentionEntry => {
      const value = this.#valueOf(saved, own);
      const metrics: Record<string, number> = value === undefined ? {} : { [this.#plan.monitor!]: value };
      return { name: saved.name, step: ageOf(saved, now), time: saved.time, metrics };
    });
    if (!this.#carried) return entries;
    const { step, metric, value } = this.#carried;
    return [{ name: CARRIED, step, time: 0, metrics: { [metric]: value } }, ...entries];
  }

  #kept(own: readonly SavedCheckpoint[], now: number): ReadonlySet<string> {
    const { rules, monitor } = this.#plan;
    const entries = this.#entries(own, now);
    const { keep } = retain(entries, rules);
    // A checkpoint without a value is not kept for being among the best.
    const isKept = ({ name, metrics }: RetentionEntry): boolean =>
      keep.get(name)?.some((why) => !isRank(why) || monitor === undefined || Object.hasOwn(metrics, monitor)) ?? false;
    const kept = new Set(entries.filter(isKept).map(({ name }) => name));
    for (const saved of own) if (this.#isMilestone(saved) && isLastOfStep(saved, own)) kept.add(saved.name);
    const newest = own.at(-1);
    const endsRun = newest?.reason === "final" || newest?.reason === "emergency";
    if (newest && (endsRun || own.every(({ name }) => !kept.has(name)))) kept.add(newest.name);
    return kept;
  }

  #isMilestone({ step, reason }: SavedCheckpoint): boolean {
    return this.#milestones.has(step) || reason === "milestone";
  }

  /** The value, if it is finite and measured at this step; of two checkpoints of a step only the later has it. */
  #valueOf(saved: SavedCheckpoint, own: readonly SavedCheckpoint[]): number | undefined {
    const { monitor } = this.#plan;
    if (monitor === undefined || !this.#scored.has(saved.step)) return undefined;
    if (!isLastOfStep(saved, own)) return undefined;
    const value = monitorValue(saved.metrics, monitor);
    return value !== undefined && Number.isFinite(value) ? value : undefined;
  }

  #bestOf(own: readonly SavedCheckpoint[]): BestCheckpoint | undefined {
    let best = this.#carried;
    for (const saved of own) best = this.#better(best, this.#asBest(saved, own));
    return best;
  }

  #asBest(saved: SavedCheckpoint, own: readonly SavedCheckpoint[] = [saved]): BestCheckpoint | undefined {
    const value = this.#valueOf(saved, own);
    if (value === undefined) return undefined;
    const { name, dir, step } = saved;
    return { name, ...(dir !== undefined && { dir }), metric: this.#plan.monitor!, value, step };
  }

  /** The better one, the first of equals. */
  #better(a: BestCheckpoint | undefined, b: BestCheckpoint | undefined): BestCheckpoint | undefined {
    if (!a || !b) return a ?? b;
    return (this.#plan.rules.mode === "max" ? b.value > a.value : b.value < a.value) ? b : a;
  }
}

const isRank = (reason: KeepReason): boolean => reason === "best" || reason === "limit";
const ageOf = ({ step }: SavedCheckpoint, now: number): number => (step > now ? -1 : step);
/** A step and the epoch that ends with it can both be saved, with the same parameters: the later checkpoint represents both. */
const isLastOfStep = (saved: SavedCheckpoint, own: readonly SavedCheckpoint[]): boolean =>
  own.findLast(({ step }) => step === saved.step) === saved;
