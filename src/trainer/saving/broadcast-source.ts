// In a process group, the main rank reads the checkpoint to resume from and broadcasts it: only that rank needs the disk.
import type { HostTensors } from "../../core/model.ts";
import type { SavedCheckpoint } from "../../core/saving.ts";
import type { Strategy } from "../../distributed/strategy.ts";
import { parseExact, stringifyExact } from "../../runs/exact-json.ts";
import type { ResumeSource } from "./restore.ts";

const TYPES = { Float32Array, Float64Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array };

/** A tensor whose data follows. */
interface BroadcastTensor {
  readonly file: string;
  readonly name: string;
  readonly type: keyof typeof TYPES;
  readonly shape: readonly number[];
  readonly dtype?: HostTensors[string]["dtype"];
}

type Description = Pick<ResumeSource, "from" | "checkpoint" | "skipped"> &
  Pick<ResumeSource["read"], "where" | "state" | "updates"> & { readonly tensors: readonly BroadcastTensor[] };

/** Calls `find` on the main rank and returns its result on every rank. */
export async function shareSource(
  strategy: Strategy,
  find: () => Promise<ResumeSource | undefined>,
): Promise<ResumeSource | undefined> {
  const source = strategy.rank === 0 ? await find() : undefined;
  const files = source ? filesOf(source) : {};
  const description = await shareJson(strategy, source ? describe(source, files) : null);
  if (description === null) return undefined;
  const given: Record<string, HostTensors> = {};
  for (const { file, name, type, shape, dtype } of description.tensors) {
    const length = shape.reduce((product, n) => product * n, 1);
    const data = new TYPES[type](length);
    // A copy: what was read may be a view of a file's bytes.
    if (source) data.set(files[file]![name]!.data);
    await strategy.broadcast(new Uint8Array(data.buffer));
    (given[file] ??= {})[name] = dtype === undefined ? { data, shape } : { data, shape, dtype };
  }
  if (source) return source;
  const { from, checkpoint, skipped, where, state, updates } = description;
  const tensorsIn = (file: string): HostTensors => given[file] ?? {};
  const read = { where, model: tensorsIn("model"), optimizer: tensorsIn("optimizer"), tensorsIn };
  return {
    from,
    skipped,
    ...(checkpoint && { checkpoint }),
    read: { ...read, ...(state && { state }), ...(updates && { updates }) },
  };
}

/** Returns the main rank's list on every rank. The others wait here for its last save. */
export const shareList = (strategy: Strategy, list: readonly SavedCheckpoint[]): Promise<readonly SavedCheckpoint[]> =>
  shareJson(strategy, list);

/** The tensors of the model, the optimizers and the hooks, by file. */
function filesOf({ read }: ResumeSource): Record<string, HostTensors> {
  const ofHooks = Object.values(read.state?.hooks ?? {}).flatMap(({ tensors }) => tensors?.file ?? []);
  const files: Record<string, HostTensors> = { model: read.model, optimizer: read.optimizer };
  for (const file of new Set(ofHooks)) files[file] ??= read.tensorsIn(file);
  return files;
}

function describe(
  { from, checkpoint, skipped, read }: ResumeSource,
  files: Readonly<Record<string, HostTensors>>,
): Description {
  const tensors = Object.entries(files).flatMap(([file, inside]) =>
    Object.entries(inside).map(([name, { data, shape, dtype }]): BroadcastTensor => {
      const type = data[Symbol.toStringTag] as keyof typeof TYPES;
      return { file, name, type, shape, ...(dtype !== undefined && { dtype }) };
    }),
  );
  const { where, state, updates } = read;
  const description = { from, skipped, where, tensors, ...(checkpoint && { checkpoint }) };
  return { ...description, ...(state && { state }), ...(updates && { updates }) };
}

/** Returns the main rank's value on every rank. */
async function shareJson<T>(strategy: Strategy, value: T): Promise<T> {
  const text = new TextEncoder().encode(stringifyExact(value));
  const length = Float64Array.of(text.length);
  await strategy.broadcast(new Uint8Array(length.buffer));
  const bytes = strategy.rank === 0 ? text : new Uint8Array(length[0]!);
  await strategy.broadcast(bytes);
  return parseExact(new TextDecoder().decode(bytes)) as T;
}
