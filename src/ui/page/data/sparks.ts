// The small curves of the list. They need the end of a log, so only rows on the screen ask for theirs, together.
import { batch, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { RunRow, Spark, SparksAnswer } from "../../wire.ts";
import { get } from "./api.ts";

interface Known {
  /** Changes when the run may have another curve. */
  key: string;
  readonly spark: Signal<Spark | null>;
}

const known = new Map<string, Known>();
const wanted = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** While one scrolls, rows appear one by one. */
const GATHER_MS = 50;
const MOST_RUNS = 100;

/** Null until it is there, and of a run without values. */
export function sparkOf({ id, step, newsAt }: RunRow): ReadonlySignal<Spark | null> {
  const key = `${step} ${newsAt}`;
  let own = known.get(id);
  if (own?.key === key) return own.spark;
  if (own) own.key = key;
  else known.set(id, (own = { key, spark: signal(null) }));
  wanted.add(id);
  timer ??= setTimeout(() => void ask(), GATHER_MS);
  return own.spark;
}

async function ask(): Promise<void> {
  const ids = [...wanted].slice(-MOST_RUNS);
  wanted.clear();
  try {
    const sparks = await get<SparksAnswer>(`sparks?runs=${ids.join(",")}`);
    batch(() => {
      for (const [id, spark] of Object.entries(sparks)) known.get(id)!.spark.value = spark;
    });
  } catch {
    // The list says that the server does not answer. These rows ask again when they are shown next.
    for (const id of ids) known.get(id)!.key = "";
  } finally {
    timer = undefined;
    if (wanted.size > 0) timer = setTimeout(() => void ask(), GATHER_MS);
  }
}
