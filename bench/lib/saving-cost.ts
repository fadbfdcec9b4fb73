// What a save costs training, as waiting for it and beside it.
import { modelCheckpoint, type TrainerOptions } from "hookline";
import { adamw, sgd } from "hookline/optim";
import type { Report } from "./report.ts";
import { plainSaves, raceSaving, type Race, type Racer, type Save, type Step, type Trace } from "./saving-race.ts";
import { median, midmean } from "./stats.ts";

/**
 * The trainer's usual step is known from before and after the save, so that a machine that gets slower or faster in the
 * meantime does not count; the turn's first step finds the caches cold.
 */
const TURN = 20;
const FIRST = 1;
const SAVE_AT = 7;
/** The least number of steps after the save show the usual step, however slow the disk. */
const USUAL = 5;
/**
 * The shorter the steps, the less of what else happens on a machine falls into them, and the more saves can be measured;
 * with still smaller batches they would be hardly more than passes over memory, of which a save takes its share.
 */
const BATCH_SIZE = 8;
/** The first turns compile, warm up, and touch the snapshot's memory for the first time. */
const WARM_UP = 2;

const length = ({ begin, end }: Step): number => end - begin;
const cpuOf = ({ cpu }: Step): number => cpu;

/** Where in a turn the steps end that a save may have slowed down: after the one in which the thread came to rest. */
function reach(steps: readonly Step[], { idle }: Pick<Save, "idle">): number {
  const after = steps.findIndex(({ begin }) => begin > idle);
  return after < 0 ? TURN - USUAL : Math.min(after + 1, TURN - USUAL);
}

interface Turn {
  readonly steps: readonly Step[];
  readonly save?: Save;
}

const reachOf = (turns: readonly Turn[]): number => median(turns.map(({ steps, save }) => reach(steps, save!)));

const turnsOf = ({ steps, saves }: Trace): Turn[] =>
  Array.from({ length: Math.floor(steps.length / TURN) }, (_, i) => {
    const mine = steps.slice(i * TURN, (i + 1) * TURN);
    return saves[i] ? { steps: mine, save: saves[i] } : { steps: mine };
  });

/**
 * Milliseconds by which the steps of a turn from the save's own on are longer than its usual ones. Its own usual ones:
 * where buffers happen to lie moves the steps of one trainer beside those of another by more than a save costs.
 */
function extrasOf({ steps }: Turn, to: number, measure = length): number[] {
  const usual = median([...steps.slice(FIRST, SAVE_AT - 1), ...steps.slice(to)].map(measure));
  return steps.slice(SAVE_AT - 1, to).map((step) => measure(step) - usual);
}

/** What a save costs: the sum of what it adds to each of the steps, of which other work on the machine disturbs some. */
function costOf(turns: readonly Turn[], to: number, measure = length): number {
  const extras = turns.map((turn) => extrasOf(turn, to, measure));
  return extras[0]!.reduce((sum, _, i) => sum + midmean(extras.map((steps) => steps[i]!)), 0);
}

/** How far the cost may be off, as a standard error: by how much it moves when one turn or another is left out. */
function errorOf(turns: readonly Turn[], to: number): number {
  const without = turns.map((_, i) => costOf(turns.toSpliced(i, 1), to));
  const mean = without.reduce((sum, cost) => sum + cost, 0) / without.length;
  const squares = without.reduce((sum, cost) => sum + (cost - mean) ** 2, 0);
  return Math.sqrt(squares * (1 - 1 / without.length));
}

interface Row {
  readonly label: string;
  readonly stepsPerSecond: number;
  /** What training pays for a save: waiting, copying, and steps that are slower meanwhile. */
  readonly cost?: number;
  readonly error?: number;
  /** Of it, work of the training thread: the rest is waiting, for the disk or for a processor. */
  readonly cpu?: number;
  readonly snapshot?: number;
  readonly write?: number;
  readonly first?: number;
  readonly endWait?: number;
  /** Saves that were not durable at the next one, which had to wait. */
  readonly late?: number;
}

const stepsPerSecond = (steps: readonly Step[]): number =>
  (1000 * steps.length) / steps.reduce((sum, step) => sum + length(step), 0);

function rowOf(label: string, trace: Trace): Row & { readonly cost: number } {
  const all = turnsOf(trace);
  const turns = all.slice(WARM_UP);
  const to = reachOf(turns);
  const saves = turns.map(({ save }) => save!);
  return {
    label,
    cost: costOf(turns, to),
    error: errorOf(turns, to),
    cpu: costOf(turns, to, cpuOf),
    snapshot: median(saves.map(({ asked, handed }) => handed - asked)),
    write: median(saves.map(({ handed, durable }) => durable - handed)),
    first: costOf(all.slice(0, 1), reach(all[0]!.steps, all[0]!.save!)),
    endWait: trace.endWait,
    late: turns.filter(({ steps, save }) => !(save!.durable < steps.at(-1)!.end)).length,
    stepsPerSecond: stepsPerSecond(turns.flatMap(({ steps }) => steps)),
  };
}

/** The same steps without a save: how far from 0 the measurement is. */
function controlOf(label: string, trace: Trace): Row {
  const turns = turnsOf(trace).slice(WARM_UP);
  const to = SAVE_AT + USUAL;
  const steps = turns.flatMap(({ steps }) => steps);
  return { label, cost: costOf(turns, to), error: errorOf(turns, to), stepsPerSecond: stepsPerSecond(steps) };
}

interface Contest {
  readonly label: string;
  readonly optimizer: TrainerOptions["optimizer"];
  readonly rounds: number;
  readonly pairs: Readonly<Record<string, NonNullable<Racer["hook"]>>>;
}

const withModelCheckpoint = (at: readonly number[]) => modelCheckpoint({ every: { at: [...at] }, atEnd: false });

const SGD: Contest = {
  label: "sgd, 128 MiB",
  optimizer: sgd({ lr: 1e-3 }),
  rounds: 30,
  pairs: { requestSave: plainSaves, modelCheckpoint: withModelCheckpoint },
};

const ADAMW: Contest = {
  label: "adamw, 384 MiB",
  optimizer: adamw({ lr: 1e-3 }),
  rounds: 12,
  pairs: { requestSave: plainSaves },
};

interface Pair {
  readonly sync: Row & { readonly cost: number };
  readonly beside: Row & { readonly cost: number };
}

interface Outcome {
  readonly label: string;
  readonly control: Row;
  readonly pairs: readonly Pair[];
}

/** One that does not save, and for each way to ask for saves one that waits for them and one that does not. */
async function contest({ label, rounds, pairs, ...rest }: Contest): Promise<Outcome> {
  const racers = Object.values(pairs).flatMap((hook): Racer[] => [
    { save: "sync", hook },
    { save: "async", hook },
  ]);
  const race: Race = { ...rest, batchSize: BATCH_SIZE, turn: TURN, saveAt: [SAVE_AT], turns: WARM_UP + rounds };
  const [none, ...traces] = await raceSaving([{}, ...racers], race);
  return {
    label,
    control: controlOf(`${label}: no saving`, none!),
    pairs: Object.keys(pairs).map((how, i) => ({
      sync: rowOf(`${label}: ${how}, sync`, traces[2 * i]!),
      beside: rowOf(`${label}: ${how}, async`, traces[2 * i + 1]!),
    })),
  };
}

/** A save in every second step: the next one has to wait for the one before. */
async function pressed(): Promise<Row> {
  const saveAt = Array.from({ length: TURN / 2 }, (_, i) => 2 * i + 1);
  const race: Race = { optimizer: sgd({ lr: 1e-3 }), batchSize: BATCH_SIZE, turn: TURN, saveAt, turns: 6 };
  const [none, trace] = await raceSaving([{}, { hook: plainSaves }], race);
  const usual = median(none!.steps.slice(TURN).map(length));
  const steps = trace!.steps.slice(TURN);
  const saves = trace!.saves.slice(saveAt.length);
  const total = steps.reduce((sum, step) => sum + length(step), 0);
  return {
    label: "sgd, 128 MiB: requestSave every other step, async",
    stepsPerSecond: stepsPerSecond(steps),
    cost: (total - usual * steps.length) / saves.length,
    write: median(saves.map(({ handed, durable }) => durable - handed)),
    endWait: trace!.endWait,
    late: saves.filter(({ durable }, i) => i + 1 < saves.length && durable > saves[i + 1]!.asked).length,
  };
}

export async function savingCost(): Promise<Report> {
  const outcomes = [await contest(SGD), await contest(ADAMW)];
  const rows = outcomes.flatMap(({ control, pairs }) => [
    control,
    ...pairs.flatMap(({ sync, beside }) => [sync, beside]),
  ]);
  rows.push(await pressed());
  return {
    name: "checkpoint",
    title: `checkpoint: ms that training pays for a save, every ${TURN} steps, and their standard error`,
    columns: ["cost", "±", "CPU", "snapshot", "write", "first", "end waits", "late", "steps/s"],
    rows: rows.map(({ label, cost, error, cpu, snapshot, write, first, endWait, late, stepsPerSecond }) => [
      label,
      cost,
      error,
      cpu,
      snapshot,
      write,
      first,
      endWait,
      late,
      stepsPerSecond,
    ]),
    aims: outcomes.map(({ label, pairs }) => ({
      what: `${label}: saves beside training, of those that are waited for`,
      measured: (100 * sumOf(pairs, "beside")) / sumOf(pairs, "sync"),
      unit: "%",
      limit: 5,
      must: true,
    })),
  };
}

/** All ways to ask for a save together: each alone is hard to tell from what else happens on a machine. */
const sumOf = (pairs: readonly Pair[], side: keyof Pair): number =>
  pairs.reduce((sum, pair) => sum + pair[side].cost, 0);
