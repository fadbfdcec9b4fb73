// A snapshot of a run: its tensors, held on the engine until they are written, and its state as plain data. Also the
// states of hooks, which are taken with it and given back on resume.
import { sharedBytes } from "../../checkpoint/store.ts";
import type { FileDType, FileTensor, FileTensors } from "../../checkpoint/formats/tensor.ts";
import { fromHostArrays } from "../../checkpoint/formats/tensor-values.ts";
import { type HostArray, sizeOf, toHostArray } from "../../core/arrays.ts";
import { ContextError, HookError } from "../../core/errors.ts";
import type { GivenState, Hook } from "../../core/hook.ts";
import type { HostTensors } from "../../core/model.ts";
import type { SaveTensors } from "../../core/saving.ts";
import { didYouMean } from "../../core/names.ts";
import { type Buffer, type Engine, readBuffer } from "../../engines/engine.ts";
import type { Buffers } from "../device-state.ts";
import { TensorHandle } from "../inspection/hook-tensors.ts";
import type { ClockState } from "../../core/loop/counters.ts";
import type { Json } from "../../core/options.ts";
import type { HookRegistry } from "../../core/registry/registry.ts";
import { stringifyExact } from "../../runs/exact-json.ts";
import type { HistoryEntry, Run } from "../../core/loop/run.ts";
import type { LoaderSet } from "../../data/loader-set.ts";
import type { Session } from "../session.ts";
import { type OptimizerSet, optimizerState, type OptimizerState } from "../optimizers.ts";
import type { StepState } from "../step.ts";
import type { DescribedModel } from "./model-description.ts";
import type { ResumeSource } from "./restore.ts";

export interface Snapshot {
  readonly step: number;
  readonly epoch: number;
  readonly metrics: Record<string, number>;
  /** By file name without its ending. */
  readonly tensors: Record<string, SnapshotTensors>;
  readonly position: Position;
  /** What the state's file will hold: already text, since hooks may change what they returned. */
  readonly state: Uint8Array;
  free(): void;
}

/** After a failure, `failedAt` is where the run stood when its state was last consistent. */
export async function takeSnapshot(training: TrainingState, failedAt?: Position): Promise<Snapshot> {
  const { run, hooks, options } = training;
  const { engine, state, step: steps } = training.session();
  const position = failedAt ?? positionOf(training);
  const { step, epoch } = position.clock.now;
  const tensors: Record<string, SnapshotTensors> = {};
  const fileOf = (file: string): SnapshotTensors => (tensors[file] ??= new SnapshotTensors(engine));
  const free = (): void => Object.values(tensors).forEach((held) => held.free());
  try {
    fileOf("model").hold(state.params).hold(state.state);
    fileOf("optimizer").hold(state.opt);
    await steps.readings.settle();
    const { skipped, evaluatedAt, evalPending: evalOwed, rollbacks } = run;
    // After a failure the readings may be those of the step that failed.
    const hasReadings = step > 0 && !run.skipped && !failedAt;
    const hookStates = await takeHookStates(hooks.stateful(), step, fileOf);
    // A file of averaged weights is a whole model: buffers that the hook did not give are the model's own.
    for (const file of Object.keys(tensors)) if (file.startsWith("model-")) fileOf(file).holdMissing(state.state);
    const saved: SavedState = {
      schema: STATE_SCHEMA,
      position,
      options: { ...options, engine: engine.name },
      step: await steps.state(),
      loss: hasReadings ? (run.stepLoss ?? steps.readings.loss) : null,
      gradNorm: hasReadings ? (run.stepNorm ?? (steps.plan.gradNorm ? steps.readings.gradNorm : null)) : null,
      paramsVersion: state.version,
      skipped,
      evaluatedAt,
      evalOwed,
      rollbacks,
      metrics: run.log.metrics,
      unlogged: run.log.unlogged,
      history: run.history,
      hooksSwitched: hooks.switched(),
      hooks: hookStates,
    };
    return {
      step,
      epoch: Math.max(0, epoch - 1),
      metrics: { ...run.metrics },
      tensors,
      position,
      state: new TextEncoder().encode(stringifyExact(saved)),
      free,
    };
  } catch (error) {
    free();
    throw error;
  }
}

/** The file of all hooks that do not ask for one of their own. */
const COMMON_FILE = "hooks";

/** Asks every hook for its state. Tensors go into the files that `fileOf` returns. */
async function takeHookStates(
  hooks: readonly Hook[],
  step: number,
  fileOf: (file: string) => SnapshotTensors,
): Promise<Record<string, SavedHook>> {
  const saved: Record<string, SavedHook> = {};
  for (const hook of hooks) {
    let given: GivenState | undefined;
    try {
      given = await hook.state?.();
    } catch (error) {
      throw new HookError(hook.name, "state", step, error);
    }
    if (!given) continue;
    const { json, tensors, file = COMMON_FILE } = given;
    const prefix = file === COMMON_FILE ? `${hook.name}/` : "";
    saved[hook.name] = { version: hook.version ?? 1, ...(json !== undefined && { json }) };
    if (!tensors) continue;
    const held = fileOf(file);
    if (tensors instanceof TensorHandle) {
      held.hold(Object.fromEntries(Object.entries(tensors.buffers).map(([name, buffer]) => [prefix + name, buffer])));
    } else {
      for (const [name, array] of Object.entries(tensors as HostTensors)) held.set(prefix + name, array);
    }
    const names = tensors instanceof TensorHandle ? tensors.names : Object.keys(tensors);
    saved[hook.name] = { ...saved[hook.name]!, tensors: { file, prefix, names } };
  }
  return saved;
}

/** Gives every hook its state back, by name, and returns the names of those that have none, and of states without a hook. */
export async function loadHookStates(
  hooks: readonly Hook[],
  saved: Readonly<Record<string, SavedHook>>,
  step: number,
  tensorsIn: (file: string) => HostTensors,
): Promise<Record<"restored" | "missing" | "orphaned", readonly string[]>> {
  const restored: string[] = [];
  const missing: string[] = [];
  for (const hook of hooks) {
    if (!hook.load) continue;
    const found = Object.hasOwn(saved, hook.name) ? saved[hook.name]! : undefined;
    if (!found) {
      missing.push(hook.name);
      continue;
    }
    const { json, tensors, version } = found;
    try {
      const file = tensors && tensorsIn(tensors.file);
      const own = tensors?.names.map((name) => [name, file![tensors.prefix + name]!] as const);
      await hook.load(
        { ...(json !== undefined && { json }), ...(own && { tensors: Object.fromEntries(own) }) },
        version,
      );
    } catch (error) {
      throw new HookError(hook.name, "load", step, error);
    }
    restored.push(hook.name);
  }
  const known = new Set(hooks.filter((hook) => hook.load).map(({ name }) => name));
  return { restored, missing, orphaned: Object.keys(saved).filter((name) => !known.has(name)) };
}

/** Types that files keep as they are on the engine; others are converted. All have four bytes. */
const FILE_TYPES: Readonly<Record<string, FileDType>> = { float32: "F32", int32: "I32", uint32: "U32" };
const WIDTH = 4;

type Held = { readonly buffer: Buffer } | { readonly array: HostArray };

/** The buffer, if a file keeps its bytes as they are. */
const lendable = (held: Held): Buffer | undefined =>
  "buffer" in held && held.buffer.dtype in FILE_TYPES ? held.buffer : undefined;

const fileTensor = ({ dtype, shape }: Buffer, bytes: Uint8Array): FileTensor => ({
  dtype: FILE_TYPES[dtype]!,
  shape: [...shape],
  bytes,
});

class SnapshotTensors implements SaveTensors {
  readonly #engine: Engine;
  readonly #held = new Map<string, Held>();
  /** Being read in place by the store: hooks can no longer change them. */
  readonly #lent: Buffer[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Holds these buffers as they are now: later steps make new ones. */
  hold(buffers: Buffers): this {
    for (const name in buffers) this.#put(name, { buffer: this.#engine.copy(buffers[name]!) });
    return this;
  }

  /** The same for names that are not held yet. */
  holdMissing(buffers: Buffers): void {
    this.hold(Object.fromEntries(Object.entries(buffers).filter(([name]) => !this.#held.has(name))));
  }

  get names(): readonly string[] {
    return [...this.#held.keys()];
  }

  async get(name: string): Promise<HostArray> {
    const held = this.#held.get(name);
    if (!held) throw new ContextError(`There is no tensor \`${name}\` to be saved.${didYouMean(name, this.names)}`);
    return "buffer" in held ? readBuffer(this.#engine, held.buffer) : structuredClone(held.array);
  }

  set(name: string, array: HostArray): void {
    const { data, ...given } = toHostArray(array, `The tensor \`${name}\` to be saved`);
    // A copy: a hook may change the array before it is written.
    this.#put(name, { array: { ...given, data: data.slice() } });
  }

  delete(name: string): void {
    this.#put(name, undefined);
  }

  /** Bytes that are still on the engine. */
  get bytes(): number {
    const buffers = [...this.#held.values()].flatMap((held) => ("buffer" in held ? [held.buffer] : []));
    return buffers.reduce((sum, { shape }) => sum + sizeOf(shape) * WIDTH, 0);
  }

  /** Buffers whose bytes a file keeps as they are. */
  get lendable(): readonly Buffer[] {
    return [...this.#held.values()].flatMap((held) => lendable(held) ?? []);
  }

  /** All tensors as a file keeps them. Lendable ones are not copied: the function returns where they are now. */
  async toLend(bytesOf: (buffer: Buffer) => Uint8Array): Promise<() => FileTensors> {
    const tensors: [string, () => FileTensor][] = [];
    for (const [name, held] of this.#held) {
      const buffer = lendable(held);
      if (buffer) {
        this.#lent.push(buffer);
        this.#held.delete(name);
        tensors.push([name, () => fileTensor(buffer, bytesOf(buffer))]);
      } else {
        const array = "buffer" in held ? await readBuffer(this.#engine, held.buffer) : held.array;
        const tensor = fromHostArrays({ [name]: array })[name]!;
        this.delete(name);
        tensors.push([name, () => tensor]);
      }
    }
    return () => Object.fromEntries(tensors.map(([name, tensor]) => [name, tensor()]));
  }

  /** All tensors as a file keeps them, copied into `memory`; the engine's buffers are freed. */
  async toWrite(memory: SnapshotMemory): Promise<FileTensors> {
    const tensors: FileTensors = {};
    for (const [name, held] of this.#held) {
      const buffer = lendable(held);
      tensors[name] = buffer
        ? fileTensor(buffer, await this.#copy(buffer, memory))
        : fromHostArrays({ [name]: "buffer" in held ? await readBuffer(this.#engine, held.buffer) : held.array })[
            name
          ]!;
    }
    this.free();
    return tensors;
  }

  async #copy(buffer: Buffer, memory: SnapshotMemory): Promise<Uint8Array> {
    const bytes = memory.take(sizeOf(buffer.shape) * WIDTH);
    if (this.#engine.readInto?.(buffer, bytes)) return bytes;
    const data = await this.#engine.read(buffer);
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    return bytes;
  }

  free(): void {
    for (const name of this.names) this.delete(name);
    for (const buffer of this.#lent.splice(0)) this.#engine.free(buffer);
  }

  #put(name: string, next: Held | undefined): void {
    const before = this.#held.get(name);
    if (before && "buffer" in before) this.#engine.free(before.buffer);
    if (next) this.#held.set(name, next);
    else this.#held.delete(name);
  }
}

/** Tensors begin at multiples of this, so that any number type can be read in place. */
const ALIGN = 8;

/** Memory that is reused from save to save: allocating costs several times as much as copying. */
export class SnapshotMemory {
  #block: Uint8Array = new Uint8Array(0);
  #used = 0;

  /** Begins a snapshot of this size. Earlier ones are overwritten. */
  begin(bytes: number, tensors: number): void {
    const needed = bytes + tensors * ALIGN;
    if (this.#block.byteLength < needed) this.#block = sharedBytes(needed);
    this.#used = 0;
  }

  take(bytes: number): Uint8Array {
    const taken = this.#block.subarray(this.#used, this.#used + bytes);
    this.#used += Math.ceil(bytes / ALIGN) * ALIGN;
    return taken;
  }
}

// The state of a run as plain data: what state.json keeps, taken from a run and given back to one.

/** What saving needs of a trainer. */
export interface TrainingState {
  readonly run: Run;
  readonly hooks: HookRegistry;
  readonly feed: LoaderSet;
  readonly options: { readonly accumulate: number; readonly seed: number };
  /** In a process group the main rank calls `find`, and every rank gets what it found. */
  share(find: () => Promise<ResumeSource | undefined>): Promise<ResumeSource | undefined>;
  session(): Session;
  optimizers(): OptimizerSet;
  /** What model.json describes, and where it goes. */
  model(): Pick<DescribedModel, "problem" | "initial"> & { readonly runDir: string | undefined };
}

/** Raised when older versions would misread what is written. */
export const STATE_SCHEMA = 1;

/** The content of state.json. */
export interface SavedState {
  readonly schema: number;
  readonly position: Position;
  /** Options at the time, to report what has changed since. */
  readonly options: { readonly accumulate: number; readonly seed: number; readonly engine: string };
  readonly step: StepState;
  /** Of the last step: the end of an epoch that follows still shows them. */
  readonly loss: number | null;
  readonly gradNorm: number | null;
  readonly skipped: boolean;
  readonly evaluatedAt: number;
  /** Missing in checkpoints of older versions. */
  readonly evalOwed?: boolean;
  readonly paramsVersion: number;
  readonly rollbacks: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly unlogged: Readonly<Record<string, number>>;
  readonly history: readonly HistoryEntry[];
  /** Hooks that were switched on or off during the run. Missing in checkpoints of older versions. */
  readonly hooksSwitched?: Readonly<Record<string, boolean>>;
  readonly hooks: Readonly<Record<string, SavedHook>>;
}

/** What a step changes: captured between steps, so that a run that fails in the middle of one can replay it. */
export interface Position {
  readonly clock: ClockState;
  readonly epochOpen: boolean;
  readonly epochEntered: boolean;
  readonly batchIdx: number;
  readonly accumulate: number;
  readonly data: Json;
  readonly optimizers: readonly OptimizerState[];
}

/** The state of a hook: plain data here, tensors in a file. */
export interface SavedHook {
  readonly version: number;
  readonly json?: Json;
  /** The file of its tensors, where each is named `prefix` + name. */
  readonly tensors?: { readonly file: string; readonly prefix: string; readonly names: readonly string[] };
}

export function positionOf({ run, feed, optimizers }: TrainingState): Position {
  const { epochOpen, epochEntered, batchIdx, accumulate } = run;
  return {
    clock: run.clock.state(),
    epochOpen,
    epochEntered,
    batchIdx,
    accumulate,
    data: feed.state(),
    optimizers: optimizers().slots.map(optimizerState),
  };
}

/** Sets the run to the saved state. If `accumulate` was changed since, the new value is kept. */
export function loadRun(run: Run, saved: SavedState, accumulateNow: number): void {
  const {
    position,
    loss,
    skipped,
    evaluatedAt,
    evalOwed: evalPending = false,
    rollbacks,
    metrics,
    unlogged,
    history,
  } = saved;
  const { clock, epochOpen, epochEntered, batchIdx, accumulate } = position;
  run.clock.load(clock);
  Object.assign(run, { epochOpen, epochEntered, batchIdx, skipped, evaluatedAt, evalPending, rollbacks });
  run.log.load(metrics, unlogged);
  run.stepLoss = loss ?? undefined;
  run.stepNorm = saved.gradNorm ?? undefined;
  run.accumulate = accumulateNow === saved.options.accumulate ? accumulate : accumulateNow;
  run.history.splice(0, run.history.length, ...history);
  for (const [name, enabled] of Object.entries(saved.hooksSwitched ?? {})) run.hooks.setEnabled(name, enabled);
}
