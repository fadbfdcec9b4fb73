// What a run goes on from, given by the main process to all: only that one needs to reach the disk.
import type { HostTensors } from "../../core/model.ts";
import type { SavedCheckpoint } from "../../core/saving.ts";
import type { Strategy } from "../../distributed/strategy.ts";
import { parseExact, stringifyExact } from "../../runs/exact-json.ts";
import type { Source } from "./restore.ts";

const TYPES = { Float32Array, Float64Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array };

/** A tensor among the bytes. */
interface Place {
  readonly file: string;
  readonly name: string;
  readonly type: keyof typeof TYPES;
  readonly shape: readonly number[];
  readonly dtype?: HostTensors[string]["dtype"];
}

type Told = Pick<Source, "from" | "checkpoint" | "skipped"> &
  Pick<Source["read"], "where" | "state" | "updates"> & { readonly tensors: readonly Place[] };

/** The main process finds it, and every process has it; undefined when there is none. */
export async function shareSource(
  strategy: Strategy,
  find: () => Promise<Source | undefined>,
): Promise<Source | undefined> {
  const source = strategy.rank === 0 ? await find() : undefined;
  const files = source ? filesOf(source) : {};
  const told = await shareJson(strategy, source ? toTell(source, files) : null);
  if (told === null) return undefined;
  const given: Record<string, HostTensors> = {};
  for (const { file, name, type, shape, dtype } of told.tensors) {
    const length = shape.reduce((product, n) => product * n, 1);
    const data = new TYPES[type](length);
    // A copy: what was read may lie in the middle of a file's bytes.
    if (source) data.set(files[file]![name]!.data);
    await strategy.broadcast(new Uint8Array(data.buffer));
    (given[file] ??= {})[name] = dtype === undefined ? { data, shape } : { data, shape, dtype };
  }
  if (source) return source;
  const { from, checkpoint, skipped, where, state, updates } = told;
  const tensorsIn = (file: string): HostTensors => given[file] ?? {};
  const read = { where, model: tensorsIn("model"), optimizer: tensorsIn("optimizer"), tensorsIn };
  return {
    from,
    skipped,
    ...(checkpoint && { checkpoint }),
    read: { ...read, ...(state && { state }), ...(updates && { updates }) },
  };
}

/** The main process's checkpoints, for the others to know of. Also where they wait for its last save. */
export const shareList = (strategy: Strategy, list: readonly SavedCheckpoint[]): Promise<readonly SavedCheckpoint[]> =>
  shareJson(strategy, list);

/** Everything that hooks may ask for besides the model and the optimizers. */
function filesOf({ read }: Source): Record<string, HostTensors> {
  const ofHooks = Object.values(read.state?.hooks ?? {}).flatMap(({ tensors }) => tensors?.file ?? []);
  const files: Record<string, HostTensors> = { model: read.model, optimizer: read.optimizer };
  for (const file of new Set(ofHooks)) files[file] ??= read.tensorsIn(file);
  return files;
}

function toTell({ from, checkpoint, skipped, read }: Source, files: Readonly<Record<string, HostTensors>>): Told {
  const tensors = Object.entries(files).flatMap(([file, inside]) =>
    Object.entries(inside).map(([name, { data, shape, dtype }]): Place => {
      const type = data[Symbol.toStringTag] as keyof typeof TYPES;
      return { file, name, type, shape, ...(dtype !== undefined && { dtype }) };
    }),
  );
  const { where, state, updates } = read;
  const told = { from, skipped, where, tensors, ...(checkpoint && { checkpoint }) };
  return { ...told, ...(state && { state }), ...(updates && { updates }) };
}

/** The main process's value, on all. */
async function shareJson<T>(strategy: Strategy, value: T): Promise<T> {
  const text = new TextEncoder().encode(stringifyExact(value));
  const length = Float64Array.of(text.length);
  await strategy.broadcast(new Uint8Array(length.buffer));
  const bytes = strategy.rank === 0 ? text : new Uint8Array(length[0]!);
  await strategy.broadcast(bytes);
  return parseExact(new TextDecoder().decode(bytes)) as T;
}
